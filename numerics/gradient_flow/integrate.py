"""Gradient flow by scipy's DOP853, and gradient descent, on a problem with diagonal S."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.integrate import DOP853

from numerics.gradient_flow.problem import Problem

Losses = np.ndarray
"""Two rows, train and population loss, one column a time."""

_SMALL, _MOST = 0.1, 0.5
"""An M below this part of the target, of which S moves less than that part, grows in few entries: the solver's norm
would not see their errors."""
_KERNEL = 1e-9
"""Relative size below which an eigenvalue of S is zero."""
_STIFF = 3.0
"""Step times rate from which a step is held by stability, not by accuracy; DOP853 is stable up to about 6."""
_POWERS = 6

_LARGEST = 1e100
"""A loss beyond this has diverged (gradient descent with too large a step; the flow itself cannot)."""


def gradient_flow(problem: Problem, times: Sequence[float], *, eta: float, tolerance: float) -> Losses:
    """The losses at ``times`` under dU/dt = −η ∂L̂/∂U. [P] §2.

    ``tolerance`` is the relative local error that scipy's DOP853 is allowed, by its own cautious estimate: the losses
    come out far more accurate where the state is large, and about as accurate where few of its entries move.

    Where M has full rank, and is not small with most of it at rest, it is integrated in place of U, by one q × q
    product a derivative. At long times the solver's errors may take its least eigenvalues below zero, from where they
    run away: a run that ends so is done again with U.

    Raises ``FloatingPointError`` where the solver stops.
    """
    rate = eta / (problem.p * problem.m)
    rows, columns = problem.factor.shape
    top = float(problem.spectrum.max())
    # Errors sit where S moves the state, and the solver's norm averages over all of it.
    moved = float(np.mean(problem.spectrum > _KERNEL * top)) if top > 0 else 1.0
    local = tolerance * math.sqrt(moved)
    if moves_gram((rows, columns)):
        start = problem.factor.T @ problem.factor
        if moved > _MOST or float(np.linalg.norm(start)) > _SMALL * math.sqrt(columns):
            try:
                flow = _Flow(gram_velocity(problem.spectrum, rate), problem.losses_of_gram, lambda M: M, 4 * rate * top)
                losses, end = _solve(flow, start, times, local)
                np.linalg.cholesky(end + tolerance * np.eye(columns))
                return losses
            except (FloatingPointError, np.linalg.LinAlgError):
                pass
    velocity = factor_velocity(problem.spectrum, rate, rows)
    flow = _Flow(velocity, problem.losses_of_factor, lambda U: U @ U.T, 4 * rate * top)
    return _solve(flow, problem.factor, times, local)[0]


def gradient_descent(problem: Problem, times: Sequence[float], *, eta: float, step: float) -> Losses:
    """The losses under U ← U − step·η ∂L̂/∂U, at the step nearest to each time (``step`` is in units of time).

    Raises ``FloatingPointError`` where it diverges.
    """
    velocity = factor_velocity(problem.spectrum, eta / (problem.p * problem.m), problem.factor.shape[0])
    factor = problem.factor
    losses, done = [], 0
    with np.errstate(over="ignore", invalid="ignore"):
        for t in times:
            target = round(t / step)
            for _ in range(target - done):
                factor = factor + step * velocity(factor)
            done = target
            losses.append(problem.losses_of_factor(factor))
            if not all(abs(loss) < _LARGEST for loss in losses[-1]):
                raise FloatingPointError(f"gradient descent with step {step:g} diverged before t = {t:g}")
    return np.array(losses).T


def moves_gram(shape: tuple[int, int]) -> bool:
    """Whether M is followed in place of a U of this shape: always cheaper, but only U keeps a rank below q."""
    rows, columns = shape
    return rows >= columns


def gram_velocity(spectrum: np.ndarray, rate: float) -> Callable[[np.ndarray], np.ndarray]:
    """dM/dt for diagonal S: with W = SM + MS, an elementwise product, it is −rate·(W(M−1) + (W(M−1))ᵀ).

    [P]'s SM² + M²S + 2MSM − 2SM − 2MS is the same, since MSM enters both halves: one matrix product a derivative.
    """
    weights = -rate * (spectrum[:, None] + spectrum[None, :])

    def velocity(gram: np.ndarray) -> np.ndarray:
        image = weights * gram
        half: np.ndarray = image @ gram
        half -= image
        half += half.T.copy()
        return half

    return velocity


def factor_velocity(spectrum: np.ndarray, rate: float, rows: int) -> Callable[[np.ndarray], np.ndarray]:
    """dU/dt for diagonal S, whichever way takes fewer multiplications.

    With B = US it is −rate·((UUᵀ − 2)B + (BUᵀ)U), through r × r kernels, 4r²q of them; with M = UᵀU it is
    −rate·U(SM + MS − 2S), 2rq² of them.
    """
    if 2 * rows > len(spectrum):
        return _through_gram(spectrum, rate)
    return _through_kernels(spectrum, rate, rows)


def _through_gram(spectrum: np.ndarray, rate: float) -> Callable[[np.ndarray], np.ndarray]:
    weights = -rate * (spectrum[:, None] + spectrum[None, :])

    def velocity(factor: np.ndarray) -> np.ndarray:
        gram = factor.T @ factor
        gram[np.diag_indices_from(gram)] -= 1.0
        gram *= weights
        change: np.ndarray = factor @ gram
        return change

    return velocity


def _through_kernels(spectrum: np.ndarray, rate: float, rows: int) -> Callable[[np.ndarray], np.ndarray]:
    identity = 2.0 * np.eye(rows)

    def velocity(factor: np.ndarray) -> np.ndarray:
        image = factor * spectrum
        both = np.concatenate([factor, image])
        kernels = both @ factor.T
        combined = np.hstack([kernels[rows:], kernels[:rows] - identity])
        change: np.ndarray = combined @ both
        change *= -rate
        return change

    return velocity


@dataclass(frozen=True)
class _Flow:
    """How a state moves, what is read off it, and a matrix with the spectrum of M; ``fastest`` decay rate at M = 1."""

    velocity: Callable[[np.ndarray], np.ndarray]
    observe: Callable[[np.ndarray], tuple[float, float]]
    gram: Callable[[np.ndarray], np.ndarray]
    fastest: float

    def rate_at(self, state: np.ndarray) -> float:
        """About the largest rate at which deviations from this state decay: 2M − 1 times that at M = 1, where M > 1."""
        gram = self.gram(state)
        direction = np.ones(len(gram))
        for _ in range(_POWERS):
            direction = gram @ direction
            size = float(np.linalg.norm(direction))
            if not 0.0 < size < math.inf:
                return self.fastest
            direction /= size
        return self.fastest * max(1.0, 2 * float(direction @ gram @ direction) - 1)


def _solve(flow: _Flow, start: np.ndarray, times: Sequence[float], tolerance: float) -> tuple[Losses, np.ndarray]:
    """Follow ``flow`` from ``start`` and observe it at ``times``; the last state beside the losses."""
    shape = start.shape
    losses = [flow.observe(start) for t in times if t == 0.0]
    waiting = [t for t in times if t > 0.0]
    if not waiting:
        return np.array(losses).T, start

    def derivative(_: float, state: np.ndarray) -> np.ndarray:
        return flow.velocity(state.reshape(shape)).ravel()

    # Entries of very different sizes share the norm: judge each beside the root mean square of all, at the start or at
    # the target (M = 1), whichever is smaller.
    scale = min(float(np.linalg.norm(start)) / np.sqrt(start.size), 1 / np.sqrt(shape[1]))
    end = waiting[-1]
    with np.errstate(over="ignore", invalid="ignore"):
        solver = DOP853(derivative, 0.0, start.ravel(), end, rtol=tolerance, atol=tolerance * scale, first_step=end)
        solver.h_abs = _first_step(solver, tolerance)
        while waiting:
            # Between the ends of a stiff step the interpolant is wild: the next time is made an end. And no step to
            # an end is cut short.
            inside = waiting[0] < min(end, solver.t + solver.h_abs)
            stiff = inside and solver.h_abs * flow.rate_at(solver.y.reshape(shape)) > _STIFF
            goal = (waiting[0] if stiff else end) - solver.t
            solver.h_abs = goal / math.ceil(goal / solver.h_abs)
            message = solver.step()
            if solver.status == "failed":
                raise FloatingPointError(f"the solver stopped at t = {solver.t:g}: {message}")
            reached = [t for t in waiting if t <= solver.t]
            waiting = waiting[len(reached) :]
            if any(t < solver.t for t in reached):
                between = solver.dense_output()
                losses += [flow.observe(between(t).reshape(shape)) for t in reached if t < solver.t]
            losses += [flow.observe(solver.y.reshape(shape)) for t in reached if t == solver.t]
    return np.array(losses).T, solver.y.reshape(shape)


def _first_step(solver: DOP853, tolerance: float) -> float:
    """In units of the time in which the state changes by its own size, which scipy's guess does not know."""
    end = float(solver.t_bound)
    size, speed = float(np.linalg.norm(solver.y)), float(np.linalg.norm(solver.f))
    return min(end, tolerance ** (1 / 8) * size / speed) if speed > 0 else end
