"""From index notation to ring graphs, where a model of tensors allows it: the fast path. [P] §3, [D]."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from theory.engine.diagram_fixed import around, edges_of
from theory.engine.diagram_model import DiagramModel
from theory.engine.diagram_plan import compile_plan
from theory.engine.diagram_series import declared
from theory.engine.diagram_store import DiagramStore
from theory.engine.diagram_tensor import Monomial, Tensor
from theory.engine.model import GaussianMatrix, Loss, MatrixModel, Space, Term


@lru_cache(maxsize=64)
def ring_form(model: DiagramModel) -> MatrixModel | None:
    """The model as traces of matrices, averages taken; ``None`` unless it has real matrices and nodes of degree two.

    Rates other than 1, covariances, and variances that are more than a number or a name have no ring form either. The
    variables are the same, though not always in the same order.

    >>> from theory.engine.diagram_model import DiagramLoss, DiagramTerm, Entry
    >>> U = Tensor("U", ("n", "p"), "sigma2", trained=True)
    >>> square = DiagramTerm(1, (), (Entry("U", ("h", "i")), Entry("U", ("h", "i"))))
    >>> model = DiagramModel("example", ("p", "n"), (U,), (DiagramLoss("train", (square,)),), "train")
    >>> ring_form(model).losses[0].terms[0].traces
    ("U U'",)
    """
    kept = [tensor for tensor in model.all_tensors if not tensor.average]
    if not all(_is_plain(tensor) for tensor in kept):
        return None
    store = DiagramStore(compile_plan(model))
    losses = []
    for loss in model.losses:
        terms = _terms(loss.name, store)
        if terms is None:
            return None
        losses.append(Loss(loss.name, tuple(terms)))
    spaces = {name: Space(name) for name in model.sizes}
    matrices = tuple(
        GaussianMatrix(t.name, spaces[t.legs[0]], spaces[t.legs[1]], _variance(t.variance), t.trained) for t in kept
    )
    known = {*model.sizes, *(name for t in kept for name in t.variance.names)}
    parameters = tuple(name for name in model.variables if name not in known)
    return MatrixModel(model.name, tuple(spaces.values()), matrices, tuple(losses), model.train_loss, parameters)


def _is_plain(tensor: Tensor) -> bool:
    names, number = tensor.variance.powers, tensor.variance.coefficient
    simple = not names or (number == 1 and len(names) == 1 and names[0][1] == 1)
    random_matrix = tensor.order == 2 and tensor.kind == "real" and not tensor.fixed and tensor.covariance is None
    return random_matrix and simple and tensor.rate == Monomial()


def _variance(variance: Monomial) -> str | Fraction:
    return variance.names[0] if variance.names else variance.coefficient


def _terms(loss: str, store: DiagramStore) -> list[Term] | None:
    plan = store.plan
    level, unit = declared(plan.model.loss(loss), store=store)
    result: list[Term] = []
    for state, polynomial in level.items():
        traces = []
        for part in state:
            words = around(edges_of(store.rows[part], plan=plan), plan=plan)
            if not words:
                return None
            traces.append(" ".join(plan.letters[x >> 1][0].name + "'" * (x & 1) for x in min(words)))
        for key, value in polynomial.items():
            _, exponents = plan.unpack(key)
            powers = tuple((name, e) for name, e in zip(plan.model.variables, exponents, strict=True) if e)
            result.append(Term(value * unit, tuple(traces), powers))
    return result
