"""The XOR mixture: four clouds, two labels, a two-layer network."""

from __future__ import annotations

from theory.checks import whole
from theory.sgd.softplus import Softplus
from theory.sgd.stability import with_default_step
from theory.sgd.task import LARGEST, Component, Task, bounded, symbols
from theory.sgd.tasks.activation import ACTIVATIONS, read_activation

DEFAULT_STEP = 0.5


def xor(
    *,
    students: int = 4,
    activation: str = "softplus",
    separation: float = 2.0,
    noise: float = 0.5,
    ridge: float = 0.01,
    step: float | None = None,
    train_second: bool = True,
) -> Task:
    """Means ±v_1 with label 1, ±v_2 with label 0; loss log(1 + e^ŷ) − y ŷ, ŷ = Σ_i b_i g(w_i·a). [E] §3 (XOR), [U].

    [E] takes g = relu (``activation="relu"``), which has a kink; the default is its smooth form.
    Left out, the ``step`` is 0.5, or less where an ``activation`` in x asks for it.

    >>> xor(students=1, activation="x").gradients.c
    (-b1*y1 + b1*(tanh(b1*z1/2)/2 + 1/2),)
    """
    whole("xor students", students, least=1, most=16, remedy="use 4")
    separation = bounded("xor separation", separation, least=-LARGEST, remedy="use 2")
    z, b, (y,) = symbols("z", students), symbols("b", students), symbols("y", 1)
    g = read_activation(activation)
    output = sum(b_i * g(z_i) for b_i, z_i in zip(b, z, strict=True))
    s = separation
    clouds = ((s, 0.0, 1.0), (-s, 0.0, 1.0), (0.0, s, 0.0), (0.0, -s, 0.0))
    start = {f"Q_{i}_{i}": 0.5 for i in range(1, students + 1)}
    start |= {f"b_{i}": 0.3 * (-1) ** ((i - 1) // 2) for i in range(1, students + 1)}
    # Unit i leans towards one of the four means: +v_1, −v_1, +v_2, −v_2 in turn.
    start |= {f"M_{i}_{(i - 1) // 2 % 2 + 1}": 0.2 * (-1) ** (i - 1) for i in range(1, students + 1)}
    task = Task(
        name="xor",
        parameters=tuple(f"w{i}" for i in range(1, students + 1)),
        truths=("v1", "v2"),
        second_layer=tuple(map(str, b)),
        labels=("y",),
        loss=Softplus(output) - y * output,
        components=tuple(Component(0.25, (first, second), (label,)) for first, second, label in clouds),
        noise=noise,
        ridge=ridge,
        step=DEFAULT_STEP if step is None else step,
        train_second=train_second,
        start=start,
    )
    # The activations known by name grow at most linearly: all bear the same step.
    return with_default_step(task, most=DEFAULT_STEP) if step is None and activation not in ACTIVATIONS else task
