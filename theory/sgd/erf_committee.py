"""Closed-form expectations for networks of sigmoids with squared loss, Gaussian fields.

For erf they are Saad and Solla's, PRE 52, 4225 (1995). tanh is the mean of erf(s x/√2) over a law of slopes s (the
logistic law is a mixture of normal ones, Monahan and Stefanski 1992): six slopes give it and its derivative to 1e-6,
so networks of tanh and sigmoids are erf networks of six times as many units.
"""

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
Positions = NDArray[np.int64]

_SHARES = (
    0.01310394774480687,
    0.14053082620963456,
    0.3488723624176373,
    0.1405886490384658,
    0.34186936567587994,
    0.01503450273795749,
)
_SLOPES = (
    2.487923303596112,
    1.8596130202790224,
    1.3960730222087765,
    0.7696689488024306,
    1.0403440449561225,
    0.5626316556614277,
)
MANY_FIELDS = 4
"""From so many fields on a rule over all of them is worse than sums over pairs."""
SIGMOID_ERROR = 1e-6
"""How far Σ share·erf(slope·x/√2) is from tanh, and its derivative from that of tanh, at the most."""


@dataclass(frozen=True, eq=False)
class ErfCommittee:
    """A loss ½·scale·(Σ_u a_u g(s_u x_u) + κ − e)², g(x) = erf(x/√2), a_u a number or a number times a weight b.

    Unit u reads field ``field[u]`` (z, then u) with ``slope[u]``; its amplitude is ``amplitude[u]``, times the
    second-layer weight number ``second[u]`` unless that is −1. κ = ``constant`` + ``offsets``·b. ``approximate`` says
    whether sigmoids other than erf are among them.
    """

    scale: float
    field: Positions
    slope: Array
    amplitude: Array
    second: Positions
    constant: float
    offsets: Array
    approximate: bool = False

    def weights(self, b: Array) -> Array:
        """The amplitudes with their second-layer weights."""
        return np.where(self.second < 0, self.amplitude, self.amplitude * (b[self.second] if len(b) else 0.0))


def recognise(task: Task) -> ErfCommittee | None:
    """Read a task's loss as such a square; ``None`` where it is none, or its fields are not centred Gaussian.

    >>> from theory.sgd.tasks import committee, single_index
    >>> sorted(recognise(committee(teachers=1)).amplitude.tolist())
    [-1.0, 1.0, 1.0]
    >>> len(recognise(single_index(link="tanh")).slope)
    12
    >>> recognise(single_index(link="x")) is None
    True
    """
    factor, square = task.loss.as_coeff_Mul()
    residual, exponent = square.as_base_exp()
    if exponent != 2 or not factor.is_positive or any(any(component.mean) for component in task.components):
        return None
    residual, fields = sympy.expand(residual), (*task.z, *task.u)
    units: list[tuple[int, float, float, int]] = []
    rest = residual
    approximate = False
    for atom in sorted(residual.atoms(sympy.erf, sympy.tanh), key=str):
        (argument,) = atom.args
        field = next((f for f in fields if argument.has(f)), None)
        coefficient = residual.coeff(atom)
        slope = argument / field if field is not None else None
        read = _amplitude(task, coefficient)
        if slope is None or not slope.is_number or not slope.is_positive or read is None:
            return None
        rest = sympy.expand(rest - coefficient * atom)
        number, second = read
        place = fields.index(field)
        if isinstance(atom, sympy.erf):
            units.append((place, float(slope * sympy.sqrt(2)), number, second))
        else:
            approximate = True
            units += [(place, float(slope) * s, number * a, second) for a, s in zip(_SHARES, _SLOPES, strict=True)]
    noise = rest.coeff(task.e)
    constant = sympy.expand(rest - noise * task.e)
    if not units or noise not in ((0,) if task.label_noise == 0 else ()) + (1, -1):
        return None
    if constant.free_symbols - set(task.b) or not constant.is_polynomial(*task.b):
        return None
    if task.b and sympy.Poly(constant, *task.b).total_degree() > 1:
        return None
    offsets = np.array([float(constant.coeff(b)) for b in task.b])
    columns = list(zip(*units, strict=True))
    return ErfCommittee(
        2 * float(factor),
        np.array(columns[0], dtype=np.int64),
        np.array(columns[1]),
        np.array(columns[2]),
        np.array(columns[3], dtype=np.int64),
        float(constant.subs(dict.fromkeys(task.b, 0))),
        offsets,
        approximate,
    )


def _amplitude(task: Task, coefficient: sympy.Expr) -> tuple[float, int] | None:
    """A number, or a number times one second-layer weight, with its position (−1: none)."""
    number, rest = coefficient.as_coeff_Mul()
    if coefficient.is_number:
        return float(coefficient), -1
    if rest in task.b and number.is_number:
        return float(number), task.b.index(rest)
    return None


def closed_form(task: Task, state: State, laws: Laws) -> ErfCommittee | None:
    """The closed form that holds at ``state``: none where a localised coordinate has a law of its own.

    An approximate one is taken where there are many fields only: few are integrated more exactly.
    """
    if state.localised and any(law.recipe != "gaussian" for law in component_laws(task, laws)):
        return None
    form = recognise(task)
    few = len(task.z) + len(task.u) < MANY_FIELDS
    return None if form is not None and form.approximate and few else form


def erf_loss(task: Task, form: ErfCommittee, state: State) -> float:
    """E[loss] = ½·scale·(Σ a_u a_v E[g(x_u) g(x_v)] + κ² + Var e), with E[g(x) g(y)] by the integral I2.

    >>> from theory.sgd.state import start_state
    >>> from theory.sgd.tasks import committee
    >>> task = committee(students=1, teachers=1)
    >>> form = recognise(task)
    >>> round(erf_loss(task, form, start_state(task, {"M_1_1": 0.0, "Q_1_1": 0.0})), 12)  # E[g(u)²]/2 = asin(½)/π
    0.166666666667
    """
    C = task.noise * full_gram(task, state)[np.ix_(form.field, form.field)] * np.outer(form.slope, form.slope)
    weight = form.weights(state.b)
    scale = np.sqrt(1 + np.diag(C))
    products = 2 / math.pi * np.arcsin(C / np.outer(scale, scale))
    constant = form.constant + float(form.offsets @ state.b)
    return form.scale / 2 * (float(weight @ products @ weight) + constant**2 + task.label_noise)


def erf_drift(task: Task, form: ErfCommittee, state: State, flat: Array, pace: float = 1.0) -> Array:
    """The drift of ``flat`` (laid out as ``State.flat``), exact for Gaussian inputs, aligned coordinates included.

    ``state`` gives the shapes and the localised entries of the truths.
    """
    gram = np.array(task.truth_gram, dtype=float).reshape(len(task.u), len(task.u))
    b = state.moved(flat).b
    constants = np.array(
        [task.noise, task.label_noise, task.ridge, pace * task.critical, form.constant + float(form.offsets @ b)]
    )
    result: Array = _drift(
        flat,
        gram,
        state.s,
        state.p.shape[0],
        form.field,
        form.slope,
        form.amplitude,
        form.weights(b),
        form.second,
        form.offsets,
        form.scale,
        constants,
        task.train_second,
    )
    return result if pace == 1.0 else pace * result


@njit(cache=True)
def _drift(
    flat: Array,
    gram: Array,
    s: Array,
    K: int,
    field: Positions,
    slope: Array,
    amplitude: Array,
    weight: Array,
    second: Positions,
    offsets: Array,
    scale: float,
    constants: Array,
    train_second: bool,
) -> Array:
    tau2, label_noise, ridge, step, constant = constants
    r, L = s.shape
    F = K + r
    U = len(field)
    first_q = K * r
    first_b = first_q + K * (K + 1) // 2
    seconds = len(offsets)
    first_p = first_b + seconds
    # Covariance of (z, u, a_1 … a_L).
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
    # Covariance of the units' arguments.
    X = np.empty((U, U))
    for u in range(U):
        for v in range(U):
            X[u, v] = slope[u] * slope[v] * C[field[u], field[v]]

    # I3: E[g'(x_u) y g(x_v)] = (2/π) [C_yv (1 + C_uu) − C_uy C_uv] / ((1 + C_uu) √Λ), Λ = (1 + C_uu)(1 + C_vv) − C_uv².
    with_fields = np.zeros((K, F + L))
    for u in range(U):
        i = field[u]
        if i >= K:
            continue
        A = 1 + X[u, u]
        for v in range(U):
            factor = scale * weight[u] * slope[u] * weight[v] * 2 / math.pi
            factor /= A * math.sqrt(A * (1 + X[v, v]) - X[u, v] ** 2)
            for y in range(F + L):
                with_fields[i, y] += factor * (slope[v] * C[field[v], y] * A - slope[u] * C[i, y] * X[u, v])
        # κ E[g'(x_u) y] = 0: the fields are centred.

    change = np.empty_like(flat)
    for i in range(K):
        for a in range(r):
            change[i * r + a] = -with_fields[i, K + a] - ridge * flat[i * r + a]
        for l in range(L):
            change[first_p + i * L + l] = -with_fields[i, F + l] - ridge * flat[first_p + i * L + l]
    squares = np.zeros((K, K))
    if step > 0:
        for u in range(U):
            for w in range(U):
                i, j = field[u], field[w]
                if i <= j and j < K:
                    factor = scale**2 * weight[u] * weight[w] * slope[u] * slope[w]
                    squares[i, j] += factor * _products(X, weight, u, w, U, label_noise + constant**2)
    position = first_q
    for i in range(K):
        for j in range(i, K):
            change[position] = -(with_fields[i, j] + with_fields[j, i]) - 2 * ridge * flat[position]
            change[position] += step * tau2 * squares[i, j]
            position += 1
    for k in range(seconds):
        change[first_b + k] = 0.0
    if train_second:
        for k in range(seconds):
            change[first_b + k] = -scale * offsets[k] * constant - ridge * flat[first_b + k]
        for u in range(U):
            if second[u] >= 0:
                total = 0.0
                # I2: E[g(x_u) g(x_v)] = (2/π) asin(C_uv / √((1 + C_uu)(1 + C_vv))).
                for v in range(U):
                    total += weight[v] * math.asin(X[u, v] / math.sqrt((1 + X[u, u]) * (1 + X[v, v])))
                change[first_b + second[u]] -= scale * amplitude[u] * total * 2 / math.pi
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
