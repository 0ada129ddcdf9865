"""What the diagram engine costs against the number of canonical states, and against the ring engine.

    python benchmarks/diagrams.py growth [--cp 3] [--asymmetric] [--highest 4]   order by order, from a fresh store
    python benchmarks/diagrams.py quadratic [--highest 4]        a quadratic network with finitely many samples
    python benchmarks/diagrams.py rings [--order 6] [--rounds 5]  CP of order 2 against its ring form

Seconds are CPU seconds of this process, after a first run that compiles. States are counted over all levels; connected
diagrams are those of which a canonical form was kept.
"""

from __future__ import annotations

import argparse
import statistics
import time
from fractions import Fraction

from theory.engine.diagram_expectation import merge
from theory.engine.diagram_model import DiagramLoss, DiagramModel, DiagramTerm, Entry, product_of
from theory.engine.diagram_plan import compile_plan
from theory.engine.diagram_rings import ring_form
from theory.engine.diagram_series import declared, diagram_derivatives, expectations
from theory.engine.diagram_store import DiagramStore
from theory.engine.diagram_tensor import Tensor
from theory.engine.series import expected_derivatives

HALF = Fraction(1, 2)


def cp(order: int, *, symmetric: bool) -> DiagramModel:
    """½‖Σ_h ⊗_a U_a[h,·] − δ‖²."""
    names = ["U"] * order if symmetric else [f"U{a + 1}" for a in range(order)]
    tensors = tuple(Tensor(x, ("H", "p"), x.replace("U", "sigma2"), trained=True) for x in dict.fromkeys(names))
    square = tuple(Entry(name, (h, f"i{a}")) for h in "hg" for a, name in enumerate(names))
    target = tuple(Entry(name, ("h", "i")) for name in names)
    terms = (DiagramTerm(HALF, (), square), DiagramTerm(-1, (), target), DiagramTerm(HALF, (("p", 1),)))
    return DiagramModel(f"CP {order}", ("p", "H"), tensors, (DiagramLoss("train", terms),), "train")


def quadratic() -> DiagramModel:
    """Σ_k (Σ_h a_h (W_h·x_k)² − (V·x_k)²)²/2m."""
    per = (("m", -1),)

    def student(h: str, i: str, j: str) -> str:
        return f"a[{h}] W[{h},{i}] X[{i},k] W[{h},{j}] X[{j},k] "

    first, teacher = student("h", "i", "j"), "V[q] X[q,k] V[r] X[r,k] "
    terms = (
        DiagramTerm(HALF, per, product_of(first + student("g", "q", "r"))),
        DiagramTerm(-1, per, product_of(first + teacher)),
        DiagramTerm(HALF, per, product_of(teacher + "V[s] X[s,k] V[t] X[t,k]")),
    )
    tensors = (
        Tensor("a", ("n",), "alpha", trained=True),
        Tensor("W", ("n", "p"), "sigma2", trained=True),
        Tensor("V", ("p",), "tau2"),
        Tensor("X", ("p", "m")),
    )
    return DiagramModel("quadratic", ("n", "p", "m"), tensors, (DiagramLoss("train", terms),), "train")


def growth(model: DiagramModel, highest: int) -> None:
    """Print cost and states of each order alone: D^s by merging, and its expectation."""
    diagram_derivatives(model, {"train": 1})
    print(f"{'s':>2} {'terms of D^s':>12} {'states':>9} {'connected':>10} {'seconds':>9} {'µs a state':>11}")
    for order in range(1, highest + 1):
        start = time.process_time()
        store = DiagramStore(compile_plan(model))
        drive, drive_unit = declared(model.loss("train"), store=store)
        level, unit = drive, drive_unit
        for _ in range(order):
            level, unit = merge(level, drive, store=store), unit * drive_unit / store.merge_unit
        expectations([(unit, level)], store=store)
        seconds = time.process_time() - start
        each = 1e6 * seconds / max(store.states, 1)
        print(f"{order:>2} {len(level):>12} {store.states:>9} {len(store.rows):>10} {seconds:>9.3f} {each:>11.0f}")


def rings(order: int, rounds: int) -> None:
    """Print the median ratio of the diagram engine's time to the ring engine's, rounds interleaved."""
    model = cp(2, symmetric=True)
    matrices = ring_form(model)
    assert matrices is not None
    ratios = []
    for k in range(rounds + 1):
        start = time.process_time()
        by_rings = expected_derivatives(matrices, "train", order=order)
        between = time.process_time()
        by_diagrams = diagram_derivatives(model, {"train": order})["train"]
        assert by_diagrams == by_rings
        if k:  # the first round compiles
            ratios.append((time.process_time() - between) / (between - start))
    print(f"CP 2 symmetric to s = {order}: diagrams / rings = {statistics.median(ratios):.2f}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("growth", "quadratic", "rings"))
    parser.add_argument("--cp", type=int, default=3)
    parser.add_argument("--asymmetric", action="store_true")
    parser.add_argument("--highest", type=int, default=4)
    parser.add_argument("--order", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    if options.what == "growth":
        growth(cp(options.cp, symmetric=not options.asymmetric), options.highest)
    elif options.what == "quadratic":
        growth(quadratic(), options.highest)
    else:
        rings(options.order, options.rounds)


if __name__ == "__main__":
    main()
