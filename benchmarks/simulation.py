"""Gradient flow of the autoencoder against torchdiffeq and diffrax, at equal measured error of the final losses.

    pip install -r benchmarks/requirements.txt
    python benchmarks/simulation.py [--rounds 7] [--case square] [--cpu]

All run in this process, on one core, from the same U(0) and X, in float64. The rivals' dU/dt is written plainly,
−(η/pm) U(MS + SM − 2S) with M = UᵀU and S = XXᵀ computed beforehand. diffrax is compiled by jax.jit; torchdiffeq runs
as it is and, in its fastest settings, with dU/dt compiled by torch.compile (which needs a C++ compiler). For each
target error every library takes its fastest method and tolerance that reaches it (scouted first); then all are timed
in turn, and the medians of the ratios of the rounds are printed. "cold" is the first solution, compilation included.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

CORE = max(os.sched_getaffinity(0))
os.sched_setaffinity(0, {CORE})  # before any library starts its threads
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
os.environ["TORCHINDUCTOR_FORCE_DISABLE_CACHES"] = "1"  # each first solution compiles, as a user's first does

import diffrax  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
import torchdiffeq  # noqa: E402

from numerics.gradient_flow.draw import Draw  # noqa: E402
from numerics.gradient_flow.formulation import choose, follow  # noqa: E402
from numerics.gradient_flow.integrate import gradient_flow  # noqa: E402
from theory.autoencoder.sizes import Sizes  # noqa: E402

jax.config.update("jax_enable_x64", True)
torch.set_num_threads(1)
torch.set_default_dtype(torch.float64)

CASES = {
    "square": ("p=200,n=200,m=200,sigma2=1/200", 50.0),
    "thin latent": ("p=400,n=4,m=400,sigma2=1/400", 200.0),
    "few data": ("p=400,n=400,m=4,sigma2=1/400", 4.0),
}
TARGETS = (1e-4, 1e-6, 1e-8)
TOLERANCES = tuple(10.0**-k for k in range(1, 10))
SLOWEST = 5.0
COMPILED = "torchdiffeq, compiled"
LIBRARIES = ("ringprism", "torchdiffeq", COMPILED, "diffrax")

Solve = Callable[[], np.ndarray]
Clock = Callable[[], float]


@dataclass
class Setting:
    """One method at one tolerance, scouted: its error and its times."""

    library: str
    name: str
    solve: Solve
    error: float
    cold: float
    warm: float


def losses(weights: np.ndarray, data: np.ndarray) -> np.ndarray:
    """[P] §2's two losses."""
    p, m = data.shape
    residual = np.eye(p) - weights.T @ weights
    return np.array([((residual @ data) ** 2).sum() / (2 * p * m), (residual**2).sum() / (2 * p)])


def ours(weights: np.ndarray, data: np.ndarray, sizes: Sizes, end: float, tolerance: float) -> Solve:
    """This project: formulation chosen by the sizes, setting up included."""

    def solve() -> np.ndarray:
        drawn = Draw(weights, data, sizes.p, sizes.m)
        formulation = choose(sizes, end=end, eta=1.0, tolerance=tolerance)
        found, _ = follow(
            formulation,
            drawn,
            lambda problem: gradient_flow(problem, [end], eta=1.0, tolerance=tolerance),
            tolerance=tolerance,
        )
        return found[:, 0]

    return solve


def by_torchdiffeq(
    weights: np.ndarray, data: np.ndarray, end: float, method: str, tolerance: float, *, compiled: bool = False
) -> Solve:
    """torchdiffeq, plainly."""
    start, gram_of_data = torch.tensor(weights), torch.tensor(data @ data.T)
    rate = 1.0 / data.size
    times = torch.tensor([0.0, end])

    def derivative(_: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        gram = state.T @ state
        return -rate * (state @ (gram @ gram_of_data + gram_of_data @ gram - 2 * gram_of_data))

    if compiled:
        torch._dynamo.reset()
        derivative = torch.compile(derivative)

    def solve() -> np.ndarray:
        with torch.no_grad():
            state = torchdiffeq.odeint(
                derivative, start, times, rtol=tolerance, atol=tolerance * _scale(weights), method=method
            )[-1]
        return losses(state.numpy(), data)

    return solve


def by_diffrax(weights: np.ndarray, data: np.ndarray, end: float, method: str, tolerance: float) -> Solve:
    """diffrax, plainly, compiled."""
    gram_of_data = jnp.array(data @ data.T)
    rate = 1.0 / data.size
    start = jnp.array(weights)

    def derivative(_: jax.Array, state: jax.Array, __: None) -> jax.Array:
        gram = state.T @ state
        return -rate * (state @ (gram @ gram_of_data + gram_of_data @ gram - 2 * gram_of_data))

    @jax.jit
    def final(state: jax.Array) -> jax.Array:
        return diffrax.diffeqsolve(
            diffrax.ODETerm(derivative),
            getattr(diffrax, method)(),
            0.0,
            end,
            None,
            state,
            saveat=diffrax.SaveAt(t1=True),
            stepsize_controller=diffrax.PIDController(rtol=tolerance, atol=tolerance * _scale(weights)),
            max_steps=100_000,
        ).ys[-1]

    return lambda: losses(np.asarray(final(start)), data)


def scout(weights: np.ndarray, data: np.ndarray, sizes: Sizes, end: float, clock: Clock) -> list[Setting]:
    """Every library's methods, from loose tolerances to the first that reaches the smallest target; cold, then warm."""
    reference = ours(weights, data, sizes, end, 1e-12)()
    other = by_torchdiffeq(weights, data, end, "dopri8", 1e-10)()
    print(f"  reference {reference}, another solver's differs by {np.abs(reference - other).max():.1e}", flush=True)
    makers: dict[tuple[str, str], Callable[[float], Solve]] = {
        ("ringprism", ""): lambda tolerance: ours(weights, data, sizes, end, tolerance)
    }
    for method in ("bosh3", "dopri5", "dopri8"):
        makers["torchdiffeq", method] = partial(by_torchdiffeq, weights, data, end, method)
    for method in ("Bosh3", "Tsit5", "Dopri5", "Dopri8"):
        makers["diffrax", method] = partial(by_diffrax, weights, data, end, method)
    found = []
    for (library, method), make in makers.items():
        for tolerance in TOLERANCES:
            solve = make(tolerance)
            cold, result = _timed(solve, clock)
            error = float(np.abs(result - reference).max())
            warm = min(_timed(solve, clock)[0] for _ in range(2))
            found.append(Setting(library, f"{method} {tolerance:.0e}".strip(), solve, error, cold, warm))
            if error <= TARGETS[-1] or warm > SLOWEST:
                break
    for name in dict.fromkeys(fastest(found, "torchdiffeq", target).name for target in TARGETS):
        method, tolerance = name.split()
        solve = by_torchdiffeq(weights, data, end, method, float(tolerance), compiled=True)
        cold, result = _timed(solve, clock)
        warm = min(_timed(solve, clock)[0] for _ in range(2))
        found.append(Setting(COMPILED, name, solve, float(np.abs(result - reference).max()), cold, warm))
    return found


def fastest(scouted: list[Setting], library: str, target: float) -> Setting:
    """Its fastest setting that reaches the target."""
    able = [setting for setting in scouted if setting.library == library and setting.error <= target]
    return min(able, key=lambda setting: setting.warm)


def compare(case: str, rounds: int, clock: Clock) -> None:
    """Scout, choose, and time in turn."""
    text, end = CASES[case]
    sizes = Sizes.parse(text)
    generator = np.random.default_rng(0)
    weights = float(sizes.sigma2) ** 0.5 * generator.standard_normal((sizes.n, sizes.p))
    data = generator.standard_normal((sizes.p, sizes.m))
    print(f"{case}: {sizes}, t = {end:g}; {choose(sizes, end=end, eta=1.0, tolerance=1e-6)}")
    scouted = scout(weights, data, sizes, end, clock)
    for target in TARGETS:
        chosen = {library: fastest(scouted, library, target) for library in LIBRARIES}
        coldest = {
            library: min(one.cold for one in scouted if one.library == library and one.error <= target)
            for library in LIBRARIES
        }
        times = {library: list[float]() for library in chosen}
        for _ in range(rounds):
            for library, setting in chosen.items():
                times[library].append(_timed(setting.solve, clock)[0])
        print(f"  error ≤ {target:.0e}")
        for library, setting in chosen.items():
            ratio = statistics.median(a / b for a, b in zip(times[library], times["ringprism"], strict=True))
            cold = coldest[library]
            print(
                f"    {library:<21} {setting.name:<12} error {setting.error:.1e}"
                f"  {statistics.median(times[library]):.4f} s × {ratio:6.1f}"
                f"   cold {cold:.3f} s × {cold / coldest['ringprism']:6.1f}",
                flush=True,
            )


def _scale(weights: np.ndarray) -> float:
    """The entries' root mean square, by which the absolute tolerance is multiplied, as this project's solver does."""
    return float(np.linalg.norm(weights)) / weights.size**0.5


def _timed(solve: Solve, clock: Clock) -> tuple[float, np.ndarray]:
    start = clock()
    result = solve()
    return clock() - start, result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--case", choices=tuple(CASES), action="append")
    parser.add_argument(
        "--cpu", action="store_true", help="count this process's CPU time: for a machine that is not quiet"
    )
    options = parser.parse_args()
    for name in options.case or CASES:
        compare(name, options.rounds, time.process_time if options.cpu else time.perf_counter)
