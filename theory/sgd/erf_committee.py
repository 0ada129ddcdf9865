"""Closed-form expectations for erf networks with squared loss, Gaussian fields. Saad and Solla, PRE 52, 4225 (1995)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import sympy
from numba import njit
from numpy.typing import NDArray

from theory.sgd.expectations import Laws, component_laws
from theory.sgd.state import State, full_gram
from theory.sgd.task import Task

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ErfCommittee:
    """A loss ½·scale·(Σ_i s_i g(z_i) + Σ_α s_α g(u_α) − e)² with g(x) = erf(x/√2).

    ``second`` says which s_i is a second-layer weight (its number from 0, or −1 where s_i is the constant in
    ``coefficients``, K + r long).
    """

    scale: float
    coefficients: Array
    second: NDArray[np.int64]


def recognise(task: Task) -> ErfCommittee | None:
    """Read a task's loss as such a square; ``None`` where it is none, or its fields are not centred Gaussian.

    >>> from theory.sgd.tasks import committee, single_index
    >>> recognise(committee(teachers=1)).coefficients
    array([ 0.,  0., -1.])
    >>> recognise(single_index(link="x")) is None
    True
    """
    factor, square = task.loss.as_coeff_Mul()
    residual, exponent = square.as_base_exp()
    if exponent != 2 or not factor.is_positive or any(any(component.mean) for component in task.components):
        return None
    residual, fields = sympy.expand(residual), (*task.z, *task.u)
    units = [sympy.erf(field / sympy.sqrt(2)) for field in fields]
    found = [residual.coeff(unit) for unit in units]
    rest = sympy.expand(residual - sum(s * unit for s, unit in zip(found, units, strict=True)))
    if rest not in (0, -task.e, task.e) or (rest == 0 and task.label_noise > 0):
        return None
    second = [task.b.index(s) if s in task.b else -1 for s in found]
    repeated = [b for b in second if b >= 0]
    if any(s.free_symbols and b < 0 for s, b in zip(found, second, strict=True)) or len(set(repeated)) < len(repeated):
        return None
    if len(repeated) < len(task.b) or any(b >= 0 for b in second[len(task.z) :]):
        return None
    values = [0.0 if b >= 0 else float(s) for s, b in zip(found, second, strict=True)]
    return ErfCommittee(2 * float(factor), np.array(values), np.array(second, dtype=np.int64))


def closed_form(task: Task, state: State, laws: Laws) -> ErfCommittee | None:
    """The closed form that holds at ``state``: none where a localised coordinate has a law of its own."""
    gaussian = all(law.recipe == "gaussian" for law in component_laws(task, laws))
    return recognise(task) if gaussian or state.localised == 0 else None


def erf_loss(task: Task, form: ErfCommittee, state: State) -> float:
    """E[loss] = ½·scale·(Σ s_f s_h E[g(x_f) g(x_h)] + Var e), with E[g(x) g(y)] by the integral I2.

    >>> from theory.sgd.state import start_state
    >>> from theory.sgd.tasks import committee
    >>> task = committee(students=1, teachers=1)
    >>> form = recognise(task)
    >>> round(erf_loss(task, form, start_state(task, {"M_1_1": 0.0, "Q_1_1": 0.0})), 12)  # E[g(u)²]/2 = asin(½)/π
    0.166666666667
    """
    C = task.noise * full_gram(task, state)
    weight = np.where(form.second < 0, form.coefficients, state.b[form.second] if len(state.b) else 0.0)
    scale = np.sqrt(1 + np.diag(C))
    products = 2 / math.pi * np.arcsin(C / np.outer(scale, scale))
    return form.scale / 2 * (float(weight @ products @ weight) + task.label_noise)


def erf_drift(task: Task, form: ErfCommittee, state: State, flat: Array, pace: float = 1.0) -> Array:
    """The drift of ``flat`` (laid out as ``State.flat``), exact for Gaussian inputs, aligned coordinates included.

    ``state`` gives the shapes and the localised entries of the truths.
    """
    gram = np.array(task.truth_gram)
    constants = np.array([task.noise, task.label_noise, task.ridge, pace * task.critical])
    result: Array = _drift(
        flat, gram, state.s, form.coefficients, form.second, len(state.b), form.scale, constants, task.train_second
    )
    return result if pace == 1.0 else pace * result


@njit(cache=True)
def _drift(
    flat: Array,
    gram: Array,
    s: Array,
    coefficients: Array,
    second: NDArray[np.int64],
    seconds: int,
    scale: float,
    constants: Array,
    train_second: bool,
) -> Array:
    tau2, label_noise, ridge, step = constants
    r, L = s.shape
    K = len(coefficients) - r
    F = K + r
    first_q = K * r
    first_b = first_q + K * (K + 1) // 2
    first_p = first_b + seconds
    # Covariance of (z, u, a_1 … a_L), and the signs of the residual.
    C = np.zeros((F + L, F + L))
    for i in range(K):
        for a in range(r):
            C[i, K + a] = C[K + a, i] = tau2 * flat[i * r + a]
        for l in range(L):
            C[i, F + l] = tau2 * flat[first_p + i * L + l]
    for a in range(r):
        for b in range(r):
            C[K + a, K + b] = tau2 * gram[a, b]
        for l in range(L):
            C[K + a, F + l] = tau2 * s[a, l]
    position = first_q
    for i in range(K):
        for j in range(i, K):
            C[i, j] = C[j, i] = tau2 * flat[position]
            position += 1
    weight = coefficients.copy()
    for f in range(F):
        if second[f] >= 0:
            weight[f] = flat[first_b + second[f]]

    # I3: E[g'(x_i) y g(x_f)] = (2/π) [C_yf (1 + C_ii) − C_iy C_if] / ((1 + C_ii) √Λ), Λ = (1 + C_ii)(1 + C_ff) − C_if².
    with_fields = np.zeros((K, F + L))
    for i in range(K):
        for f in range(F):
            A = 1 + C[i, i]
            factor = scale * weight[i] * weight[f] * 2 / math.pi / (A * math.sqrt(A * (1 + C[f, f]) - C[i, f] ** 2))
            for y in range(F + L):
                c_fy = C[f, y]
                with_fields[i, y] += factor * (c_fy * A - C[i, y] * C[i, f])

    change = np.empty_like(flat)
    for i in range(K):
        for a in range(r):
            change[i * r + a] = -with_fields[i, K + a] - ridge * flat[i * r + a]
        for l in range(L):
            change[first_p + i * L + l] = -with_fields[i, F + l] - ridge * flat[first_p + i * L + l]
    position = first_q
    for i in range(K):
        for j in range(i, K):
            second_moment = scale**2 * weight[i] * weight[j] * _products(C, weight, i, j, F, label_noise)
            change[position] = -(with_fields[i, j] + with_fields[j, i]) - 2 * ridge * flat[position]
            change[position] += step * tau2 * second_moment
            position += 1
    for k in range(seconds):
        change[first_b + k] = 0.0
    if train_second:
        for i in range(K):
            if second[i] >= 0:
                total = 0.0
                # I2: E[g(x_i) g(x_f)] = (2/π) asin(C_if / √((1 + C_ii)(1 + C_ff))).
                for f in range(F):
                    total += weight[f] * math.asin(C[i, f] / math.sqrt((1 + C[i, i]) * (1 + C[f, f])))
                change[first_b + second[i]] = -scale * total * 2 / math.pi - ridge * weight[i]
    return change


@njit(cache=True)
def _products(C: Array, weight: Array, i: int, j: int, F: int, label_noise: float) -> float:
    """E[g'(x_i) g'(x_j) (Σ_f s_f g(x_f) − e)²], by the integral I4."""
    A, B, D = 1 + C[i, i], 1 + C[j, j], C[i, j]
    L4 = A * B - D * D
    L1 = np.empty(F)
    for f in range(F):
        x, y = C[i, f], C[j, f]
        L1[f] = L4 * (1 + C[f, f]) - y * y * A - x * x * B + 2 * D * x * y
    total = 0.0
    for f in range(F):
        for h in range(f, F):
            xf, yf, xh, yh = C[i, f], C[j, f], C[i, h], C[j, h]
            L0 = L4 * C[f, h] - yf * yh * A - xf * xh * B + D * (xf * yh + xh * yf)
            term = weight[f] * weight[h] * math.asin(min(1.0, max(-1.0, L0 / math.sqrt(L1[f] * L1[h]))))
            total += term if f == h else 2 * term
    return (4 / math.pi**2 * total + 2 / math.pi * label_noise) / math.sqrt(L4)
