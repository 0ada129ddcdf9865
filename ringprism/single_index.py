"""Single-index models with a spiked covariance, in Python: ``import ringprism as rp; rp.single_index.loss(…)``. [S]

>>> from ringprism import single_index
>>> report = single_index.loss("x**3-3*x", lam=1.0, eta1=0.45, point=(0.3, 0.2))
>>> round(report.point.value, 6), report.verdict.answer
(17.734238, 'hard')

Links and starts are given as the command line writes them, or as ``Link`` and ``Start``. Every result has
``.to_json()``, ``.to_text()`` and ``.warnings``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numerics.runs.machine import Machine
    from numerics.single_index.chains import Method
    from numerics.single_index.compare import Comparison
    from numerics.single_index.complexity import Complexity
    from numerics.single_index.outlook import Outlook
    from numerics.single_index.rates import ode_samples
    from numerics.single_index.setting import Setting
    from numerics.single_index.starts import Start, parse_start
    from numerics.single_index.train import Training
    from theory.single_index.flow import flow as path
    from theory.single_index.flow_report import FlowReport
    from theory.single_index.link import Link
    from theory.single_index.loss_report import LossReport
    from theory.single_index.trap import trap

__all__ = [
    "Link",
    "Setting",
    "compare",
    "complexity",
    "flow",
    "loss",
    "ode_samples",
    "outlook",
    "parse_start",
    "path",
    "train",
    "trap",
]

_HOMES = {
    "Link": "theory.single_index.link:Link",
    "Setting": "numerics.single_index.setting:Setting",
    "ode_samples": "numerics.single_index.rates:ode_samples",
    "parse_start": "numerics.single_index.starts:parse_start",
    "path": "theory.single_index.flow:flow",
    "trap": "theory.single_index.trap:trap",
}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module 'ringprism.single_index' has no attribute {name!r}")
    module, attribute = _HOMES[name].split(":")
    return getattr(import_module(module), attribute)


def loss(
    link: str | Link,
    *,
    lam: float | None = None,
    eta1: float | None = None,
    point: tuple[float, float] | None = None,
    order: int = 4,
    noise: float = 0.0,
) -> LossReport:
    """The population loss: formula, exponents, expansion at zero overlap, verdict; values at a ``point`` (m_1, m_2)."""
    from theory.single_index.loss_report import describe_loss

    return describe_loss(_link(link), lam=lam, eta1=eta1, point=point, order=order, noise=noise)


def flow(
    link: str | Link,
    *,
    lam: float,
    eta1: float,
    start: tuple[float, float],
    times: Iterable[float],
    noise: float = 0.0,
) -> FlowReport:
    """The population flow from overlaps ``start``, its fixed points, and where it ends."""
    from theory.single_index.flow_report import describe_flow
    from theory.single_index.loss import PopulationLoss

    return describe_flow(PopulationLoss(_link(link), lam=lam, eta1=eta1, noise=noise), start=start, times=times)


def outlook(
    link: str | Link,
    *,
    lam: float,
    eta1: float,
    d: int,
    start: str | Start = "random",
    budget: float,
    step: float | None = None,
    target: float = 0.5,
    noise: float = 0.0,
) -> Outlook:
    """Easy, hard or trapped at this d, from this start, within ``budget`` samples."""
    from numerics.single_index.outlook import outlook as judge

    return judge(_setting(link, lam, eta1, d, noise), _start(start), budget=budget, step=step, target=target)


def train(
    link: str | Link,
    *,
    lam: float,
    eta1: float,
    d: int = 1000,
    start: str | Start = "random",
    steps: int = 1_500_000,
    step: float | None = None,
    replicas: int = 16,
    seed: int = 0,
    method: Method = "reduced",
    target: float = 0.9,
    noise: float = 0.0,
    every: int = 0,
    machine: Machine | None = None,
) -> Training:
    """Online spherical SGD with ``step`` = δ/d, by default [S]'s 1/(10 d²): who ends at the target."""
    from numerics.runs.machine import HERE
    from numerics.single_index.train import train as run

    return run(
        _setting(link, lam, eta1, d, noise),
        _start(start),
        steps=steps,
        step=0.1 / d**2 if step is None else step,
        replicas=replicas,
        seed=seed,
        method=method,
        target=target,
        every=every,
        machine=machine or HERE,
    )


def complexity(
    link: str | Link,
    *,
    lam: float,
    eta1: float,
    start: str | Start = "random",
    dims: Sequence[int] = (100, 200, 400),
    target: float = 0.5,
    replicas: int = 32,
    seed: int = 0,
    steps: Sequence[float] | None = None,
    budget: float = 8.0,
    method: Method = "reduced",
    noise: float = 0.0,
    machine: Machine | None = None,
) -> Complexity:
    """Median samples to reach ``target`` at each dimension, and the slope beside theory's exponent."""
    from numerics.runs.machine import HERE
    from numerics.single_index.complexity import complexity as run

    return run(
        _setting(link, lam, eta1, dims[0], noise),
        _start(start),
        dims=dims,
        target=target,
        replicas=replicas,
        seed=seed,
        steps=steps,
        budget=budget,
        method=method,
        machine=machine or HERE,
    )


def compare(
    link: str | Link,
    *,
    lam: float,
    eta1: float,
    d: int,
    starts: Sequence[str] | None = None,
    budget: int | None = None,
    target: float = 0.5,
    replicas: int = 32,
    samples: float = 4.0,
    labels: int = 100,
    transfer: float = 0.25,
    seed: int = 0,
    method: Method = "reduced",
    noise: float = 0.0,
    machine: Machine | None = None,
) -> Comparison:
    """Random, PCA and transferred starts side by side; see ``numerics.single_index.compare``."""
    from numerics.runs.machine import HERE
    from numerics.single_index.compare import NAMES
    from numerics.single_index.compare import compare as run

    return run(
        _setting(link, lam, eta1, d, noise),
        starts=NAMES if starts is None else starts,
        budget=budget,
        target=target,
        replicas=replicas,
        samples=samples,
        labels=labels,
        transfer=transfer,
        seed=seed,
        method=method,
        machine=machine or HERE,
    )


def _link(link: str | Link) -> Link:
    from theory.single_index.link import Link as Parsed

    return link if isinstance(link, Parsed) else Parsed.parse(link)


def _start(start: str | Start) -> Start:
    from numerics.single_index.starts import parse_start as read

    return read(start) if isinstance(start, str) else start


def _setting(link: str | Link, lam: float, eta1: float, d: int, noise: float) -> Setting:
    from numerics.single_index.setting import Setting as Problem

    return Problem(_link(link), lam=lam, eta1=eta1, d=d, noise=noise)
