"""One-pass SGD: the full simulation against drawing its normal numbers, and the reduced chain against both.

    python benchmarks/sgd.py

simulates a committee of K = 2 students and r = 2 teachers at d = 1000 and prints, from runs side by side (medians of
ratios): how many times faster the full simulation is than numpy drawing the normal numbers it needs, how many times
faster a step of the reduced chain is than either, and what a step of the chain costs at d = 10⁶ relative to d = 1000.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Callable

import numpy as np

from numerics.sgd.simulate import simulate_sgd
from theory.sgd.laws import LAWS
from theory.sgd.tasks import committee

D = 1000
STEPS = 20_000
CHAIN_STEPS = 400_000
REPEATS = 9


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def simulation(d: int, steps: int, method: str, law: str = "gaussian") -> Callable[[], object]:
    task = committee()
    return lambda: simulate_sgd(
        task,
        [steps * task.step / d],
        d=d,
        replicas=1,
        seed=0,
        laws=LAWS[law],
        method=method,  # type: ignore[arg-type]
    )


def numpy_normals(generator: np.random.Generator, buffer: np.ndarray) -> Callable[[], object]:
    """One input at a time into one buffer that stays in the cache: the fastest way numpy has."""

    def draw() -> None:
        for _ in range(STEPS):
            generator.standard_normal(out=buffer)

    return draw


def main() -> None:
    actions: dict[str, tuple[Callable[[], object], int]] = {
        "numpy, drawing the normals": (numpy_normals(np.random.default_rng(0), np.empty(D)), STEPS),
        "full simulation": (simulation(D, STEPS, "full"), STEPS),
        "full simulation, exponential inputs": (simulation(D, STEPS, "full", "exponential"), STEPS),
        "reduced chain": (simulation(D, CHAIN_STEPS, "reduced"), CHAIN_STEPS),
        "reduced chain at d = 10⁶": (simulation(10**6, CHAIN_STEPS, "reduced"), CHAIN_STEPS),
    }
    for action, _ in actions.values():
        action()
    rounds = [{name: seconds(action) / steps for name, (action, steps) in actions.items()} for _ in range(REPEATS)]
    print(f"committee K = 2, r = 2, d = {D}; medians of {REPEATS} rounds side by side")
    for name in actions:
        print(f"{name:36} {1e9 * statistics.median(times[name] for times in rounds):10.0f} ns a step")
    for name, base in (
        ("full simulation", "numpy, drawing the normals"),
        ("full simulation, exponential inputs", "numpy, drawing the normals"),
        ("reduced chain", "numpy, drawing the normals"),
        ("reduced chain", "full simulation"),
        ("reduced chain at d = 10⁶", "reduced chain"),
    ):
        ratio = statistics.median(times[base] / times[name] for times in rounds)
        print(f"{name}: {ratio:.2f} × the speed of {base}")
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
