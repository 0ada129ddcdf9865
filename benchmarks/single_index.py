"""Single-index SGD: the loop in full dimension against drawing its normal numbers, and the reduced chain against it.

    python benchmarks/single_index.py

runs f = x³ − 3x, λ = 1, η_1 = 0.45 and prints, from runs side by side (medians of ratios): how many times faster the
loop at d = 1000 is than numpy drawing the normal numbers it needs, how many times faster a step of the reduced chain is
than a step of that loop, and what a step of the chain costs at d = 10⁶ relative to d = 1000. One thread throughout.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from numerics.single_index.batches import Plan
from numerics.single_index.chains import Method, run_chains
from numerics.single_index.setting import Setting
from numerics.single_index.starts import parse_start
from theory.single_index.link import Link

D, LARGE = 1000, 10**6
LOOP_STEPS = 20_000
CHAIN_STEPS = 40_000
REPLICAS = 32
"""Replicas that the reduced chain advances together, one a lane; a step is counted for each."""
REPEATS = 11
LINKS = ("x**3-3*x", "erf(x)")


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def simulation(link: str, d: int, steps: int, replicas: int, method: Method) -> Callable[[], object]:
    setting = Setting(Link.parse(link), lam=1.0, eta1=0.45, d=d)
    plan, start = Plan(steps, 0.1 / d**2), parse_start("0.3,0.5")
    return lambda: run_chains(setting, start, plan, replicas=replicas, seed=0, method=method)


def numpy_normals() -> Callable[[], object]:
    """One sample at a time into one buffer that stays in the cache: the fastest way numpy has."""
    generator, buffer = np.random.default_rng(0), np.empty(D)

    def draw() -> None:
        for _ in range(LOOP_STEPS):
            generator.standard_normal(out=buffer)

    return draw


def main() -> None:
    actions: dict[str, tuple[Callable[[], object], int]] = {"numpy normals": (numpy_normals(), LOOP_STEPS)}
    for link in LINKS:
        actions[f"loop, {link}"] = (simulation(link, D, LOOP_STEPS, 1, "full"), LOOP_STEPS)
        for d in (D, LARGE):
            chain = simulation(link, d, CHAIN_STEPS, REPLICAS, "reduced")
            actions[f"chain, {link}, d={d}"] = (chain, CHAIN_STEPS * REPLICAS)
    actions["chain alone"] = (simulation(LINKS[0], D, CHAIN_STEPS, 1, "reduced"), CHAIN_STEPS)
    for action, _ in actions.values():
        action()
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(REPEATS):
        for name, (action, steps) in actions.items():
            times[name].append(seconds(action) / steps)

    def ratio(slow: str, fast: str) -> str:
        ratios = sorted(a / b for a, b in zip(times[slow], times[fast], strict=True))
        return f"{statistics.median(ratios):7.2f}×  (from {ratios[0]:.2f} to {ratios[-1]:.2f})"

    for name, values in times.items():
        print(f"{name:34s} {statistics.median(values) * 1e9:10.1f} ns a step")
    cubic, error = LINKS
    print(f"\nloop at d = {D} faster than numpy's normals    {ratio('numpy normals', f'loop, {cubic}')}")
    print(f"chain faster than the loop, {cubic:10s}        {ratio(f'loop, {cubic}', f'chain, {cubic}, d={D}')}")
    print(f"chain faster than the loop, {error:10s}        {ratio(f'loop, {error}', f'chain, {error}, d={D}')}")
    relative = ratio(f"chain, {cubic}, d={LARGE}", f"chain, {cubic}, d={D}")
    print(f"chain at d = 10⁶, cost relative to d = {D}     {relative}")
    print(f"chain of one replica faster than the loop      {ratio(f'loop, {cubic}', 'chain alone')}")


if __name__ == "__main__":
    main()
