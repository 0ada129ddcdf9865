"""What limits leave out: read from the coefficients, complete, and one rule wherever it is asked."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from numerics.gradient_flow.atlas_sizes import SETTINGS
from regimes.faces import FACES, Face, parse_face
from regimes.neglected import _ties_and_gaps, neglected_monomials, neglected_ratios
from theory.autoencoder.sizes import Sizes


@pytest.mark.parametrize("face", FACES, ids=str)
def test_loops_count_where_leading_terms_have_them(face: Face) -> None:
    """A node of a kind is lost where there are several: n nodes under N, m nodes under m, p nodes under P or p."""
    p_nodes = "P" in face.triangle or "p" in face.segment
    expected = {"1/n": "N" in face.triangle, "1/m": "m" in face.segment, "1/p": p_nodes}
    names = dict(neglected_monomials(face))
    assert {name: name in names for name in expected} == expected
    assert sum("|" in name for name in names) == 6 - len(face.vertices)


@pytest.mark.parametrize("name", ["interior", "large-data", "small-data", "mean-field", "narrow-latent", "free", "R|p"])
def test_every_term_left_out_is_below_a_leading_one_by_these_ratios(name: str) -> None:
    """To the order looked at: each gap is a product of non-negative powers of them, and of what is of order one."""
    face = parse_face(name)
    ties, gaps = _ties_and_gaps(face)
    ratios = [ratio for _, ratio in neglected_monomials(face)]
    columns = np.array([*ratios, *ties, *(tuple(-x for x in tie) for tie in ties)], dtype=float).T
    for gap in gaps:
        assert linprog(np.ones(columns.shape[1]), A_eq=columns, b_eq=np.array(gap, dtype=float), method="highs").success


def test_one_rule_for_the_atlas_and_for_the_limits() -> None:
    sizes = Sizes.parse("p=300,n=12,m=300,sigma2=1/300")
    face = parse_face("narrow-latent")
    ratios = neglected_ratios(face, sizes)
    assert "1/n" not in ratios
    assert sum(ratios.values()) == pytest.approx(2 * 12 / 300 + 2 / 300)
    setting = SETTINGS["narrow-latent"]
    assert setting.smallness == max(neglected_ratios(face, setting.sizes).values())
    assert setting.smallness < 1 / setting.sizes.n
