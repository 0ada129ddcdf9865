"""Beside the statistics: the expected loss without the ridge, and the rate of wrong labels, along the ODE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from theory.sgd.drift import expected_loss
from theory.sgd.expectations import GAUSSIAN, Laws, Quadrature, evaluator, law_strata, sample
from theory.sgd.gaussian_rules import GaussianRule, quasi_monte_carlo
from theory.sgd.state import State
from theory.sgd.task import Task

Array = NDArray[np.float64]

_LOG2_POINTS = 14


def fresh_losses(task: Task, states: Sequence[State], *, laws: Laws = GAUSSIAN) -> Array:
    """E[loss] of a fresh input at each state, the ridge left out.

    >>> from theory.sgd.state import start_state
    >>> from theory.sgd.tasks import single_index
    >>> task = single_index(link="x", ridge=1.0)
    >>> fresh_losses(task, [start_state(task, {"M_1_1": 0.0, "Q_1_1": 1.0})]).round(9).tolist()
    [2.0]
    """
    bare = replace(task, ridge=0.0)
    return np.array([expected_loss(bare, state, laws=laws) for state in states])


def label_choices(task: Task) -> tuple[tuple[float, ...], ...]:
    """The labels that components carry, each once: what a classifier chooses from."""
    return tuple(dict.fromkeys(component.labels for component in task.components if component.labels))


def error_rates(task: Task, states: Sequence[State], *, laws: Laws = GAUSSIAN) -> Array | None:
    """How often another label than the true one has the smaller loss; ``None`` where there are no classes.

    By 2^14 Sobol points for the fields: good to about 1e-3.

    >>> from theory.sgd.state import start_state
    >>> from theory.sgd.tasks import logistic
    >>> task = logistic(separation=1.0)
    >>> float(error_rates(task, [start_state(task, {"M_1_1": 1.0, "Q_1_1": 1.0})]).round(3)[0])  # Φ(−1)
    0.159
    """
    choices = label_choices(task)
    if len(choices) < 2:
        return None
    expressions = [task.loss.subs(dict(zip(task.y, labels, strict=True))) for labels in choices]
    plan = Quadrature.of(task, (task.loss,))
    sobol = _Sobol(plan.read, None, 1, False)
    compute = evaluator(task, expressions)
    rates = []
    for state in states:
        points = sample(task, state, laws=laws, quadrature=sobol, level=0)
        losses = np.array(compute(points))
        labels = law_strata(task, state, laws, 0).labels
        true = np.array([choices.index(tuple(row)) for row in labels.tolist()])
        own = losses[true, np.arange(len(true))]
        # Ties are half an error.
        wrong = (losses < own[None]).any(axis=0) + 0.5 * ((losses == own[None]).sum(axis=0) > 1)
        rates.append(points.average(np.minimum(wrong, 1.0)))
    return np.array(rates)


class _Sobol(Quadrature):
    """Sobol points whatever the dimension: indicators defeat Gauss rules."""

    def rule(self, level: int) -> GaussianRule:
        """The same on every level."""
        del level
        D = len(self.read)
        points = quasi_monte_carlo(D, _LOG2_POINTS)
        nodes = np.column_stack([points.nodes, np.zeros(len(points.weights))])
        return GaussianRule(nodes, points.weights, points.method)
