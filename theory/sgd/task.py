"""A task of one-pass SGD: what the loss reads, how the input is drawn, which parameters move."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import sympy
from numpy.typing import NDArray

from theory.checks import real, whole
from theory.errors import InputError

Array = NDArray[np.float64]

TIME = sympy.Symbol("t", real=True)
"""The variable of a step schedule."""
LARGEST_BATCH = 10**6
_KINKED = (sympy.Abs, sympy.Max, sympy.Min, sympy.sign, sympy.Heaviside, sympy.Piecewise)

LARGEST = 1e6
"""Of a step, a ridge, a noise or the length of a mean; beyond it no solver ends."""


def bounded(what: str, value: object, *, least: float = 0.0, remedy: str = "") -> float:
    """A number from ``least`` to ``LARGEST``. Raises ``InputError`` for anything else.

    >>> bounded("noise", 0.5)
    0.5
    """
    number = real(value)
    if number is None or not least <= number <= LARGEST:
        raise InputError(
            what,
            given=value,
            expected=f"a number from {least:g} to {LARGEST:g}",
            remedy=remedy or "bring it down to the size of the other parameters",
        )
    return value if isinstance(value, int | float) else number


@dataclass(frozen=True)
class Component:
    """One component of the input mixture: a = Σ_α mean_α v_α + τ x, with the labels it carries."""

    weight: float = 1.0
    mean: tuple[float, ...] = ()
    labels: tuple[float, ...] = ()


@dataclass(frozen=True)
class Gradients:
    """What one step of SGD reads: c_i = ∂loss/∂z_i, and ∂loss/∂b_i (empty where the second layer is frozen)."""

    c: tuple[sympy.Expr, ...]
    b: tuple[sympy.Expr, ...]


def symbols(prefix: str, count: int) -> tuple[sympy.Symbol, ...]:
    """The real symbols prefix1, …, prefix‹count›.

    >>> symbols("z", 2)
    (z1, z2)
    """
    return tuple(sympy.Symbol(f"{prefix}{i}", real=True) for i in range(1, count + 1))


@dataclass(frozen=True)
class Task:
    """One-pass SGD on a loss that reads the input a ∈ R^d through its projections. [U] §2, [E] §2.

    Fields: z_i = w_i·a for the ``parameters`` (trained vectors w_1 … w_K), u_α = v_α·a for the ``truths``
    (v_1 … v_r: ground truths and mixture means, with Gram matrix ``truth_gram``, the identity where it is left out).
    ``loss`` is a SymPy expression in z1, u1, b1, y1, … and e: second-layer weights b_i, labels y_i of the drawn
    component, label noise e ~ N(0, ``label_noise``) (a variance). The input is a = μ_k + τ x: component k with its
    weight, μ_k a combination of the truths, x with independent coordinates of mean 0, variance 1, τ² = ``noise``.

    One step, with n δ/d = time:  w_i ← w_i − (δ/d)(c_i a + β w_i),  b_i ← b_i − (δ/d)(∂loss/∂b_i + β b_i);
    β = ``ridge``, δ = ``step``; the second layer stays where it starts unless ``train_second``. With ``batch`` > 1 a
    step averages the gradients of so many inputs; ``schedule`` is a positive formula in t, time, by which δ is
    multiplied (t counts steps: n δ/d, without the schedule).

    Raises ``InputError`` where the loss reads an unknown symbol, or the mixture does not fit the truths and labels.

    >>> z, u = symbols("z", 1)[0], symbols("u", 1)[0]
    >>> Task(name="linear", parameters=("w",), truths=("v",), loss=(z - u) ** 2 / 2).gradients.c
    (-u1 + z1,)
    """

    name: str
    parameters: tuple[str, ...]
    truths: tuple[str, ...]
    loss: sympy.Expr
    second_layer: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    components: tuple[Component, ...] = (Component(),)
    truth_gram: tuple[tuple[float, ...], ...] = ()
    noise: float = 1.0
    label_noise: float = 0.0
    ridge: float = 0.0
    step: float = 1.0
    batch: int = 1
    schedule: sympy.Expr | None = None
    train_second: bool = False
    start: Mapping[str, float] = field(default_factory=dict, compare=False)
    """Where the statistics start unless told otherwise, by name (``M_1_1``, ``Q_1_2``, ``b_1``; see ``State``)."""

    def __post_init__(self) -> None:
        r = len(self.truths)
        if not self.truth_gram:
            identity = tuple(tuple(float(i == j) for j in range(r)) for i in range(r))
            object.__setattr__(self, "truth_gram", identity)
        filled = tuple(Component(k.weight, k.mean or (0.0,) * r, k.labels) for k in self.components)
        object.__setattr__(self, "components", filled)
        self._check_loss()
        self._check_mixture()
        object.__setattr__(
            self, "batch", whole(f"task {self.name}: batch", self.batch, least=1, most=LARGEST_BATCH, remedy="use 1")
        )
        self._check_schedule()
        for name in ("noise", "label_noise", "ridge", "step"):
            object.__setattr__(self, name, bounded(f"task {self.name}: {name}", getattr(self, name)))

    def _check_loss(self) -> None:
        known = {*self.z, *self.u, *self.b, *self.y, self.e}
        unknown = self.loss.free_symbols - known
        if unknown:
            raise InputError(
                f"task {self.name}: loss",
                given=", ".join(sorted(map(str, unknown))),
                expected=f"the symbols {', '.join(map(str, sorted(known, key=str)))}",
                remedy="make them with theory.sgd.task.symbols",
            )

    def _check_schedule(self) -> None:
        if self.schedule is None:
            return
        schedule = sympy.sympify(self.schedule) if isinstance(self.schedule, int | float) else self.schedule
        if not isinstance(schedule, sympy.Expr) or schedule.free_symbols - {TIME}:
            raise InputError(
                f"task {self.name}: schedule",
                given=self.schedule,
                expected="a formula in t alone",
                remedy="give for example 1/(1+t)",
            )
        object.__setattr__(self, "schedule", schedule)

    def _check_mixture(self) -> None:
        r = len(self.truths)
        if any(len(row) != r for row in self.truth_gram) or len(self.truth_gram) != r:
            raise InputError(
                f"task {self.name}: truth_gram", given=self.truth_gram, expected=f"{r} × {r}", remedy="leave it out"
            )
        for component in self.components:
            fits = len(component.mean) == r and len(component.labels) == len(self.labels) and component.weight > 0
            for coefficient in (*component.mean, *component.labels):
                bounded(f"task {self.name}: means and labels", coefficient, least=-LARGEST)
            if not fits:
                raise InputError(
                    f"task {self.name}: component",
                    given=component,
                    expected=f"a positive weight, {r} mean coefficients and {len(self.labels)} labels",
                    remedy="give one coefficient per truth, one value per label",
                )
        if not abs(sum(component.weight for component in self.components) - 1) <= 1e-9:
            raise InputError(
                f"task {self.name}: weights",
                given=[component.weight for component in self.components],
                expected="weights that sum to 1",
                remedy="normalise them",
            )

    @property
    def z(self) -> tuple[sympy.Symbol, ...]:
        """The fields of the parameters."""
        return symbols("z", len(self.parameters))

    @property
    def u(self) -> tuple[sympy.Symbol, ...]:
        """The fields of the truths."""
        return symbols("u", len(self.truths))

    @property
    def b(self) -> tuple[sympy.Symbol, ...]:
        """The second-layer weights."""
        return symbols("b", len(self.second_layer))

    @property
    def y(self) -> tuple[sympy.Symbol, ...]:
        """The labels of the component drawn."""
        return symbols("y", len(self.labels))

    @property
    def e(self) -> sympy.Symbol:
        """The label noise."""
        return sympy.Symbol("e", real=True)

    @property
    def arguments(self) -> tuple[sympy.Symbol, ...]:
        """The one order in which compiled gradients take their arguments: z1 …, u1 …, b1 …, y1 …, e."""
        return (*self.z, *self.u, *self.b, *self.y, self.e)

    @cached_property
    def gradients(self) -> Gradients:
        """c and ∂loss/∂b, by symbolic differentiation."""
        second = self.b if self.train_second else ()
        return Gradients(
            tuple(sympy.diff(self.loss, z) for z in self.z), tuple(sympy.diff(self.loss, b) for b in second)
        )

    @property
    def critical(self) -> float:
        """δ over the batch: what multiplies the critical-step correction and the noise of a step."""
        return self.step / self.batch

    def pace(self, time: Array | float) -> Array:
        """What the schedule multiplies δ by, at one time or at each of several. 1 without a schedule.

        Raises ``InputError`` where it is not a positive finite number.

        >>> import dataclasses
        >>> from theory.sgd.tasks import single_index
        >>> dataclasses.replace(single_index(), schedule=1 / (1 + TIME)).pace(np.array([0.0, 1.0])).tolist()
        [1.0, 0.5]
        """
        times = np.asarray(time, dtype=float)
        if self.schedule is None:
            return np.ones_like(times)
        with np.errstate(all="ignore"):
            found = np.broadcast_to(np.asarray(self._schedule(times), dtype=float), times.shape)
        bad = ~(np.isfinite(found) & (found > 0) & (found <= LARGEST))
        if bad.any():
            raise InputError(
                f"task {self.name}: schedule",
                given=str(self.schedule),
                expected=f"a positive number at every time (at t = {float(times[bad].flat[0]):g} it is none)",
                remedy="give for example 1/(1+t)",
            )
        return found

    @cached_property
    def _schedule(self) -> Callable[[Array], Array]:
        compute: Callable[[Array], Array] = sympy.lambdify([TIME], self.schedule, modules=["numpy"])
        return compute

    @property
    def is_smooth_in_fields(self) -> bool:
        """Whether the loss is smooth in the fields of the parameters: a teacher may jump, labels are only read."""
        own = {*self.z, *self.b}
        kinks = self.loss.atoms(*_KINKED)
        return not any(kink.free_symbols & own for kink in kinks)

    @property
    def is_smooth(self) -> bool:
        """Whether the loss has no kink: universality and the fluctuation limit are proved for smooth losses. [U]"""
        return not self.loss.has(*_KINKED)
