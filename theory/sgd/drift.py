"""The ODE's right-hand side: drift of the summary statistics, with the critical-step correction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from theory.sgd.erf_committee import MANY_FIELDS, closed_form, erf_loss
from theory.sgd.expectations import GAUSSIAN, Laws, Quadrature, Sample, evaluations, evaluator, sample
from theory.sgd.pairwise import PairwiseDrift
from theory.sgd.state import State
from theory.sgd.task import Task

Array = NDArray[np.float64]

_FINEST, _FINEST_ALONE = 18, 12  # the level beyond which a rule is not refined, and for one field that is read alone
_LOSS_LEVEL = 4
_EXACT_ORDER = 11  # a coordinate's law is integrated by 12 nodes at least


class Motion(Protocol):
    """A drift on one level of quadrature: what the solver needs of it."""

    @property
    def task(self) -> Task:
        """Whose drift it is."""

    @property
    def level(self) -> int:
        """The level of quadrature."""

    @property
    def method(self) -> str:
        """How expectations are taken."""

    @property
    def even(self) -> bool:
        """Whether its error moves smoothly with the state, so that an implicit method is of use."""

    @property
    def finest(self) -> int:
        """The level beyond which nothing is refined."""

    def is_exact(self, state: Any, /) -> bool:
        """Whether level 0 is exact already."""

    def size(self, state: Any, /) -> int:
        """The number of points of one call."""

    def at_level(self, level: int) -> Motion:
        """The same on another level."""

    def __call__(self, state: Any, pace: float = 1.0, /) -> Any:
        """The velocity of each statistic, laid out like the state."""


@dataclass(frozen=True, eq=False)
class Drift:
    """The drift of a task's statistics at any state, by quadrature at one level. [E] Thm 2.2, [U]

    With c = ∇_z loss, time nδ/d, β the ridge and τ² the noise:

        Ṁ_iα = −E[c_i u_α] − β M_iα                ḃ_i = −E[∂loss/∂b_i] − β b_i
        Q̇_ij = −E[c_i z_j + c_j z_i] − 2β Q_ij + δτ²/B E[c_i c_j]      (B inputs a step)
        ṗ_il = −E[c_i a_l] − β p_il

    The term with δ is the critical-step correction: it is there because steps of size δ/d are as large as can be.
    """

    task: Task
    laws: Laws
    quadrature: Quadrature
    level: int
    gradients: Callable[[Sample], list[Array]]

    @classmethod
    def of(cls, task: Task, *, laws: Laws = GAUSSIAN, level: int = 1) -> Drift:
        """Compile the drift of a task.

        >>> from theory.sgd.state import start_state
        >>> from theory.sgd.tasks import single_index
        >>> task = single_index(link="x", loss="correlation", ridge=1.0, step=0.2)
        >>> Drift.of(task)(start_state(task, {"M_1_1": 0.0, "Q_1_1": 1.0})).named()
        {'M_1_1': 1.0, 'Q_1_1': -1.8}
        """
        expressions = (*task.gradients.c, *task.gradients.b)
        return cls(task, laws, Quadrature.of(task, expressions), level, evaluator(task, expressions))

    def at_level(self, level: int) -> Drift:
        """The same drift on another level of quadrature."""
        return replace(self, level=level)

    @property
    def method(self) -> str:
        """How expectations are taken."""
        return self.quadrature.rule(0).method

    @property
    def even(self) -> bool:
        """Whether nodes lie symmetrically about 0, and no kink makes the drift jump where it passes one."""
        return self.method == "Gauss-Hermite" and self.task.is_smooth

    @property
    def finest(self) -> int:
        """The level beyond which nothing is refined."""
        return _FINEST_ALONE if len(self.quadrature.read) <= 1 else _FINEST

    def is_exact(self, state: State) -> bool:
        """Whether level 0 is exact already: polynomials, by nodes enough for them."""
        order = self.quadrature.exact_order
        return order is not None and (not state.localised or order <= _EXACT_ORDER)

    def size(self, state: State) -> int:
        """The number of points of one call."""
        return evaluations(self.task, state, laws=self.laws, quadrature=self.quadrature, level=self.level)

    def points(self, state: State) -> Sample:
        """The points on which expectations are taken at ``state``."""
        return sample(self.task, state, laws=self.laws, quadrature=self.quadrature, level=self.level)

    def __call__(self, state: State, pace: float = 1.0) -> State:
        """The time derivative of each statistic, laid out like the state itself (``s`` does not move).

        ``pace`` is what a schedule multiplies the step by at this time.
        """
        task, K = self.task, len(self.task.z)
        points = self.points(state)
        values = self.gradients(points)
        c = np.stack(values[:K])
        with_fields = np.stack([points.with_fields(c_i) for c_i in c])
        with_local = np.stack([points.with_local(c_i) for c_i in c])
        flat = c.reshape(K, -1)
        second_moment = (flat * points.weights.ravel()) @ flat.T
        cross = with_fields[:, :K]
        b = np.zeros(len(state.b))
        if task.train_second:
            b = -np.array([points.average(value) for value in values[K:]]) - task.ridge * state.b
        change = State(
            M=-with_fields[:, K:] - task.ridge * state.M,
            Q=-(cross + cross.T) - 2 * task.ridge * state.Q + pace * task.critical * task.noise * second_moment,
            b=b,
            p=-with_local - task.ridge * state.p,
            s=np.zeros_like(state.s),
        )
        return change if pace == 1.0 else change.moved(pace * change.flat())


def _loss_on_points(task: Task, state: State, laws: Laws, level: int) -> float:
    points = sample(task, state, laws=laws, quadrature=Quadrature.of(task, (task.loss,)), level=level)
    return points.average(evaluator(task, (task.loss,))(points)[0])


def expected_loss(task: Task, state: State, *, laws: Laws = GAUSSIAN, level: int = 2) -> float:
    """E[loss] + ridge (β/2)(Σ w_i² + Σ b_i²) at a state: what the flow of vanishing step descends.

    >>> from theory.sgd.state import start_state
    >>> from theory.sgd.tasks import single_index
    >>> task = single_index(link="x")
    >>> round(expected_loss(task, start_state(task, {"M_1_1": 0.0, "Q_1_1": 1.0})), 12)
    2.0
    """
    form = closed_form(task, state, laws)
    if form is not None:
        average = erf_loss(task, form, state)
    else:
        many = len(task.z) + len(task.u) >= MANY_FIELDS or not task.is_smooth
        pairs = PairwiseDrift.of(task, laws=laws, level=max(level, _LOSS_LEVEL)) if many else None
        by_pairs = None if pairs is None else pairs.loss(state)
        average = _loss_on_points(task, state, laws, level) if by_pairs is None else by_pairs
    second = float(state.b @ state.b) if task.train_second else 0.0
    return average + task.ridge / 2 * (float(np.trace(state.Q)) + second)
