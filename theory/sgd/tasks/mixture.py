"""The binary mixture learned by a two-layer network."""

from __future__ import annotations

from theory.checks import whole
from theory.sgd.softplus import Softplus
from theory.sgd.stability import with_default_step
from theory.sgd.task import LARGEST, Component, Task, bounded, symbols
from theory.sgd.tasks.activation import ACTIVATIONS, read_activation

DEFAULT_STEP = 0.5


def mixture(
    *,
    students: int = 2,
    activation: str = "softplus",
    separation: float = 2.0,
    noise: float = 0.5,
    ridge: float = 0.01,
    step: float | None = None,
    train_second: bool = True,
) -> Task:
    """Two clouds ±separation·v with labels 1 and 0; loss log(1 + e^ŷ) − y ŷ, ŷ = Σ_i b_i g(w_i·a). [E] §3.

    Left out, the ``step`` is 0.5, or less where an ``activation`` in x asks for it.

    >>> mixture(students=1, activation="x").gradients.c
    (-b1*y1 + b1*(tanh(b1*z1/2)/2 + 1/2),)
    """
    whole("mixture students", students, least=1, most=16, remedy="use 2")
    separation = bounded("mixture separation", separation, least=-LARGEST, remedy="use 2")
    z, b, (y,) = symbols("z", students), symbols("b", students), symbols("y", 1)
    g = read_activation(activation)
    output = sum(b_i * g(z_i) for b_i, z_i in zip(b, z, strict=True))
    start = {f"Q_{i}_{i}": 0.5 for i in range(1, students + 1)}
    # Units lean to either side in turn, and speak for it.
    start |= {f"M_{i}_1": 0.2 * (-1) ** (i - 1) for i in range(1, students + 1)}
    start |= {f"b_{i}": 0.3 * (-1) ** (i - 1) for i in range(1, students + 1)}
    task = Task(
        name="mixture",
        parameters=tuple(f"w{i}" for i in range(1, students + 1)),
        truths=("v",),
        second_layer=tuple(map(str, b)),
        labels=("y",),
        loss=Softplus(output) - y * output,
        components=(Component(0.5, (separation,), (1.0,)), Component(0.5, (-separation,), (0.0,))),
        noise=noise,
        ridge=ridge,
        step=DEFAULT_STEP if step is None else step,
        train_second=train_second,
        start=start,
    )
    return with_default_step(task, most=DEFAULT_STEP) if step is None and activation not in ACTIVATIONS else task
