"""Tasks: symbolic gradients against finite differences, compiled both ways, and what a declaration is refused for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from theory.errors import InputError
from theory.sgd.compiled import on_arrays, on_scalars
from theory.sgd.state import check_state, start_state
from theory.sgd.task import Component, Task, symbols
from theory.sgd.tasks import TASKS, build_task, committee, logistic, single_index, xor

TASK_LIST = [
    single_index(link="x**3 - 3*x", label_noise=0.1),
    single_index(link="tanh(x)", loss="correlation", label_noise=0.2),
    committee(students=3, teachers=2, train_second=True),
    committee(students=2, teachers=1, activation="softplus"),
    logistic(),
    logistic(classes=3),
    xor(),
    xor(activation="relu"),
    xor(activation="erf"),
]


@pytest.mark.parametrize("task", TASK_LIST, ids=lambda task: f"{task.name}-{len(task.arguments)}")
def test_gradients_are_the_losss_finite_differences(task: Task) -> None:
    rng = np.random.default_rng(3)
    point = rng.normal(size=(len(task.arguments), 50))
    loss = on_arrays(task, [task.loss])
    gradients = on_arrays(task, [*task.gradients.c, *task.gradients.b])(*point)
    trained = [*task.z, *(task.b if task.train_second else ())]
    assert len(gradients) == len(trained)
    for symbol, gradient in zip(trained, gradients, strict=True):
        nudge = np.zeros_like(point)
        nudge[task.arguments.index(symbol)] = 1e-5
        (after,), (before,) = loss(*(point + nudge)), loss(*(point - nudge))
        assert gradient == pytest.approx((after - before) / 2e-5, rel=1e-6, abs=1e-7)


@pytest.mark.parametrize("task", [TASK_LIST[2], TASK_LIST[5], TASK_LIST[7]], ids=lambda task: task.name)
def test_numba_and_numpy_compute_the_same_gradients(task: Task) -> None:
    expressions = [*task.gradients.c, *task.gradients.b]
    scalar, arrays = on_scalars(task, expressions), on_arrays(task, expressions)
    rng = np.random.default_rng(4)
    z, u, b, y = (rng.normal(size=len(part)) for part in (task.z, task.u, task.b, task.y))
    out = np.empty(len(expressions))
    scalar(z, u, b, y, 0.7, out)
    assert out == pytest.approx(np.array(arrays(*z, *u, *b, *y, 0.7)), rel=1e-12, abs=1e-14)


def test_kinks_are_seen() -> None:
    assert not xor(activation="relu").is_smooth
    assert not single_index(link="abs(x)").is_smooth
    assert all(build_task(name).is_smooth for name in TASKS)


@pytest.mark.parametrize("name", TASKS)
def test_every_tasks_own_start_exists(name: str) -> None:
    task = build_task(name)
    check_state(task, start_state(task))


def test_logits_do_not_overflow() -> None:
    (value,) = on_arrays(logistic(), logistic().gradients.c)(np.array([-1e4, 1e4]), 0.0, 1.0, 0.0)
    assert value.tolist() == [-1.0, 0.0]


def test_a_declaration_of_a_few_lines() -> None:
    (z1, z2), (u,) = symbols("z", 2), symbols("u", 1)
    task = Task(name="product", parameters=("w1", "w2"), truths=("v",), loss=(z1 * z2 - u) ** 2 / 2)
    assert [str(c) for c in task.gradients.c] == ["z2*(-u1 + z1*z2)", "z1*(-u1 + z1*z2)"]


def test_what_a_task_is_refused_for() -> None:
    (z,), (y,) = symbols("z", 1), symbols("y", 2)[1:]
    with pytest.raises(InputError, match="y2"):
        Task(name="bad", parameters=("w",), truths=("v",), loss=z * y)
    with pytest.raises(InputError, match="sum to 1"):
        replace(logistic(), components=(Component(0.5, (1.0,), (1.0,)),))
    with pytest.raises(InputError, match="mean coefficients"):
        replace(logistic(), components=(Component(1.0, (1.0, 2.0), (1.0,)),))
    with pytest.raises(InputError, match="ridge"):
        single_index(ridge=-1.0)
    with pytest.raises(InputError, match="drop classes"):
        build_task("committee", classes=3)
    with pytest.raises(InputError, match="one of"):
        build_task("transformer")


def test_an_overlap_left_out_is_its_localised_part() -> None:
    """Also 0, where the truth is all on coordinates the parameter is not on."""
    state = start_state(committee(students=3), {"p_1_1": 0.6, "p_2_1": -0.1, "s_1_1": 1.0})
    assert state.M[:, 0].tolist() == [0.6, -0.1, 0.0]
    assert state.M[1, 1] == committee().start["M_2_2"]
    kept = start_state(committee(), {"p_1_1": 0.6, "s_1_1": 0.5, "M_1_1": 0.4})
    assert kept.M[0, 0] == 0.4


def test_the_default_step_shrinks_with_the_growth_of_the_link() -> None:
    assert [single_index(link=link).step for link in ("tanh", "x**2 - 1", "x**3", "x**4")] == [0.2, 0.02, 0.001, 2e-05]
    assert committee().step == xor().step == 0.5
    assert committee(activation="x**3").step < 0.01
    assert single_index(link="x**3", step=0.3).step == 0.3
    with pytest.raises(InputError, match="give step="):
        single_index(link="x**8")


@pytest.mark.parametrize(
    "values", [{"M_1_1": 2.0}, {"Q_1_1": 0.3, "p_1_1": 0.7}, {"M_2_1": 0.1}, {"s_1_1": 1.5}, {"M": 1.0}]
)
def test_starts_that_no_vectors_have_are_refused(values: dict[str, float]) -> None:
    with pytest.raises(InputError, match="start of single-index"):
        start_state(single_index(), values)
