"""Does pre-training help? Random, PCA and transferred starts side by side, at one link, spike and d. [S] §3, §4"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from numerics.runs.machine import HERE, Machine
from numerics.single_index.batches import Plan
from numerics.single_index.censoring import order_interval, wilson
from numerics.single_index.chains import Method, Replica, run_chains
from numerics.single_index.rates import choose_steps, ode_samples, theory_exponent
from numerics.single_index.setting import Setting
from numerics.single_index.starts import PcaStart, Sign, Start, TransferStart, parse_start
from theory.checks import real, whole
from theory.errors import InputError, ReachError
from theory.single_index.fate import judge_end
from theory.single_index.fixed_points import FixedPoint, fixed_points

NAMES = ("random", "pca", "pca-random-sign", "pca-labels", "transfer")
TARGET = 0.5
REPLICAS = 32
_TIMES_ODE = 8.0
_MOST_STEPS = 2e9
_LABELS = 100
_PER_DIMENSION = 4.0
_TRANSFER = 0.25
_MANY = 3.0


@dataclass(frozen=True)
class Theory:
    """What theory says of a start: N ~ d^``exponent``, None where it is trapped; the ODE's ``samples`` at this d."""

    exponent: float | None
    samples: float | None

    def to_json(self) -> dict[str, float | None]:
        """Flat record."""
        return {"exponent": self.exponent, "samples": self.samples}


@dataclass(frozen=True)
class Route:
    """One kind of start: the ``share`` of replicas that reach the target within ``budget`` samples, and their times.

    ``low`` and ``high`` bound the share (Wilson, 95 %). ``median`` and its bounds (95 %, by order statistics) count
    those that did not arrive, ``censored``, as later than all others; None is beyond the budget. ``unlabelled`` and
    ``labels`` are the samples that the start itself costs. ``wrong_sign`` is the median of the starts with m_1 < 0, and
    ``failures`` says where those ended that did not arrive.
    """

    name: str
    start: str
    step: float
    budget: int
    replicas: int
    arrived: int
    share: float
    low: float
    high: float
    median: float | None
    median_low: float | None
    median_high: float | None
    unlabelled: int
    labels: int
    wrong_sign: float | None
    wrong_sign_share: float | None
    failures: Mapping[str, int]
    times: tuple[int | None, ...]
    theory: Theory

    @property
    def censored(self) -> int:
        """How many did not arrive."""
        return self.replicas - self.arrived

    def to_json(self) -> dict[str, object]:
        """The interface's record of one start."""
        return {
            "share": self.share,
            "low": self.low,
            "high": self.high,
            "samples_median": self.median,
            "samples_low": self.median_low,
            "samples_high": self.median_high,
            "theory": self.theory.to_json(),
            "censored": self.censored,
            "replicas": self.replicas,
            "budget": self.budget,
            "step": self.step,
            "start": self.start,
            "unlabelled": self.unlabelled,
            "labels": self.labels,
            "wrong_sign_median": self.wrong_sign,
            "failures": dict(self.failures),
        }


@dataclass(frozen=True)
class Comparison:
    """The starts side by side; ``sentence`` says it in words."""

    setting: Setting
    target: float
    method: Method
    seed: int
    routes: tuple[Route, ...]
    warnings: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Whether pre-training helps, in one sentence."""
        return _sentence(self)

    def to_json(self) -> dict[str, object]:
        """The interface's record."""
        s = self.setting
        return {
            "version": 1,
            "link": s.link.text,
            "lambda": s.lam,
            "eta1": s.eta1,
            "noise": s.noise,
            "d": s.d,
            "target": self.target,
            "method": self.method,
            "seed": self.seed,
            "starts": {route.name: route.to_json() for route in self.routes},
            "sentence": self.sentence,
            "warnings": list(self.warnings),
        }

    def to_text(self) -> str:
        """A table, and the sentence."""
        height = "|m1|" if self.setting.even else "m1"
        lines = [
            self.setting.describe(),
            f"samples until {height} ≥ {self.target:g}, {self.method}, seed {self.seed}",
            f"{'start':<16} {'arrive':>8} {'share, 95 %':>18} {'median':>10} {'95 %':>22} "
            f"{'ODE':>10} {'theory':>8} {'step δ/d':>9}",
        ]
        for r in self.routes:
            median = f"> {r.budget:.3g}" if r.median is None else f"{r.median:.4g}"
            bounds = f"{_number(r.median_low, r.budget)} to {_number(r.median_high, r.budget)}"
            power = "trapped" if r.theory.exponent is None else f"d^{r.theory.exponent:g}"
            ode = "never" if r.theory.samples is None else f"{r.theory.samples:.4g}"
            share = f"{r.share:.2f} ({r.low:.2f}–{r.high:.2f})"
            count = f"{r.arrived}/{r.replicas}"
            lines.append(
                f"{r.name:<16} {count:>8} {share:>18} {median:>10} {bounds:>22} {ode:>10} {power:>8} {r.step:>9.3g}"
            )
        for r in self.routes:
            if r.failures:
                where = ", ".join(f"{count} {kind}" for kind, count in r.failures.items())
                lines.append(f"{r.name}: of those that did not arrive: {where}")
        return "\n".join([*lines, "", self.sentence])


def compare(
    setting: Setting,
    *,
    starts: Sequence[str] = NAMES,
    budget: int | None = None,
    target: float = TARGET,
    replicas: int = REPLICAS,
    samples: float = _PER_DIMENSION,
    labels: int = _LABELS,
    transfer: float = _TRANSFER,
    seed: int = 0,
    method: Method = "reduced",
    machine: Machine = HERE,
    name: str = "single-index compare",
) -> Comparison:
    """Run each kind of start with a step that is right for it, and count samples until m_1 (|m_1|) is ``target``.

    ``starts``: of random, pca, pca-random-sign, pca-labels, transfer. PCA has ``samples``·d unlabelled inputs and its
    exact law; pca-labels spends ``labels`` labelled samples on its sign; transfer starts at overlap d^−``transfer``. A
    replica is given up after ``budget`` samples, by default 8 times what the slowest start's ODE needs. Without a
    spike PCA is left out.

    >>> from theory.single_index.link import Link
    >>> result = compare(Setting(Link.parse("x**3-3*x"), lam=1.0, eta1=0.45, d=100), starts=["pca"], replicas=8)
    >>> result.routes[0].share
    1.0

    Raises ``InputError`` for other names, a target outside (0, 1), or counts out of range.
    """
    chosen = _names(starts)
    if real(target) is None or not 0 < target < 1:
        raise InputError("target", given=target, expected="a number between 0 and 1", remedy="use target=0.5")
    if budget is not None:
        whole("budget", budget, least=1, remedy="use for example budget=1000000")
    whole("replicas", replicas, least=1, remedy="use for example replicas=32")
    warnings: list[str] = []
    if setting.lam == 0:
        left = [one for one in chosen if one.startswith("pca")]
        chosen = tuple(one for one in chosen if one not in left)
        if left:
            warnings.append(f"{', '.join(left)} left out: at λ = 0 unlabelled inputs know nothing of the target")
        if not chosen:
            raise InputError("starts", given=starts, expected="a start that needs no spike", remedy="use random")
    kinds = {one: _start(one, samples, labels, transfer) for one in chosen}
    steps = {one: _step(setting, start, target, warnings, one) for one, start in kinds.items()}
    theory = {one: _theory(setting, start, steps[one], target, warnings, one) for one, start in kinds.items()}
    known = [t.samples for t in theory.values() if t.samples]
    most = (
        int(min(_TIMES_ODE * max(known, default=100.0 * setting.d**1.5), _MOST_STEPS / replicas))
        if budget is None
        else budget
    )
    if budget is None and known and most + 1 < _TIMES_ODE * max(known):
        warnings.append(
            f"replicas are given up after {most:.3g} samples, fewer than {_TIMES_ODE:g} times what the slowest start's "
            "ODE needs: give a budget to wait longer"
        )
    points = fixed_points(setting.loss) if _landscape(setting, warnings) else ()
    routes = []
    for i, (one, start) in enumerate(kinds.items()):
        runs = run_chains(
            setting,
            start,
            Plan(max(most, 1), steps[one], target=target, stop=True),
            replicas=replicas,
            seed=seed,
            method=method,
            machine=machine.part(i * most * replicas, len(kinds) * most * replicas),
            name=name,
        )
        warnings += [f"{one}: {warning}" for warning in runs.warnings]
        routes.append(_route(setting, one, start, steps[one], most, runs.replicas, theory[one], points))
    if any(one == "pca" for one in chosen):
        warnings.append("pca: the sign is chosen towards the target by an oracle, as [S] assumes")
    return Comparison(setting, target, method, seed, tuple(routes), tuple(warnings))


def _names(starts: Sequence[str]) -> tuple[str, ...]:
    names = tuple(starts) if not isinstance(starts, str) else tuple(part.strip() for part in starts.split(","))
    if not names or any(one not in NAMES for one in names) or len(set(names)) < len(names):
        raise InputError(
            "starts", given=starts, expected=f"names among {', '.join(NAMES)}, each once", remedy="use random,pca"
        )
    return names


def _start(name: str, samples: float, labels: int, transfer: float) -> Start:
    if name == "random":
        return parse_start("random")
    if name == "transfer":
        return TransferStart(transfer)
    rule = {"pca": "oracle", "pca-random-sign": "random", "pca-labels": f"labels:{labels}"}[name]
    if real(samples) is None or not samples > 0:
        raise InputError("samples", given=samples, expected="a positive number of inputs a dimension", remedy="use 4")
    return PcaStart(float(samples), True, "law", Sign.parse(rule))


def _step(setting: Setting, start: Start, target: float, warnings: list[str], name: str) -> float:
    """The step theory takes; where the flow has no way to the target, [S]'s own 1/(10 d²)."""
    try:
        (step,) = choose_steps(setting, start, (setting.d,), target)
    except (InputError, ReachError) as error:
        warnings.append(f"{name}: the step is 1/(10 d²), since none follows from theory: {error}")
        return 0.1 / setting.d**2
    return step


def _theory(setting: Setting, start: Start, step: float, target: float, warnings: list[str], name: str) -> Theory:
    try:
        return Theory(
            theory_exponent(setting, start, target), ode_samples(setting, start.typical(setting), step, target)
        )
    except ReachError as error:
        warnings.append(f"{name}: theory is silent: {error}")
        return Theory(None, None)


def _landscape(setting: Setting, warnings: list[str]) -> bool:
    try:
        _ = setting.loss.kernel
    except ReachError as error:
        warnings.append(f"where failures end is not judged: {error}")
        return False
    return True


def _route(
    setting: Setting,
    name: str,
    start: Start,
    step: float,
    budget: int,
    replicas: Sequence[Replica],
    theory: Theory,
    points: Sequence[FixedPoint],
) -> Route:
    times = tuple(one.hit for one in replicas)
    arrived = sum(hit is not None for hit in times)
    low, high = wilson(arrived, len(times))
    middle, least, most = order_interval(times)
    wrong = [one.hit for one in replicas if one.start[0] < 0]
    lost = [one for one in replicas if one.hit is None]
    ends = Counter(_where(judge_end(setting.loss, points, *one.end).kind) for one in lost) if points else Counter()
    pca = isinstance(start, PcaStart)
    return Route(
        name=name,
        start=start.text,
        step=step,
        budget=budget,
        replicas=len(times),
        arrived=arrived,
        share=arrived / len(times),
        low=low,
        high=high,
        median=middle,
        median_low=least,
        median_high=most,
        unlabelled=start.count(setting) if isinstance(start, PcaStart) else 0,
        labels=start.sign.labels if isinstance(start, PcaStart) else 0,
        wrong_sign=order_interval(tuple(wrong))[0] if pca and wrong and not setting.even else None,
        wrong_sign_share=len(wrong) / len(times) if pca else None,
        failures=dict(ends.most_common()),
        times=times,
        theory=theory,
    )


def _where(kind: str) -> str:
    return {
        "other minimum": "in another minimum",
        "half-stable": "near zero overlap",
        "saddle": "near a saddle",
        "unstable": "near an unstable point",
        "target": "on the way, near the target",
        "minus target": "near minus the target",
    }.get(kind, "on the way")


def _number(value: float | None, budget: int) -> str:
    return f"> {budget:.3g}" if value is None else f"{value:.4g}"


def _sentence(result: Comparison) -> str:
    routes = {route.name: route for route in result.routes}
    parts = []
    pca, random = routes.get("pca"), routes.get("random")
    if pca is not None:
        parts.append(f"PCA on {pca.unlabelled} unlabelled inputs {_finds(pca)}")
    if random is not None:
        parts.append(f"a random start {_finds(random, 'needs')}")
    if "transfer" in routes:
        parts.append(f"a start transferred from a related task {_finds(routes['transfer'], 'needs')}")
    labels = routes.get("pca-labels")
    if labels is not None:
        parts.append(f"PCA with its sign chosen by {labels.labels} labels {_finds(labels, 'needs')}")
    coin = routes.get("pca-random-sign")
    if coin is not None and not result.setting.even:
        right = pca.median if pca and pca.median else coin.median_low
        if coin.wrong_sign is None:
            parts.append("with the wrong sign PCA does not arrive within the budget")
        elif right:
            ratio = coin.wrong_sign / right
            parts.append(f"with the wrong sign PCA needs {ratio:.2g} times as many")
    elif coin is not None:
        parts.append("the sign of PCA does not matter, the link being even")
    verdict = ""
    if pca is not None and random is not None:
        if pca.low > random.high or (pca.median and random.median and random.median > _MANY * pca.median):
            verdict = "Pre-training helps: "
        elif random.low > pca.high or (pca.median and random.median and pca.median > _MANY * random.median):
            verdict = "Pre-training hurts: "
        else:
            verdict = "Pre-training makes no clear difference: "
    text = "; ".join(parts) + "."
    return verdict + (text if verdict else text[0].upper() + text[1:])


def _finds(route: Route, verb: str = "finds the target in") -> str:
    if route.median is not None:
        some = "" if route.arrived == route.replicas else f" ({route.arrived} of {route.replicas} arrive)"
        return f"{verb} {_scientific(route.median)} samples{some}"
    if route.arrived:
        return (
            f"finds the target in {route.arrived} of {route.replicas} runs within {_scientific(route.budget)} samples"
        )
    return f"does not find the target within {_scientific(route.budget)} samples"


def _scientific(value: float) -> str:
    if value < 1e4:
        return f"{value:.0f}"
    power = math.floor(math.log10(value))
    digits = f"{value / 10**power:.2g}"
    superscript = str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{digits}·10{superscript}"


def survival(route: Route) -> tuple[np.ndarray, np.ndarray]:
    """Times, and the share that has arrived by then."""
    found = np.sort([hit for hit in route.times if hit is not None])
    return np.maximum(found, 1), np.arange(1, len(found) + 1) / route.replicas
