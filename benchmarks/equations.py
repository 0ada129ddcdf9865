"""How far there is no equation: the free face and the interior, searched box by box.

    python benchmarks/equations.py --order 12 --out equations-data --minutes 40

The planar coefficients are kept in the folder as they are derived, and each box as it is finished; what is there is
not done again. A box without solutions modulo a prime holds none over the rationals. Special ratios (m = p, n = p,
both) have fewer variables, and therefore larger boxes; at p = n = m the coefficients go to order 17.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from fractions import Fraction
from math import comb
from pathlib import Path

from regimes.derive import compute
from regimes.faces import parse_face
from regimes.scaling import representative
from theory.autoencoder.planar import planar_taylor
from theory.autoencoder.series import LossName, LossSeries
from theory.autoencoder.sizes import Sizes
from theory.equations.operators import Box
from theory.equations.reduced import ReducedSeries, plain_series, reduce_series
from theory.equations.search import count_solutions

NUMBERS_ORDER = 17
SPECIAL: dict[str, dict[str, Fraction]] = {
    "any ratios": {},
    "m = p": {"r": Fraction(1)},
    "n = p": {"w": Fraction(1)},
}


def planar(loss: LossName, order: int, folder: Path) -> LossSeries:
    """The planar series, from the folder where it is there."""
    file = folder / f"planar-{loss}-{order}.json"
    if file.exists():
        return LossSeries.from_json(json.loads(file.read_text()))
    found = compute(loss, order=order, planar=True)
    file.write_text(json.dumps(found.to_json()))
    return found


def reduced(series: LossSeries, face: str) -> ReducedSeries:
    """The face's part in reduced variables."""
    chosen = parse_face(face)
    constant = Fraction(1, 2) if "R" in chosen.triangle else Fraction(0)
    leading = series.leading(representative(chosen).weights, constant=constant)
    return reduce_series(leading.coefficients, constant=constant)


def fixed(series: ReducedSeries, values: dict[str, Fraction]) -> ReducedSeries:
    """The series with some of its ratios given numbers."""
    keep = [k for k, name in enumerate(series.names) if name not in values]
    total: dict[tuple[int, ...], Fraction] = {}
    for powers, c in series.coefficients.items():
        factor = c
        for name, power in zip(series.names, powers, strict=True):
            factor *= values.get(name, Fraction(1)) ** power
        key = tuple(powers[k] for k in keep)
        total[key] = total.get(key, Fraction(0)) + factor
    names = tuple(series.names[k] for k in keep)
    return ReducedSeries(names, series.variables, series.prefactor, (), total, series.order, series.constant)


def rising(series: ReducedSeries, most: int) -> Iterator[Box]:
    """Boxes by rising number of unknowns, as many as the conditions decide."""
    drives = len(series.names) > 1
    boxes = [Box(k, d, i) for k in (1, 2, 3, 4) for d in (range(9) if drives else (0,)) for i in range(12)]
    sized = sorted(
        (len(box.terms(len(series.names))), box.order, box.degree, box) for box in boxes if _small(box, series)
    )
    return (box for size, _, _, box in sized if size <= most)


def _small(box: Box, series: ReducedSeries) -> bool:
    v = len(series.names)
    return comb(v + box.order, v) * comb(v - 1 + box.degree, v - 1) * (box.time_degree + 1) <= 1200


def main() -> None:
    """Search until the time is over."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--order", type=int, default=10)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--minutes", type=float, default=40)
    given = options.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    results = given.out / "boxes.jsonl"
    rows = [json.loads(line) for line in results.read_text().splitlines()] if results.exists() else []
    done = {(r["face"], r["loss"], r["ratios"], r["series"], r["order"], r["degree"], r["time_degree"]) for r in rows}
    begin = time.process_time()
    jobs: list[tuple[str, str, str, ReducedSeries]] = []
    losses: tuple[LossName, ...] = ("population", "train")
    for loss in losses:
        for target, face in ((False, "free"), (True, "interior")):
            sizes = Sizes(1, 1, 1, Fraction(1))
            values = planar_taylor(loss, order=NUMBERS_ORDER, sizes=sizes, target=target)
            jobs.append((face, loss, "p = n = m, σ²p = 1", plain_series(values)))
        series = planar(loss, given.order, given.out)
        for face in ("free", "interior"):
            whole = reduced(series, face)
            for name, values_of in SPECIAL.items():
                if set(values_of) <= set(whole.names):
                    jobs.append((face, loss, name, fixed(whole, values_of)))
    for face, loss, name, known in sorted(jobs, key=lambda job: (job[0], -len(job[3].names), job[1])):
        for box in rising(known, most=1000):
            key = (face, loss, name, known.order, box.order, box.degree, box.time_degree)
            if key in done or time.process_time() - begin > 60 * given.minutes:
                continue
            if box.order > known.order - 2:
                continue
            count = count_solutions(known, box)
            decided = count.conditions >= count.unknowns
            row = {
                "face": face,
                "loss": loss,
                "ratios": name,
                "series": known.order,
                "order": box.order,
                "degree": box.degree,
                "time_degree": box.time_degree,
                "unknowns": count.unknowns,
                "conditions": count.conditions,
                "solutions": count.solutions,
            }
            with results.open("a") as out:
                out.write(json.dumps(row) + "\n")
            if not decided and name != "any ratios":
                break
            print(row, flush=True)


if __name__ == "__main__":
    main()
