"""Claims on sample complexity: SI-LINEAR (Thm 3.3), SI-RANDOM (Thm 3.4), SI-TRANSFER (Thm 4.2), SI-EXPONENT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from numerics.claims.ledger import Claim, Conditions, Curve, Evidence, Plot
from numerics.judge import Quantity
from numerics.single_index.complexity import Complexity, complexity
from numerics.single_index.rates import choose_steps, ode_samples
from numerics.single_index.setting import Setting
from numerics.single_index.starts import parse_start
from numerics.single_index.train import train
from theory.single_index.link import Link

_FAR = (10**6, 10**8, 10**10)
_REPLICAS = {"quick": 64, "full": 256}
_ASYMPTOTIC = 0.03


def _setting(link: str, lam: float, eta1: float) -> Setting:
    return Setting(Link.parse(link), lam=lam, eta1=eta1, d=1000)


def _measure(
    conditions: Conditions,
    name: str,
    setting: Setting,
    start: str,
    dims: Sequence[int],
    *,
    target: float = 0.5,
    budget: float = 4.0,
    more: int = 1,
) -> Complexity:
    return complexity(
        setting,
        parse_start(start),
        dims=dims,
        target=target,
        replicas=more * _REPLICAS[conditions.effort],
        seed=conditions.seed,
        budget=budget,
        machine=conditions.machine,
        name=name,
    )


def _slope(result: Complexity, name: str, rival: float, rival_name: str, allowance: float) -> Quantity:
    """The fitted power against that of the ODE over the same dimensions."""
    missing = float("nan")
    return Quantity(
        name=name,
        predicted=missing if result.ode_slope is None else result.ode_slope,
        measured=missing if result.slope.value is None else result.slope.value,
        stderr=missing if result.slope.stderr is None else result.slope.stderr,
        stderr_bound=0.15,
        rival=rival,
        rival_name=rival_name,
        allowance=allowance,
    )


def _far_slope(setting: Setting, start: str, name: str, exponent: float, rival: float, rival_name: str) -> Quantity:
    """The power of d in the ODE's own time, its steps chosen alike, at dimensions no simulation reaches."""
    law = parse_start(start)
    steps = choose_steps(setting, law, _FAR, 0.5)
    settings = [replace(setting, d=d) for d in _FAR]
    counts = [ode_samples(s, law.typical(s), step, 0.5) for s, step in zip(settings, steps, strict=True)]
    powers = np.diff(np.log([np.nan if n is None else n for n in counts])) / np.diff(np.log(_FAR))
    return Quantity(
        name=name,
        predicted=exponent,
        measured=float(powers[-1]),
        stderr=0.0,
        stderr_bound=1e-9,
        rival=rival,
        rival_name=rival_name,
        allowance=_ASYMPTOTIC,
    )


def _plot(results: Sequence[tuple[str, Complexity]], alt: str) -> Plot:
    curves = []
    for name, result in results:
        reached = [(d, m) for d, m in zip(result.dims, result.medians, strict=True) if m.value is not None]
        values = [float(m.value or 0) for _, m in reached]
        curves.append(Curve(name, [d for d, _ in reached], values, [m.stderr or 0.0 for _, m in reached], "points"))
        ode = [(d, n) for d, n in zip(result.dims, result.ode, strict=True) if n is not None]
        curves.append(Curve(f"{name}: ODE", [d for d, _ in ode], [n for _, n in ode]))
    return Plot(curves, "dimension d", "samples to the target", alt, xscale="log", yscale="log")


def _remark(name: str, result: Complexity) -> str:
    if result.slope.value is None or result.slope.stderr is None:
        return f"{name}: too few medians were reached"
    steps = ", ".join(f"{step * d:.2g}" for step, d in zip(result.steps, result.dims, strict=True))
    ode = "" if result.ode_slope is None else f", the ODE {result.ode_slope:.2f}"
    return (
        f"{name}: measured {result.slope.value:.3f} ± {result.slope.stderr:.1g}{ode}, asymptotically "
        f"{result.theory_exponent}; δ = {steps}"
    )


def _gather_linear(conditions: Conditions) -> Evidence:
    dims = {"quick": (400, 800, 1600), "full": (400, 800, 1600, 3200, 6400)}[conditions.effort]
    results = [
        (
            f"η₁ = {eta1:g}",
            _measure(conditions, "SI-LINEAR", _setting("x**3-3*x", 1.0, eta1), "pca-law:4d", dims, target=0.9),
        )
        for eta1 in (0.45, 0.8)
    ]
    quantities = [
        replace(
            _slope(r, f"power of d in the samples to m₁ = 0.9 from a PCA start, {name}", 2.0, "a random start's", 0.1),
            predicted=1.0,
        )
        for name, r in results
    ]
    alt = "The samples needed from a PCA start lie on lines of slope one in d."
    return Evidence(quantities, (_plot(results, alt),), [_remark(*pair) for pair in results])


SI_LINEAR = Claim(
    id="SI-LINEAR",
    statement="From a PCA start the number of labelled samples grows linearly in d.",
    source="[S] Thm 3.3",
    prediction="power one, with a step δ/d of fixed δ",
    experiment="median samples to m₁ = 0.9, PCA on 4d samples, f = x³ − 3x, λ = 1",
    rule="fitted power within 0.1 and four standard errors of one",
    power="rejects power two, that of a random start",
    gather=_gather_linear,
)


def _gather_random(conditions: Conditions) -> Evidence:
    dims = {"quick": (40, 80, 160), "full": (50, 100, 200, 400, 800)}[conditions.effort]
    setting = _setting("x**3-3*x", 1.0, 0.45)
    result = _measure(conditions, "SI-RANDOM", setting, "random", dims, more=2)
    warm = _measure(conditions, "SI-RANDOM", setting, "pca-law:4d", (setting.d,))
    samples, step = 2 * int(warm.medians[0].value or 0), warm.steps[0]
    runs = train(
        setting,
        parse_start("random"),
        steps=samples,
        step=step,
        replicas=_REPLICAS[conditions.effort],
        seed=conditions.seed,
        target=0.5,
        machine=conditions.machine,
        name="SI-RANDOM linear",
    )
    reached = float(np.mean([hit is not None for hit in runs.hits]))
    quantities = (
        _slope(
            result,
            f"power of d in the samples to m₁ = 0.5 from a random start, d = {dims[0]} to {dims[-1]}",
            1.0,
            "linear, as from a PCA start",
            0.3,
        ),
        _far_slope(setting, "random", "the same power of the ODE at d = 10⁸ to 10¹⁰", 2.0, 1.0, "linear"),
        Quantity(
            name=f"share of random starts at m₁ = 0.5 after twice the samples of the PCA start, d = {setting.d}",
            predicted=0.0,
            measured=reached,
            stderr=runs.success_stderr,
            stderr_bound=0.05,
            rival=1.0,
            rival_name="a random start does as well",
            allowance=0.02,
        ),
    )
    alt = "The samples needed from a random start rise along a line of slope near two in d."
    remarks = (
        _remark("random start", result),
        "Finer than the statement: with η₁ < 1 a random start fails in linear time but not for ever. s̄ decays, then "
        "the overlap u across the spike follows u′ ∝ u²: away from zero where it is positive, towards zero where it is "
        "negative, where noise then carries it across. So both arrive after order d² samples.",
    )
    return Evidence(quantities, (_plot([("random start", result)], alt),), remarks)


SI_RANDOM = Claim(
    id="SI-RANDOM",
    statement="From a random start a linear number of samples is not enough; of order d² are.",
    source="[S] Thm 3.4; [O] Thm 1.3 for the exponent k − 1",
    prediction="the power of the ODE over the same dimensions, two in the limit",
    experiment="median samples to m₁ = 0.5, f = x³ − 3x, λ = 1, η₁ = 0.45, δ ∝ d^{−1/2}",
    rule="fitted power within 0.3 and four standard errors of the ODE's; the ODE's within 0.03 of two at large d",
    power="rejects linear growth",
    gather=_gather_random,
)


def _gather_transfer(conditions: Conditions) -> Evidence:
    dims = {"quick": (200, 600, 1800), "full": (200, 600, 1800, 5400)}[conditions.effort]
    setting = _setting("x**3-3*x", 0.0, 1.0)
    results, quantities = [], []
    for zeta in (0.25, 0.4):
        exponent, rival = 1 + 2 * zeta, 1 + zeta
        start, small = f"transfer:{zeta}", dims if zeta < 0.3 else dims[:-1]
        result = _measure(conditions, "SI-TRANSFER", setting, start, small)
        results.append((f"ζ = {zeta:g}", result))
        why = "a step that need not shrink with the overlap, 1 + ζ(k−2)"
        quantities.append(
            _slope(result, f"power of d from overlap d^−{zeta:g}, d = {small[0]} to {small[-1]}", rival, why, 0.06)
        )
        quantities.append(
            _far_slope(
                setting, start, f"the same power of the ODE at d = 10⁸ to 10¹⁰, ζ = {zeta:g}", exponent, rival, why
            )
        )
    alt = "Samples needed from a transferred start rise with d, faster for the smaller overlap, along the ODE's lines."
    return Evidence(quantities, (_plot(results, alt),), [_remark(*pair) for pair in results])


SI_TRANSFER = Claim(
    id="SI-TRANSFER",
    statement="A start transferred with overlap d^{−ζ} needs d^{1+2ζ(k−2)} samples.",
    source="[S] Thm 4.2",
    prediction="1 + 2ζ(k−2) with k = 3, and the ODE's power at finite d",
    experiment="median samples to m₁ = 0.5, f = x³ − 3x without spike, overlaps d^{−1/4} and d^{−2/5}, δ ∝ d^{−ζ}",
    rule="fitted power within 0.06 and four standard errors of the ODE's; the ODE's within 0.03 of the exponent",
    power="rejects 1 + ζ(k−2), the count with a step of fixed δ",
    gather=_gather_transfer,
)


def _gather_exponent(conditions: Conditions) -> Evidence:
    quick = conditions.effort == "quick"
    cases = (
        (1, "erf(x)", (100, 400, 1600), 0.1, 1),
        (2, "He(2, x)", (100, 400, 1600), 0.2, 1),
        (3, "He(3, x)", (30, 60, 120) if quick else (50, 100, 200, 400, 800), 0.15, 4),
        (4, "He(4, x)", (10, 16, 25) if quick else (16, 32, 64), 0.2, 6 if quick else 2),
    )
    results, quantities = [], []
    for k, link, dims, allowance, more in cases:
        setting = _setting(link, 0.0, 1.0)
        result = _measure(conditions, "SI-EXPONENT", setting, "random", dims, more=more)
        results.append((f"k = {k}", result))
        name = f"power of d from a random start, k = {k}, d = {dims[0]} to {dims[-1]}"
        quantities.append(_slope(result, name, float(k + (k == 1)), "one power of d more", allowance))
    for k, link in ((3, "He(3, x)"), (4, "He(4, x)")):
        name = f"the same power of the ODE at d = 10⁸ to 10¹⁰, k = {k}"
        quantities.append(
            _far_slope(_setting(link, 0.0, 1.0), "random", name, k - 1.0, float(k), "one power of d more")
        )
    alt = "Samples needed from a random start: lines that are the steeper the larger the information exponent."
    return Evidence(quantities, (_plot(results, alt),), [_remark(*pair) for pair in results])


SI_EXPONENT = Claim(
    id="SI-EXPONENT",
    statement="Without a spike, a random start needs d^{max(1, k−1)} samples (times log d at k = 2), k the information "
    "exponent of the link.",
    source="[O] Thm 1.3; [S] §1",
    prediction="the power of the ODE over the same dimensions, k − 1 in the limit for k ≥ 3",
    experiment="median samples to |m₁| = 0.5 for erf and the Hermite polynomials 2, 3 and 4, δ ∝ d^{−(k−2)/2}",
    rule="fitted power within 0.1 to 0.2 (finite d, by k) and four standard errors of the ODE's",
    power="rejects one power of d more",
    gather=_gather_exponent,
)
