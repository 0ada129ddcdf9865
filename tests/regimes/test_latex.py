"""Each result in LaTeX is one display that stands alone, its lines no wider than a page."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from regimes.classify import classify
from regimes.derive import derive
from regimes.faces import FACES
from regimes.limit import LimitFormula
from regimes.model_limit import ModelLimit
from regimes.scaling import Scaling
from regimes.solve import solve
from theory.latex import WIDTH, broken, display, printed
from theory.sgd.ode import latex_system
from theory.sgd.tasks import build_task
from theory.single_index.link import Link
from theory.single_index.loss_report import describe_loss

RESULTS: dict[str, Callable[[], str]] = {
    "series": lambda: derive("train", order=2).to_latex(),
    "series of a model": lambda: derive("train", order=1, model="untied").to_latex(),
    "variance": lambda: derive("train", order=0, moment=2).to_latex(),
    "regime": lambda: classify(Scaling(p=1, n=2, m=1, sigma2=-2)).to_latex(),
    "equations": lambda: solve("R,N|m", "train", order=6).to_latex(),
    "no equation": lambda: solve("free", "population", order=4, closed=False).to_latex(),
    "polynomial link": lambda: describe_loss(Link.parse("x**3-3*x"), lam=1.0, eta1=1.0).to_latex(),
    "other link": lambda: describe_loss(Link.parse("tanh(x)"), lam=1.0, eta1=1.0).to_latex(),
    "committee": lambda: latex_system(build_task("committee", students=6, teachers=6)),
    "xor": lambda: latex_system(build_task("xor", students=8)),
    "limit of a model": lambda: ModelLimit(
        "m",
        SimpleNamespace(),
        {},
        1.0,
        (0.0, 1.0),
        {"train": (1e-9, 2.0)},
        {},
        {},
        {},  # type: ignore[arg-type]
    ).to_latex(),
    **{f"formula of {face.name}": lambda face=face: LimitFormula(face).to_latex() for face in FACES},
}


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_is_one_display_of_narrow_lines(name: str) -> None:
    text = RESULTS[name]()
    match = re.fullmatch(r"\\begin\{(align|gather)\*\}\n(.*)\n\\end\{\1\*\}", text, flags=re.DOTALL)
    assert match, text
    assert not match[2].endswith("\\\\")  # an empty line at the end
    rows = match[2].split("\\\\\n")
    assert [row for row in rows if printed(row.partition("&&")[0]) > 2 * WIDTH] == []
    assert max(row.count(" + ") + row.count(" - ") for row in rows) <= 16


def test_sums_break_at_signs_outside_brackets() -> None:
    assert broken("-a - (b + c) d + e", width=6) == ["-a", "- (b + c) d", "+ e"]
    assert display(["y &= " + " + ".join(["x^{2}"] * 60)]).count(r"&\quad") == 3
    assert " ".join(broken(" + ".join(["x^{2}"] * 60))) == " + ".join(["x^{2}"] * 60)


KATEX = """
const katex = require('katex');
require('fs').readFileSync(0, 'utf8').split('\\x00').forEach(
  text => katex.renderToString(text, {displayMode: true, strict: 'error', throwOnError: true}));
"""


def test_katex_reads_them_strictly() -> None:
    node = shutil.which("node")
    if node is None or subprocess.run([node, "-e", "require('katex')"], capture_output=True, check=False).returncode:
        pytest.skip("needs node and KaTeX (NODE_PATH)")
    every = "\0".join(result() for result in RESULTS.values())
    done = subprocess.run([node, "-e", KATEX], input=every, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
