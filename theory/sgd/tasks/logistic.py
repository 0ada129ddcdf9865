"""Gaussian mixtures with cross-entropy, one layer: two classes, or k."""

from __future__ import annotations

import sympy

from theory.checks import whole
from theory.sgd.softplus import Softplus
from theory.sgd.task import LARGEST, Component, Task, bounded, symbols


def logistic(
    *, classes: int = 2, separation: float = 1.0, noise: float = 1.0, ridge: float = 0.1, step: float = 0.5
) -> Task:
    """Cross-entropy on a mixture of ``classes`` clouds of covariance ``noise``·I, equal weights. [E] §3, [U].

    Two classes: means ±separation·v, labels 1 and 0, one vector, loss log(1 + e^z) − y z. More: orthogonal means
    separation·v_k, one-hot labels, one vector a class, loss log Σ_j e^{z_j} − Σ_j y_j z_j.

    >>> logistic(classes=2).gradients.c
    (-y1 + tanh(z1/2)/2 + 1/2,)
    """
    whole("logistic classes", classes, least=2, most=12, remedy="use 2")
    separation = bounded("logistic separation", separation, least=-LARGEST, remedy="use 1")
    if classes == 2:
        (z,), (y,) = symbols("z", 1), symbols("y", 1)
        return Task(
            name="logistic",
            parameters=("w",),
            truths=("v",),
            labels=("y",),
            loss=Softplus(z) - y * z,
            components=(Component(0.5, (separation,), (1.0,)), Component(0.5, (-separation,), (0.0,))),
            noise=noise,
            ridge=ridge,
            step=step,
            start={"M_1_1": 0.0, "Q_1_1": 0.5},
        )
    z, y = symbols("z", classes), symbols("y", classes)
    clouds = tuple(
        Component(
            1 / classes,
            tuple(separation * (j == k) for j in range(classes)),
            tuple(float(j == k) for j in range(classes)),
        )
        for k in range(classes)
    )
    return Task(
        name="logistic",
        parameters=tuple(f"w{k}" for k in range(1, classes + 1)),
        truths=tuple(f"v{k}" for k in range(1, classes + 1)),
        labels=tuple(map(str, y)),
        loss=sympy.log(sum(sympy.exp(z_j) for z_j in z)) - sum(y_j * z_j for y_j, z_j in zip(y, z, strict=True)),
        components=clouds,
        noise=noise,
        ridge=ridge,
        step=step,
        start={f"Q_{k}_{k}": 0.5 for k in range(1, classes + 1)},
    )
