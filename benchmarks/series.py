"""What the series engine costs, and against what.

    python benchmarks/series.py plain [--order 9] [--rounds 5]     the sweep against plain dictionaries, interleaved
    python benchmarks/series.py enumeration [--rounds 5]           the recursion against enumeration, on the same words
    python benchmarks/series.py orders [--highest 11] [--workers 2]  time and peak memory per order, and their growth
    python benchmarks/series.py both [--workers 2]                 Y_0…Y_11 with Ŷ_0…Ŷ_10 in one sweep
    python benchmarks/series.py pairings [--highest 11]            graphs a tool would draw that draws every pairing
    python benchmarks/series.py planar [--rounds 1]                planar polynomials to s = 10, numbers to s = 16

Every figure is measured in this run, in one process for what is compared, rounds interleaved, and the median of the
ratios is printed. Memory is the peak resident size of a fresh process (resource.getrusage).
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import resource
import statistics
import time
from collections.abc import Callable
from fractions import Fraction
from functools import cache

os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

from theory.autoencoder.model import AUTOENCODER
from theory.autoencoder.planar import planar_series, planar_taylor
from theory.autoencoder.series import loss_series, loss_series_together
from theory.autoencoder.sizes import Sizes
from theory.engine import pairings, recursion
from theory.engine.composite import composite_plan, packed_derivatives
from theory.engine.laurent import Laurent
from theory.engine.ring import product

State = tuple[str, ...]
Coefficients = dict[tuple[int, int, int], int]


# The rival: the same recursion, written plainly. Words are texts of M and S, states sorted tuples of them.


@cache
def ring(word: str) -> str:
    """The smallest rotation or reversal."""
    both = (word, word[::-1])
    return min(w[i:] + w[:i] for w in both for i in range(len(w))) if word else word


def plain_series(order: int) -> list[Coefficients]:
    """Twice p Y_s for s = 0 … order, by exponents of p, n, m, with σ² = 1."""
    words: dict[str, int] = {"MM": 1, "M": -2}
    series = []
    for s in range(order + 1):
        series.append(plain_expectation(words))
        if s < order:
            following: dict[str, int] = {}
            for word, c in words.items():
                for i, letter in enumerate(word):
                    if letter == "M":
                        rest = word[i + 1 :] + word[:i]
                        for new, factor in (("SMM", 1), ("MMS", 1), ("MSM", 2), ("SM", -2), ("MS", -2)):
                            key = ring(rest + new)
                            following[key] = following.get(key, 0) + factor * c
            words = following
    return series


def plain_expectation(words: dict[str, int]) -> Coefficients:
    """E of a combination of rings: first all S, then all M, level by level."""
    level: dict[State, Coefficients] = {(word,): {(0, 0, 0): c} for word, c in words.items() if c}
    for letter, place in (("S", 2), ("M", 1)):
        done: dict[State, Coefficients] = {}
        while level:
            following: dict[State, Coefficients] = {}
            for state, coefficients in level.items():
                k = next((k for k, word in enumerate(state) if letter in word), None)
                if k is None:
                    add(done, state, coefficients, None)
                    continue
                word, others = state[k], state[:k] + state[k + 1 :]
                start = word.index(letter)
                rest = word[start + 1 :] + word[:start]
                add(following, close(others, rest), coefficients, place)
                for i, found in enumerate(rest):
                    if found == letter:
                        before, after = rest[:i], rest[i + 1 :]
                        add(following, close(others, after, before + letter), coefficients, None)
                        add(following, close(others, letter + after + before[::-1]), coefficients, None)
                for j, other in enumerate(others):
                    remaining = others[:j] + others[j + 1 :]
                    for i, found in enumerate(other):
                        if found == letter:
                            opened = other[i + 1 :] + other[:i]
                            add(following, close(remaining, rest + opened + letter), coefficients, None)
                            add(following, close(remaining, rest + opened[::-1] + letter), coefficients, None)
            level = following
        level = done
    total: Coefficients = {}
    for state, coefficients in level.items():
        for (p, n, m), c in coefficients.items():
            key = (p + len(state), n, m)
            total[key] = total.get(key, 0) + c
    return total


def close(others: State, *words: str) -> State:
    """A product of rings with more rings."""
    return tuple(sorted((*others, *map(ring, words))))


def add(level: dict[State, Coefficients], state: State, coefficients: Coefficients, place: int | None) -> None:
    """Add coefficients to a state, multiplied by n (place 1) or m (place 2)."""
    total = level.setdefault(state, {})
    for (p, n, m), c in coefficients.items():
        key = (p, n + (place == 1), m + (place == 2))
        total[key] = total.get(key, 0) + c


# Measurements


def compare(name: str, ours: Callable[[], object], rival: Callable[[], object], rounds: int) -> None:
    """Run both in turn and print medians and the median ratio."""
    rows = []
    for k in range(rounds):
        times = {}
        for side, function in (("ours", ours), ("rival", rival)) if k % 2 else (("rival", rival), ("ours", ours)):
            start = time.perf_counter()
            function()
            times[side] = time.perf_counter() - start
        rows.append((times["ours"], times["rival"], times["rival"] / times["ours"]))
    a, b, ratio = (statistics.median(column) for column in zip(*rows, strict=True))
    print(f"{name:38} {a:10.4f} s {b:10.4f} s   ratio {ratio:8.1f}", flush=True)


def plain(options: argparse.Namespace) -> None:
    """The sweep against plain dictionaries."""
    print("population loss, all orders to s       ours          dictionaries")
    for order in range(5, options.order + 1):
        series = loss_series("population", order=order)
        for s, rival in enumerate(plain_series(order)):
            ours: Coefficients = {}
            for (p, n, m, _), c in series.coefficients[s].terms.items():
                ours[p + 1, n, m] = ours.get((p + 1, n, m), 0) + int(2 * c)
            assert {k: c for k, c in rival.items() if c} == {k: c for k, c in ours.items() if c}, s

        def rival_run(order: int = order) -> object:
            ring.cache_clear()
            return plain_series(order)

        compare(
            f"Y_0 … Y_{order}", lambda order=order: loss_series("population", order=order), rival_run, options.rounds
        )


def enumeration(options: argparse.Namespace) -> None:
    """The recursion against enumeration."""
    print("one word                              recursion      enumeration")
    one = Laurent.constant(1, AUTOENCODER.variables)
    for text in ("U' U U' U X X'", "U' U X X' " * 2, "U' U U' U X X' U' U X X'", "U' U X X' " * 3, "U' U " * 6):
        combination = {product([AUTOENCODER.word(text)]): one}
        assert recursion.expectation(combination, model=AUTOENCODER) == pairings.expectation(
            combination, model=AUTOENCODER
        )
        name = text.replace("U' U", "M").replace("X X'", "S").replace(" ", "")
        compare(
            f"Tr {name}",
            lambda c=combination: recursion.expectation(c, model=AUTOENCODER),
            lambda c=combination: pairings.expectation(c, model=AUTOENCODER),
            options.rounds,
        )


def _series_in_child(orders: dict[str, int], workers: int, queue: multiprocessing.Queue[tuple[float, float]]) -> None:
    start = time.perf_counter()
    loss_series_together(orders, workers=workers)  # type: ignore[arg-type]
    seconds = time.perf_counter() - start
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    largest_child = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    queue.put((seconds, (own + workers * largest_child * (workers > 1)) / 2**20))


def measure(orders: dict[str, int], workers: int) -> tuple[float, float]:
    """Seconds, and peak memory in GiB: with several workers the largest worker counted for each of them."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=_series_in_child, args=(orders, workers, queue))
    child.start()
    result = queue.get()
    child.join()
    return result


def orders(options: argparse.Namespace) -> None:
    """Time and memory per order."""
    print(f"population loss, {options.workers} workers     seconds  growth   GiB at peak")
    before = None
    for order in range(6, options.highest + 1):
        seconds, memory = measure({"population": order}, options.workers)
        growth = f"{seconds / before:6.2f}" if before else "      "
        print(f"Y_0 … Y_{order:<29} {seconds:8.2f}  {growth}  {memory:8.2f}", flush=True)
        before = seconds


def both(options: argparse.Namespace) -> None:
    """Both losses together."""
    seconds, memory = measure({"population": 11, "train": 10}, options.workers)
    print(f"Y_0 … Y_11 with Ŷ_0 … Ŷ_10, {options.workers} workers: {seconds:.1f} s, {memory:.2f} GiB")


def count(options: argparse.Namespace) -> None:
    """Pairings of all words of one order, against the words themselves."""
    plan = composite_plan(AUTOENCODER)
    assert plan is not None
    print("order    words      pairings, one graph each")
    for s, packed in enumerate(packed_derivatives(plan, "population", order=options.highest)):
        words, total = 0, 0
        for codes, _ in packed.parts.values():
            for code in codes.tolist():
                letters = plan.packed.unpack(code)
                words += 1
                total += math.prod(math.prod(range(1, 2 * letters.count(d), 2)) for d in range(len(plan.letters)))
        print(f"{s:5} {words:8}      {total:.2e}")


def planar(options: argparse.Namespace) -> None:
    """Planar polynomials and numbers."""
    for loss in ("population", "train"):
        for name, run in (
            ("polynomials to s = 10", lambda loss=loss: planar_series(loss, order=10)),
            (
                "numbers to s = 16",
                lambda loss=loss: planar_taylor(loss, order=16, sizes=Sizes(200, 100, 300, Fraction(1, 200))),
            ),
        ):
            times = []
            for _ in range(options.rounds):
                start = time.perf_counter()
                run()
                times.append(time.perf_counter() - start)
            print(f"{loss:10} {name:24} {statistics.median(times):8.1f} s", flush=True)


def main() -> None:
    """Read the command line and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    topics = {f.__name__: f for f in (plain, enumeration, orders, both, planar)} | {"pairings": count}
    parser.add_argument("topic", choices=sorted(topics))
    parser.add_argument("--order", type=int, default=9)
    parser.add_argument("--highest", type=int, default=11)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    topics[options.topic](options)


if __name__ == "__main__":
    main()
