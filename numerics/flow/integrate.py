"""Gradient flow by scipy's Runge–Kutta methods, and gradient descent, on a problem with diagonal S."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.integrate import DOP853, RK45

from numerics.flow.problem import Problem

Losses = np.ndarray
"""Two rows, train and population loss, one column a time."""

COARSE = 1e-5
LARGE = 20_000
"""From this tolerance and size of state on, fifth order serves: it needs fewer derivatives there, which are the cost,
and the errors of so many entries average out."""

_LARGEST = 1e100
"""A loss beyond this has diverged (gradient descent with too large a step; the flow itself cannot)."""


def gradient_flow(problem: Problem, times: Sequence[float], *, eta: float, tolerance: float) -> Losses:
    """The losses at ``times`` under dU/dt = −η ∂L̂/∂U. [P] §2.

    ``tolerance`` is the relative local error allowed to scipy's DOP853, or, where it is 1e-5 or more and the state is
    large, to RK45. The losses of large states, sums over many entries, come out a hundred times more accurate.
    Whichever costs less is integrated: M, by one q × q product a derivative; or U, by products with r × r kernels.
    Raises ``FloatingPointError`` where the solver stops.
    """
    rate = eta / (problem.p * problem.m)
    if moves_gram(problem.factor.shape):
        start = problem.factor.T @ problem.factor
        return _solve(gram_velocity(problem.spectrum, rate), start, problem.losses_of_gram, times, tolerance)
    velocity = factor_velocity(problem.spectrum, rate, problem.factor.shape[0])
    return _solve(velocity, problem.factor, problem.losses_of_factor, times, tolerance)


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
    """Whether M (q³ multiplications a derivative) is cheaper than U (4r²q) for a factor of this shape."""
    r, q = shape
    return q * q <= 4 * r * r


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
    """dU/dt for diagonal S: with B = US it is −rate·((UUᵀ − 2)B + (BUᵀ)U), through r × r kernels."""
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


def _solve(
    velocity: Callable[[np.ndarray], np.ndarray],
    start: np.ndarray,
    observe: Callable[[np.ndarray], tuple[float, float]],
    times: Sequence[float],
    tolerance: float,
) -> Losses:
    """Follow dy/dt = velocity(y) from ``start`` and observe it at ``times``; no state is kept but the present one."""
    shape = start.shape
    losses = [observe(start) for t in times if t == 0.0]
    waiting = [t for t in times if t > 0.0]
    if not waiting:
        return np.array(losses).T

    def derivative(_: float, state: np.ndarray) -> np.ndarray:
        return velocity(state.reshape(shape)).ravel()

    # Entries of very different sizes share the norm: judge each beside the root mean square of all, at the start or at
    # the target (M = 1), whichever is smaller.
    scale = min(float(np.linalg.norm(start)) / np.sqrt(start.size), 1 / np.sqrt(shape[1]))
    with np.errstate(over="ignore", invalid="ignore"):
        method = RK45 if tolerance >= COARSE and start.size >= LARGE else DOP853
        solver = method(derivative, 0.0, start.ravel(), waiting[-1], rtol=tolerance, atol=tolerance * scale)
        while waiting:
            message = solver.step()
            if solver.status == "failed":
                raise FloatingPointError(f"the solver stopped at t = {solver.t:g}: {message}")
            reached = [t for t in waiting if t <= solver.t]
            waiting = waiting[len(reached) :]
            if any(t < solver.t for t in reached):
                between = solver.dense_output()
                losses += [observe(between(t).reshape(shape)) for t in reached if t < solver.t]
            losses += [observe(solver.y.reshape(shape)) for t in reached if t == solver.t]
    return np.array(losses).T
