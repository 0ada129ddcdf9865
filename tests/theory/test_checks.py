"""Numbers of every type a user may hand over: taken at their value, or refused in one readable line."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from theory.checks import positive, rational, whole
from theory.errors import BudgetError, InputError, ReachError, quoted
from theory.times import parse_times, time_grid

HUGE = 10**5000
NO_NUMBERS = [None, "x", "1", True, 1j, [1], np.array([1.0]), {}, b"1", np.bool_(True)]


@pytest.mark.parametrize("huge", [HUGE, -HUGE, Fraction(1, HUGE), [1, HUGE], {"p": HUGE}, "9" * 5000], ids=quoted)
def test_quoting_is_short_and_never_fails(huge: object) -> None:
    assert len(quoted(huge)) < 120
    assert quoted(huge) in str(InputError("size", given=huge, expected="a size", remedy="give one"))
    assert quoted(huge) in str(ReachError("time", given=huge, reach="t = 1", remedy="ask earlier"))


def test_quoting_keeps_what_is_short() -> None:
    assert quoted(-1) == "-1"
    assert quoted("a\nb") == "'a\\nb'"
    assert "5001 digits" in quoted(HUGE)
    assert "negative" in quoted(-HUGE)


def test_quoting_survives_a_value_that_cannot_describe_itself() -> None:
    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError

    assert "Broken" in quoted(Broken())


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (2, 2.0),
        (0.5, 0.5),
        (Fraction(1, 2), 0.5),
        (Decimal("0.5"), 0.5),
        (np.float32(0.5), 0.5),
        (np.int64(2), 2.0),
        (1e308, 1e308),
    ],
    ids=quoted,
)
def test_positive_numbers_become_floats(given: object, value: float) -> None:
    result = positive("eta", given, remedy="use eta=1")
    assert type(result) is float
    assert result == value


@pytest.mark.parametrize(
    "wrong",
    [
        *NO_NUMBERS,
        0,
        -1,
        0.0,
        float("nan"),
        float("inf"),
        10**400,
        HUGE,
        Fraction(1, HUGE),
        5e-324,
        1e-310,
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("1e99999999"),
        Decimal("1e-99999999"),
    ],
    ids=quoted,
)
def test_what_is_no_positive_number_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match=r"^eta: got .* expected a positive number.*; use eta=1"):
        positive("eta", wrong, remedy="use eta=1")


@pytest.mark.parametrize("wrong", [*NO_NUMBERS, -1, 0, 1.5, 2.0, Fraction(2), float("nan"), HUGE, 11], ids=quoted)
def test_what_is_no_whole_number_in_range_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match=r"^workers: got .* expected a whole number from 1 to 10; use workers=1"):
        whole("workers", wrong, least=1, most=10, remedy="use workers=1")


def test_whole_numbers_without_an_upper_end() -> None:
    assert whole("order", 10**30, remedy="ask for --order 6") == 10**30
    with pytest.raises(InputError, match="a whole number from 0; ask"):
        whole("order", -1, remedy="ask for --order 6")


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (3, Fraction(3)),
        (Fraction(-1, 3), Fraction(-1, 3)),
        (0.1, Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (1e-30, Fraction(1, 10**30)),
        (Decimal("0.1"), Fraction(1, 10)),
        (np.int64(3), Fraction(3)),
        ("1/200", Fraction(1, 200)),
        (" -2.5e-3 ", Fraction(-1, 400)),
        (".5", Fraction(1, 2)),
    ],
    ids=quoted,
)
def test_rationals_are_taken_as_written(given: object, value: Fraction) -> None:
    result = rational("coefficient", given, remedy="give 1/2")
    assert result == value
    assert type(result.numerator) is type(result.denominator) is int


@pytest.mark.parametrize(
    "wrong",
    [None, "x", "", "1/0", "1e9999", "1e99999999", "٣", "1_0", "1" * 2000, True, 1j, [1], np.array([1.0]), float("nan"),
     -float("inf"), float("inf"), Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), Decimal("1e99999999"),
     Decimal("1e-99999999"), HUGE, Fraction(1, HUGE), Fraction(HUGE, HUGE + 1)],
    ids=quoted,
)  # fmt: skip
def test_what_is_no_rational_of_readable_length_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match=r"^coefficient: got .* expected .*; give 1/2"):
        rational("coefficient", wrong, remedy="give 1/2")


@pytest.mark.parametrize("wrong", ["12", "0,1", b"12", {1: 2}, {1, 2}, None, 5, np.array(3.0)], ids=quoted)
def test_what_is_no_list_of_times_is_refused_with_the_way_out(wrong: object) -> None:
    with pytest.raises(InputError, match=r"times: got .* expected a sequence of numbers; give .*\[0, 1, 2\.5\]"):
        time_grid(wrong)  # type: ignore[arg-type]


def test_a_text_of_times_is_sent_to_its_parser() -> None:
    with pytest.raises(InputError, match="parse_times"):
        time_grid("0,1")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "wrong", [10**400, HUGE, None, "1", True, 1j, [1], np.array([1.0]), Decimal("sNaN")], ids=quoted
)
def test_what_is_no_time_is_refused(wrong: object) -> None:
    with pytest.raises(InputError, match="times: got "):
        time_grid([wrong])  # type: ignore[list-item]


def test_times_of_every_numeric_type_are_floats() -> None:
    grid = time_grid([0, np.float32(0.5), Fraction(3, 4), Decimal(1), np.int64(2)])  # type: ignore[list-item]
    assert grid == (0.0, 0.5, 0.75, 1.0, 2.0)
    assert {type(t) for t in grid} == {float}
    assert time_grid(t / 2 for t in range(3)) == (0.0, 0.5, 1.0)
    assert time_grid(np.linspace(0, 1, 3)) == (0.0, 0.5, 1.0)


@pytest.mark.parametrize("wrong", [None, 5, "٣", "1_0", "nan", "1,,2", "", "0x1", "1;2"], ids=quoted)
def test_texts_that_are_no_times_are_refused(wrong: object) -> None:
    with pytest.raises(
        InputError,
        match=r"times: got .* expected numbers separated by commas, or ranges .*; give for example 0,1,2\.5",
    ):
        parse_times(wrong)  # type: ignore[arg-type]


def test_texts_of_times_are_read() -> None:
    assert parse_times(" 0, 1e-1,+.5 ,2.") == (0.0, 0.1, 0.5, 2.0)
    with pytest.raises(InputError, match="finite times from 0"):
        parse_times("0,1e999")
    with pytest.raises(InputError, match="finite times from 0"):
        parse_times("-1,0")


def test_a_budget_names_a_huge_request_without_printing_it() -> None:
    from theory.autoencoder.budget import check_budget

    with pytest.raises(BudgetError, match="order 1000000000 of the train loss: would need years"):
        check_budget("train", order=10**9, planar=False)
    with pytest.raises(BudgetError, match=r"order .*5001 digits.* of the planar train loss"):
        check_budget("train", order=HUGE, planar=True)


def test_ranges_stand_for_many_times() -> None:
    assert parse_times("0:100:5") == (0.0, 25.0, 50.0, 75.0, 100.0)
    assert parse_times("0, log:0.1:1000:5") == pytest.approx((0.0, 0.1, 1.0, 10.0, 100.0, 1000.0), rel=1e-12)
    assert parse_times("log:1e-3:7:3")[::2] == (1e-3, 7.0)


@pytest.mark.parametrize("text", ["0:1", "0:1:1", "1:0:3", "log:0:1:3", "0:1:1000000000000", "-1:1:3", "0:1e999:3"])
def test_ranges_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="times"):
        parse_times(text)
