"""The diagram engine against polynomials in single entries, differentiated and averaged entry by entry.

Nothing of the engine is used on the other side: tensors of given small sizes become polynomials in their independent
real coordinates, the flow is differentiated in those coordinates, and Gaussian moments are double factorials.
"""

from __future__ import annotations

import itertools
import os
import random
import re
from collections.abc import Iterator
from fractions import Fraction
from math import factorial, prod

import pytest

from theory.engine.diagram_model import DiagramLoss, DiagramModel, DiagramTerm, Entry
from theory.engine.diagram_series import diagram_derivatives
from theory.engine.diagram_tensor import Kind, Monomial, Tensor

CASES = int(os.environ.get("RINGPRISM_RANDOM_DIAGRAMS", "60"))

Number = tuple[Fraction, Fraction]
"""A complex rational."""
Coordinate = tuple[str, tuple[int, ...], str]
"""Tensor, place, and r or i for the real or imaginary part."""
Poly = dict[tuple[tuple[Coordinate, int], ...], Number]

ONE, ZERO = (Fraction(1), Fraction(0)), (Fraction(0), Fraction(0))


def times(x: Number, y: Number) -> Number:
    return x[0] * y[0] - x[1] * y[1], x[0] * y[1] + x[1] * y[0]


def add(total: Poly, other: Poly, factor: Number = ONE) -> None:
    for key, value in other.items():
        old, new = total.get(key, ZERO), times(value, factor)
        total[key] = (old[0] + new[0], old[1] + new[1])


def multiply(left: Poly, right: Poly) -> Poly:
    result: Poly = {}
    for a, x in left.items():
        for b, y in right.items():
            powers = dict(a)
            for coordinate, e in b:
                powers[coordinate] = powers.get(coordinate, 0) + e
            add(result, {tuple(sorted(powers.items())): times(x, y)})
    return result


def derivative(poly: Poly, coordinate: Coordinate) -> Poly:
    result: Poly = {}
    for key, value in poly.items():
        powers = dict(key)
        e = powers.pop(coordinate, 0)
        if e:
            if e > 1:
                powers[coordinate] = e - 1
            add(result, {tuple(sorted(powers.items())): (value[0] * e, value[1] * e)})
    return result


class Entries:
    """A model at given sizes and values of its variables, in coordinates."""

    def __init__(self, model: DiagramModel, values: dict[str, Fraction], rng: random.Random) -> None:
        self.model, self.values = model, values
        self.fixed: dict[str, dict[tuple[int, ...], Fraction]] = {}
        covariances = {tensor.covariance for tensor in model.tensors}
        for tensor in model.all_tensors:
            if tensor.fixed:
                entries = {place: Fraction(rng.randint(-3, 3)) for place in self.places(tensor)}
                if tensor.kind == "symmetric":
                    entries = {place: entries[tuple(sorted(place))] for place in entries}
                if tensor.name in covariances:
                    entries = {place: Fraction(place[0] == place[1]) * rng.randint(1, 4) for place in entries}
                self.fixed[tensor.name] = entries

    def places(self, tensor: Tensor) -> Iterator[tuple[int, ...]]:
        return itertools.product(*(range(int(self.values[leg])) for leg in tensor.legs))

    def value(self, monomial: Monomial) -> Fraction:
        return monomial.coefficient * prod(self.values[name] ** e for name, e in monomial.powers)

    def entry(self, tensor: Tensor, place: tuple[int, ...], conjugate: bool) -> Poly:
        name = tensor.name
        if tensor.fixed:
            return {(): (self.fixed[name][place], Fraction(0))}
        sign = Fraction(-1 if conjugate else 1)
        if tensor.kind == "symmetric":
            place = tuple(sorted(place))
        if tensor.kind in ("real", "symmetric") or (tensor.kind == "hermitian" and place[0] == place[1]):
            return {(((name, place, "r"), 1),): ONE}
        if tensor.kind == "hermitian" and place[0] > place[1]:
            place, sign = place[::-1], -sign
        return {(((name, place, "r"), 1),): ONE, (((name, place, "i"), 1),): (Fraction(0), sign)}

    def coordinates(self, tensor: Tensor) -> Iterator[tuple[Coordinate, Fraction, Fraction]]:
        """Coordinate, its variance, and its mobility: one over how often its square occurs in the Frobenius norm."""
        variance = self.value(tensor.variance)
        for place in self.places(tensor):
            v = variance * (self.fixed[tensor.covariance][place[0], place[0]] if tensor.covariance else 1)
            if tensor.kind == "real":
                yield (tensor.name, place, "r"), v, Fraction(1)
            elif tensor.kind == "complex":
                yield (tensor.name, place, "r"), v / 2, Fraction(1)
                yield (tensor.name, place, "i"), v / 2, Fraction(1)
            elif tensor.kind == "symmetric" and place == tuple(sorted(place)):
                copies = len(set(itertools.permutations(place)))
                yield (tensor.name, place, "r"), v * factorial(len(place)) / copies, Fraction(1, copies)
            elif tensor.kind == "hermitian" and place[0] == place[1]:
                yield (tensor.name, place, "r"), v, Fraction(1)
            elif tensor.kind == "hermitian" and place[0] < place[1]:
                yield (tensor.name, place, "r"), v / 2, Fraction(1, 2)
                yield (tensor.name, place, "i"), v / 2, Fraction(1, 2)

    def loss(self, name: str) -> Poly:
        total: Poly = {}
        for term in self.model.loss(name):
            sizes = self.model.label_sizes(term.entries)
            for point in itertools.product(*(range(int(self.values[size])) for size in sizes.values())):
                at = dict(zip(sizes, point, strict=True))
                factor: Poly = {(): (self.value(Monomial(term.coefficient, term.powers)), Fraction(0))}
                for entry in term.entries:
                    place = tuple(at[label] for label in entry.labels)
                    factor = multiply(factor, self.entry(self.model.tensor(entry.tensor), place, entry.conjugate))
                add(total, factor)
        return self.average(total, [t for t in self.model.tensors if t.average])

    def average(self, poly: Poly, tensors: list[Tensor]) -> Poly:
        variances = {c: v for tensor in tensors for c, v, _ in self.coordinates(tensor)}
        result: Poly = {}
        for key, value in poly.items():
            moment = Fraction(1)
            for coordinate, e in key:
                if coordinate in variances:
                    moment *= prod(range(1, e, 2)) * variances[coordinate] ** (e // 2) if e % 2 == 0 else 0
            rest = tuple(item for item in key if item[0] not in variances)
            add(result, {rest: value}, (moment, Fraction(0)))
        return result

    def expected(self, name: str, order: int) -> list[Number]:
        random_tensors = [t for t in self.model.all_tensors if not t.fixed]
        drive, current = self.loss(self.model.train_loss), self.loss(name)
        result = []
        for s in range(order + 1):
            result.append(self.average(current, random_tensors).get((), ZERO))
            if s == order:
                return result
            following: Poly = {}
            for tensor in (t for t in random_tensors if t.trained):
                rate = self.value(tensor.rate)
                for coordinate, _, mobility in self.coordinates(tensor):
                    product = multiply(derivative(current, coordinate), derivative(drive, coordinate))
                    add(following, product, (rate * mobility, Fraction(0)))
            current = following
        raise AssertionError

    def symbol(self, name: str) -> Fraction:
        """The value of a closed word of fixed tensors, read off its spelling."""
        body = name.removeprefix("c_")
        if body.isdigit():
            (only,) = self.fixed
            body = "_".join([only] * int(body))
        if "[" not in body:
            letters = [
                f"{x.rstrip(chr(39))}[{'x{1},x{0}' if x.endswith(chr(39)) else 'x{0},x{1}'}]" for x in body.split("_")
            ]
            cyclic = [letter.format(k, (k + 1) % len(letters)) for k, letter in enumerate(letters)]
            body = "".join(cyclic)
        entries = tuple(Entry(t, tuple(i.split(","))) for t, i in re.findall(r"(\w+)\[([\w,]+)\]", body))
        sizes = self.model.label_sizes(entries)
        total = Fraction(0)
        for point in itertools.product(*(range(int(self.values[size])) for size in sizes.values())):
            at = dict(zip(sizes, point, strict=True))
            total += prod(self.fixed[e.tensor][tuple(at[i] for i in e.labels)] for e in entries)
        return total / self.values[min(sizes.values(), key=self.model.sizes.index)]


def random_model(rng: random.Random) -> DiagramModel:
    sizes = ("p", "q")[: rng.randint(1, 2)]
    digits = lambda: Fraction(rng.randint(-(10**20), 10**20), rng.randint(1, 10**15))  # noqa: E731
    tensors: list[Tensor] = []
    for k in range(rng.randint(1, 3)):
        name = "TVX"[k]
        kind: Kind = rng.choice(("real", "real", "symmetric", "complex", "hermitian"))
        order = 2 if kind == "hermitian" else rng.choice((1, 2, 2, 3))
        size = rng.choice(sizes)
        legs = tuple(size if kind in ("symmetric", "hermitian") else rng.choice(sizes) for _ in range(order))
        role = "trained" if k == 0 else rng.choice(("trained", "average", "data", "fixed"))
        variance = rng.choice(("s2", Monomial(Fraction(rng.randint(1, 10**9), 7), ((size, -1),)), Fraction(3, 7)))
        if role == "fixed":
            tensors.append(Tensor(name, legs, fixed=True, kind="symmetric" if kind == "symmetric" else "real"))
            continue
        rate = rng.choice((1, Monomial(Fraction(2, 3), ((size, -1),)))) if role == "trained" else 1
        covariance = "C" if kind == "real" and legs[0] == "p" and rng.random() < 0.4 else None
        flags = {"trained": role == "trained", "average": role == "average"}
        tensors.append(Tensor(name, legs, variance, kind=kind, rate=rate, covariance=covariance, **flags))
    if not any("s2" in t.variance.names for t in tensors):
        tensors[0] = Tensor(tensors[0].name, tensors[0].legs, "s2", True, kind=tensors[0].kind)
    names = [t.name for t in tensors] + (["C"] if any(t.covariance for t in tensors) else [])
    declared = DiagramModel("random", sizes, tuple(tensors), (DiagramLoss("train", ()),), "train", ("decay",))

    def term(most: int) -> DiagramTerm:
        entries: list[Entry] = []
        for _ in range(rng.randint(1, most)):
            tensor = declared.tensor(rng.choice(names))
            labels = tuple(f"{leg}{rng.randint(0, 1)}" for leg in tensor.legs)
            entries.append(Entry(tensor.name, labels, rng.random() < 0.5))
        powers = ((rng.choice((*sizes, "decay")), rng.choice((-1, 1))),)
        return DiagramTerm(digits(), powers, tuple(entries))

    losses = tuple(DiagramLoss(x, tuple(term(3) for _ in range(rng.randint(1, 2)))) for x in ("train", "other"))
    return DiagramModel("random", sizes, tuple(tensors), losses, "train", ("decay",))


@pytest.mark.parametrize("block", range(4))
def test_random_declarations_agree_with_their_entries(block: int) -> None:
    nonzero = 0
    for seed in range(block * CASES // 4, (block + 1) * CASES // 4):
        rng = random.Random(seed)
        model = random_model(rng)
        order = 2 if max(t.order for t in model.tensors) < 3 else 1
        found = diagram_derivatives(model, {"train": order, "other": order})
        largest = 3 if max(t.order for t in model.tensors) < 3 and len(model.tensors) == 1 else 2
        values = {name: Fraction(rng.randint(1, largest)) for name in model.sizes}
        values |= {"s2": Fraction(5, 3), "decay": Fraction(-7, 2)}
        entries = Entries(model, values, rng)
        for name, row in found.items():
            symbols = {x: entries.symbol(x) for x in row[0].variables if x.startswith("c_")}
            got = [value.evaluate({**values, **symbols}) for value in row]
            expected = entries.expected(name, order)
            assert all(part[1] == 0 for part in expected) or any(t.kind == "complex" for t in model.tensors)
            assert got == [part[0] for part in expected], (seed, model)
            nonzero += sum(x != 0 for x in got)
    assert nonzero > CASES // 4
