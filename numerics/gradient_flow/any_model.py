"""The verb ``simulate`` for any model: the autoencoder's own formulations where they apply, else the declaration's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, overload

from numerics.gradient_flow import simulate as autoencoder
from numerics.gradient_flow.model_flow import ISOTROPIC
from numerics.gradient_flow.model_simulate import ModelSimulation, simulate_model
from numerics.gradient_flow.simulate import TOLERANCE, Method, Simulation
from numerics.runs.machine import HERE, Machine
from theory.autoencoder.sizes import Sizes
from theory.models.model import Model
from theory.spectrum import Spectrum

AUTOENCODER = "autoencoder"


@overload
def simulate(
    sizes: Sizes,
    times: Iterable[float],
    *,
    replicas: int,
    seed: int,
    eta: float = ...,
    method: Method = ...,
    step: float | None = ...,
    tolerance: float = ...,
    spectrum: str | Spectrum = ...,
    machine: Machine = ...,
    force: bool = ...,
    name: str = ...,
) -> Simulation: ...
@overload
def simulate(
    sizes: Sizes | str | Mapping[str, Any],
    times: Iterable[float],
    *,
    replicas: int,
    seed: int,
    model: Model | str | Path = ...,
    eta: float = ...,
    method: Method = ...,
    step: float | None = ...,
    tolerance: float = ...,
    spectrum: str | Spectrum = ...,
    machine: Machine = ...,
    force: bool = ...,
    name: str = ...,
) -> Simulation | ModelSimulation: ...
def simulate(
    sizes: Sizes | str | Mapping[str, Any],
    times: Iterable[float],
    *,
    replicas: int,
    seed: int,
    model: Model | str | Path = AUTOENCODER,
    eta: float = 1.0,
    method: Method = "flow",
    step: float | None = None,
    tolerance: float = TOLERANCE,
    spectrum: str | Spectrum = ISOTROPIC,
    machine: Machine = HERE,
    force: bool = False,
    name: str = "simulate",
) -> Simulation | ModelSimulation:
    """Follow the gradient flow of a model from ``replicas`` independent draws; mean losses with standard errors.

    ``model`` is a ``Model``, a name as ``deep:3``, or a file; ``sizes`` are values of all its variables (a text, a
    mapping, or the autoencoder's ``Sizes``). ``method="descent"`` makes gradient-descent steps of length ``step`` (in
    units of time) in place of the flow. The result depends on the seed alone, not on the ``machine``; its store keeps
    replicas under ``name``, one set of parameters under each. A declaration equal to the autoencoder's goes its way,
    in whatever coordinates are cheapest at its sizes; any other model is integrated as declared.

    ``spectrum`` (``power:0.7``, ``values:2*1,0.5*1``, …) holds the eigenvalues of a model's fixed matrices and
    covariances; the autoencoder then has data of that covariance.

    Raises ``InputError`` for unusable arguments, ``BudgetError`` for sizes that do not fit in memory or would take most
    of a day (``force=True`` to go on).

    >>> result = simulate("p=20,n=10,m=30,sigma2=1/20", [0, 5], replicas=4, seed=0)
    >>> bool(result.losses["train"].mean[1] < result.losses["train"].mean[0])
    True
    """
    declared = Model.of(model)
    if same_flow(declared, Model.named(AUTOENCODER)):
        return autoencoder.simulate(
            _autoencoder_sizes(sizes),
            times,
            replicas=replicas,
            seed=seed,
            eta=eta,
            method=method,
            step=step,
            tolerance=tolerance,
            spectrum=spectrum,
            machine=machine,
            force=force,
            name=name,
        )
    return simulate_model(
        declared,
        sizes,
        times,
        replicas=replicas,
        seed=seed,
        eta=eta,
        method=method,
        step=step,
        tolerance=tolerance,
        spectrum=(spectrum if isinstance(spectrum, str) else spectrum.text).strip(),
        machine=machine,
        force=force,
        name=name,
    )


def same_flow(model: Model, other: Model) -> bool:
    """Whether two models declare the same, whatever their names and however their losses are written."""
    return (
        (model.sizes, model.tensors, model.parameters, model.descend)
        == (other.sizes, other.tensors, other.parameters, other.descend)
        and model.loss_names == other.loss_names
        and all(set(model.expanded[loss]) == set(other.expanded[loss]) for loss in other.loss_names)
    )


def _autoencoder_sizes(sizes: Sizes | str | Mapping[str, Any]) -> Sizes:
    if isinstance(sizes, Mapping):
        return Sizes.parse(",".join(f"{name}={value}" for name, value in sizes.items()))
    return sizes if not isinstance(sizes, str) else Sizes.parse(sizes)
