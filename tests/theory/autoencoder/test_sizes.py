"""Sizes: what is accepted is kept exactly and written so that it reads back; the rest is refused in one line."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from theory.autoencoder.sizes import Sizes, check_sizes
from theory.errors import InputError, quoted

HUGE = 10**5000


@pytest.mark.parametrize(
    ("given", "exact"),
    [
        (Fraction(1, 200), Fraction(1, 200)),
        (0.1, Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (Decimal("0.1"), Fraction(1, 10)),
        ("1/200", Fraction(1, 200)),
        ("1e-300", Fraction(1, 10**300)),
        (1, Fraction(1)),
        (np.int64(7), Fraction(7)),
        (10**12, Fraction(10**12)),
    ],
    ids=quoted,
)
def test_the_variance_is_kept_as_written(given: object, exact: Fraction) -> None:
    sizes = Sizes(5, 6, 7, given)  # type: ignore[arg-type]
    assert sizes.sigma2 == exact
    assert type(sizes.sigma2.numerator) is type(sizes.sigma2.denominator) is int
    written = sizes.to_json()
    assert Sizes(5, 6, 7, written["sigma2"]) == sizes  # type: ignore[arg-type]
    assert Sizes.parse(f"p=5,n=6,m=7,sigma2={written['sigma2']}") == sizes


@pytest.mark.parametrize(
    "wrong",
    [
        HUGE,
        10**400,
        -1,
        0,
        True,
        1e-400,
        1e-310,
        Fraction(1, HUGE),
        Fraction(HUGE, HUGE + 1),
        "1e999",
        "1e-999",
        "1e99999999",
        "-1",
        "٣",
        "1_0",
        "abc",
        float("nan"),
        float("inf"),
        None,
        [1],
        1j,
        np.array([0.1]),
        Decimal("NaN"),
        Decimal("1e99999999"),
        Decimal("1e-99999999"),
        2e12,
    ],
    ids=quoted,
)
def test_a_variance_out_of_range_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match=r"^size sigma2: got .* expected .*; give .*sigma2=1/200$") as refusal:
        Sizes(5, 5, 5, wrong)  # type: ignore[arg-type]
    assert len(str(refusal.value)) < 260


@pytest.mark.parametrize("wrong", [HUGE, 10**400, -1, 0, 1.5, None, "5", True, np.array([5])], ids=quoted)
@pytest.mark.parametrize("name", ["p", "n", "m"], ids=quoted)
def test_a_size_that_is_no_whole_number_is_refused(name: str, wrong: object) -> None:
    sizes = {"p": 5, "n": 5, "m": 5, "sigma2": Fraction(1), name: wrong}
    with pytest.raises(InputError, match=rf"^size {name}: got .* a whole number from 1 to 1000000000; .* {name}=200$"):
        Sizes(**sizes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "p=5,n=5,m=5,sigma2=1e999",
        "p=5,n=5,m=5,sigma2=1e-999",
        "p=5,n=5,m=5,sigma2=0",
        "p=٣,n=5,m=5,sigma2=1",
        None,
        5,
        "p=5,n=5,m=5,sigma2=٣",
        "p=5,n=5,m=5,sigma2=1/0",
        f"p={'9' * 5000},n=5,m=5,sigma2=1",
        "p=5",
        "",
        "p=5,p=5",
    ],
    ids=quoted,
)
def test_texts_that_are_no_sizes_are_refused(text: object) -> None:
    with pytest.raises(InputError, match=r"^size.*: got .* expected .*; give "):
        Sizes.parse(text)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [None, "p=5,n=5,m=5,sigma2=1", 5, {"p": 5}], ids=quoted)
def test_what_is_not_sizes_is_sent_to_the_parser(wrong: object) -> None:
    with pytest.raises(InputError, match=r"^sizes: got .* expected .*Sizes; give .*Sizes\.parse"):
        check_sizes(wrong)
    check_sizes(Sizes(5, 5, 5, Fraction(1)))
