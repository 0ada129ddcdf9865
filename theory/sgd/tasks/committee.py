"""A two-layer student of K units and a two-layer teacher of r units."""

from __future__ import annotations

import sympy

from theory.checks import whole
from theory.sgd.stability import with_default_step
from theory.sgd.task import Task, symbols
from theory.sgd.tasks.activation import ACTIVATIONS, read_activation

DEFAULT_STEP = 0.5


def committee(
    *,
    students: int = 2,
    teachers: int = 2,
    activation: str = "erf",
    train_second: bool = False,
    label_noise: float = 0.0,
    ridge: float = 0.0,
    step: float | None = None,
) -> Task:
    """Loss ½(Σ_i b_i g(w_i·a) − Σ_α g(v_α·a) − e)², teachers orthonormal. Saad and Solla (1995); [U], [E] multi-index.

    ``train_second`` trains b as well; otherwise b stays at its start (1 each). Left out, the ``step`` is 0.5, or less
    where an ``activation`` in x asks for it.

    >>> committee(students=1, teachers=1, activation="x").gradients.c
    (b1*(b1*z1 - e - u1),)
    """
    for what, count in (("students", students), ("teachers", teachers)):
        whole(f"committee {what}", count, least=1, most=16, remedy="use 2")
    z, u, b = symbols("z", students), symbols("u", teachers), symbols("b", students)
    g = read_activation(activation)
    student = sum(b_i * g(z_i) for b_i, z_i in zip(b, z, strict=True))
    residual = student - sum(g(u_a) for u_a in u) - sympy.Symbol("e", real=True)
    start = {f"Q_{i}_{i}": 0.5 for i in range(1, students + 1)} | {f"b_{i}": 1.0 for i in range(1, students + 1)}
    # A small overlap of each student with a teacher of its own tells the students apart.
    start |= {f"M_{i}_{(i - 1) % teachers + 1}": 0.1 + 0.02 * (i - 1) for i in range(1, students + 1)}
    task = Task(
        name="committee",
        parameters=tuple(f"w{i}" for i in range(1, students + 1)),
        truths=tuple(f"v{i}" for i in range(1, teachers + 1)),
        second_layer=tuple(map(str, b)),
        loss=residual**2 / 2,
        label_noise=label_noise,
        ridge=ridge,
        step=DEFAULT_STEP if step is None else step,
        train_second=train_second,
        start=start,
    )
    # The activations known by name grow at most linearly: all bear the same step.
    return with_default_step(task, most=DEFAULT_STEP) if step is None and activation not in ACTIVATIONS else task
