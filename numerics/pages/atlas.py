"""The atlas as one HTML page: the prism, and for each face its cone, scales, formula, asymptotics, and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from numerics.figures.atlas import draw_survey
from numerics.figures.prism import draw_face, draw_prism
from numerics.gradient_flow.survey import Survey
from numerics.pages.html import page, picture
from numerics.pages.mathml import mathml
from regimes.atlas import AtlasEntry

_KINDS = {0: "vertex", 1: "edge", 2: "two-face", 3: "the whole prism"}
_STYLE = """
.formula { overflow-x: auto; padding: .4rem .8rem; background: var(--panel); border-radius: 3px; }
.formula p { margin: .45rem 0; }
nav ul { columns: 8rem; padding-left: 1.1rem; }
dd { overflow: auto hidden; min-width: 0; padding: .1rem 0; }
.cone { float: right; width: min(17rem, 100%); margin: 0 0 .5rem 1rem; }
section { clear: both; }
@media (max-width: 44rem) { .cone { float: none; margin: 0; } }
"""


def atlas_html(surveys: Sequence[Survey]) -> str:
    """The page; nothing on it is fetched from anywhere."""
    return page(
        "Atlas of the prism: the learning regimes of large linear autoencoders",
        _introduction(surveys) + "".join(_section(survey) for survey in surveys),
        style=_STYLE,
    )


def _introduction(surveys: Sequence[Survey]) -> str:
    links = "".join(f'<li><a href="#{_anchor(s.entry)}">{escape(s.entry.face.name)}</a></li>' for s in surveys)
    prism = picture(draw_prism(), alt="The triangular prism of the six rates.", name="prism")
    return (
        "<p>Model "
        + mathml(r"f(x) = U^TUx")
        + ", "
        + mathml(r"U")
        + " of size "
        + mathml(r"n \times p")
        + " with iid "
        + mathml(r"N(0, \sigma^2)")
        + " entries at first, data "
        + mathml("X")
        + " of size "
        + mathml(r"p \times m")
        + " with iid standard normal entries, gradient flow on "
        + mathml(r"\hat{L} = \frac{1}{2pm}\text{‖}X-U^TUX\text{‖}^2")
        + ", with the population loss "
        + mathml(r"L = \frac{1}{2p}\text{‖}1-U^TU\text{‖}^2")
        + ". Each time derivative of the losses multiplies them by one of six rates; which of them are largest picks a "
        "face of a triangular prism, and each of its 21 faces has its own limit (Golikov, Gusev, Yarotsky, "
        "arXiv 2606.05335).</p>"
        f"<figure>{prism}<figcaption>The prism: the triangle is the kind of term (R: target, N and P: quadratic), the "
        "segment the node contracted in the data.</figcaption></figure>"
        f"<nav aria-label='Faces'><ul>{links}</ul></nav>"
    )


def _section(survey: Survey) -> str:
    entry, setting = survey.entry, survey.setting
    formula, face = entry.limit.formula, entry.face
    train_scale, population_scale = entry.loss_scales
    title = face.name if face.name == face.vertex_set else f"{face.name} ({face.vertex_set})"
    lines = [
        mathml(rf"\hat{{L}}(t) = {formula.train}", display=True),
        mathml(rf"L(t) = {formula.population}", display=True),
    ]
    where = "".join(f"<p>{mathml(line, display=True)}</p>" for line in formula.where)
    facts = {
        "Vertices": escape(", ".join(face.vertices)) + f" ({_KINDS[face.dimension]})",
        "Cone": " and ".join(mathml(line) for line in entry.cone),
        "Time scale": mathml(entry.time_scale),
        "Size of the change": f"train {mathml(train_scale)}, population {mathml(population_scale)}",
        "Solution": escape(entry.solution),
        "Large times": " ".join(mathml(part) for part in formula.large_time.split(r"\quad")),  # lines break between
    }
    listed = "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in facts.items())
    plot = picture(
        draw_survey(survey),
        alt=f"Train and population loss of {title} against time: limit as lines, simulation as points.",
        name=_anchor(entry),
    )
    cone = picture(
        draw_face(face),
        alt=f"The prism with the face {title} shaded.",
        name=f"cone-{_anchor(entry)}",
    )
    constant = "" if entry.limit.has_target else " The limit leaves the constant ½ out."
    return (
        f'<section aria-labelledby="{_anchor(entry)}"><h2 id="{_anchor(entry)}">{escape(title)}</h2>'
        f'<figure class="cone">{cone}</figure><dl>{listed}</dl>'
        f'<div class="formula" tabindex="0" role="group" aria-label="Formula of {escape(face.name)}">'
        f"{''.join(f'<p>{line}</p>' for line in lines)}{where}</div>"
        f'<figure><div class="scroll" tabindex="0" role="group" aria-label="Plot of {escape(face.name)}">{plot}</div>'
        f"<figcaption>{escape(str(setting.sizes))}, η = 1; "
        f"{len(survey.simulation.train)} replicas, bars of two standard errors. Simulated losses are shown by their "
        f"change since t = 0. The largest ratio taken to be zero is "
        f"{setting.smallness:.2g}.{constant}</figcaption></figure></section>"
    )


def _anchor(entry: AtlasEntry) -> str:
    return "face-" + entry.face.vertex_set.replace(",", "").replace("|", "-")
