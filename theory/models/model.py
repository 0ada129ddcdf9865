"""A model as a researcher writes it: sizes, tensors, losses as expressions; read from TOML or declared in Python."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from theory.engine.diagram_model import DiagramModel
from theory.engine.diagram_tensor import NAME, Tensor
from theory.engine.model import MatrixModel
from theory.errors import InputError
from theory.models.averages import average
from theory.models.catalogue import shipped_text
from theory.models.complaint import nearest
from theory.models.expand import expand
from theory.models.plans import diagram_plan, ring_plan
from theory.models.table import (
    KEYS,
    LARGEST_FILE,
    check_name,
    known_keys,
    mapping,
    model_toml,
    read_tensor,
    read_toml,
    texts,
)
from theory.models.terms import Terms


@dataclass(frozen=True)
class Model:
    """Index spaces, Gaussian or fixed tensors, and losses; trained tensors follow dT/dt = −η · rate · ∂(descend)/∂T.

    ``losses`` pairs names with expressions of the model language, all of which one may ask the evolution of;
    ``descend`` names the one whose gradient the flow follows. ``parameters`` are further numbers in the expressions.

    >>> model = Model.declare(
    ...     "tied", sizes=["p", "n"], tensors={"U": {"indices": ["n", "p"], "variance": "sigma2", "trained": True}},
    ...     losses={"train": "norm2(1 - U' U) / 2"})
    >>> model.variables
    ('p', 'n', 'sigma2')
    >>> Model.parse(model.to_toml()) == model
    True

    Raises ``InputError``, with the place in an expression, for anything that is not declared or does not fit.
    """

    name: str
    sizes: tuple[str, ...]
    tensors: tuple[Tensor, ...]
    losses: tuple[tuple[str, str], ...]
    descend: str
    parameters: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._check_names()
        if self.descend not in self.loss_names:
            raise InputError(
                f"descend of model {self.name!r}",
                given=self.descend,
                expected=f"one of the losses {', '.join(self.loss_names)}",
                remedy=nearest(str(self.descend), self.loss_names),
            )
        for loss in self.loss_names:
            self._check_real(loss)
        _ = self.plan

    @classmethod
    def read(cls, path: str | Path) -> Model:
        """The model of a TOML file.

        Raises ``InputError`` for a file that cannot be read, and as ``parse`` does.
        """
        try:
            data = Path(path).read_bytes()
            text = data[: LARGEST_FILE * 4 + 1].decode("utf-8")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(
                "model file", given=str(path), expected=f"a TOML file to read ({reason})", remedy="check the path"
            ) from error
        return cls.parse(text)

    @classmethod
    def parse(cls, text: str) -> Model:
        """The model of a TOML text.

        >>> Model.parse(Model.named("untied").to_toml()) == Model.named("untied")
        True
        """
        table = read_toml(text)
        known_keys("a model", table, KEYS)
        missing = [key for key in ("name", "sizes", "tensors", "losses") if key not in table]
        if missing:
            raise InputError(
                "model",
                given=", ".join(table) or "nothing",
                expected=f"also {', '.join(missing)}",
                remedy="see ringprism models autoencoder for an example",
            )
        return cls.declare(**table)

    @classmethod
    def named(cls, name: str) -> Model:
        """A model that is shipped: ``autoencoder``, ``untied``, ``deep:3``, ``cp:3:asymmetric``, …

        >>> Model.named("deep:3").sizes
        ('p', 'n1', 'n2', 'm')

        Raises ``InputError`` for a name that is not one of theirs.
        """
        return cls.parse(shipped_text(name))

    @classmethod
    def of(cls, given: Model | str | Path) -> Model:
        """A model, one named, or one in a file (a text with ``/``, or ending in ``.toml``)."""
        if isinstance(given, Model):
            return given
        if isinstance(given, Path) or (isinstance(given, str) and ("/" in given or given.endswith(".toml"))):
            return cls.read(given)
        return cls.named(given)

    @classmethod
    def declare(
        cls,
        name: str,
        *,
        sizes: Sequence[str],
        tensors: Mapping[str, Any],
        losses: Mapping[str, str],
        descend: str | None = None,
        parameters: Sequence[str] = (),
    ) -> Model:
        """A model from the tables that its TOML file would hold; a tensor may be a ``Tensor`` already.

        Without ``descend`` the loss called ``train`` is descended, or the only one.
        """
        if not isinstance(name, str):
            raise InputError("name of a model", given=name, expected="a text", remedy='write name = "two factors"')
        read = tuple(
            given if isinstance(given, Tensor) else read_tensor(key, given)
            for key, given in mapping("tensors of the model", tensors).items()
        )
        table = mapping("losses of the model", losses)
        for loss, text in table.items():
            if not isinstance(text, str):
                raise InputError(f"loss {loss!r}", given=text, expected="an expression", remedy='write "norm2(X) / 2"')
        if descend is None:
            descend = "train" if "train" in table or len(table) != 1 else next(iter(table))
        return cls(name, texts("sizes", sizes), read, tuple(table.items()), descend, texts("parameters", parameters))

    @cached_property
    def loss_names(self) -> tuple[str, ...]:
        """The names of the losses and observables, in the order of the declaration."""
        return tuple(name for name, _ in self.losses)

    @cached_property
    def expanded(self) -> dict[str, Terms]:
        """Each loss as a sum of closed products of entries, the tensors with ``average`` integrated out."""
        scalars = (*self.sizes, *self.parameters)
        tensors = (*self.tensors, *self.implied)
        known = {tensor.name: tensor for tensor in tensors}
        return {
            name: average(expand(text, tensors, scalars, what=f"loss {name}"), known, what=f"loss {name}")
            for name, text in self.losses
        }

    @cached_property
    def plan(self) -> MatrixModel | DiagramModel:
        """What the engine works on: rings where every index occurs twice in real random matrices, else diagrams."""
        parts = (self.name, self.sizes, (*self.tensors, *self.implied), self.expanded, self.descend, self.parameters)
        return ring_plan(*parts) or diagram_plan(*parts)

    @cached_property
    def diagrams(self) -> DiagramModel:
        """The model over diagrams, also where it has a plan over rings."""
        parts = (self.name, self.sizes, (*self.tensors, *self.implied), self.expanded, self.descend, self.parameters)
        return diagram_plan(*parts)

    @property
    def rings(self) -> MatrixModel:
        """The plan of a model over rings; ``InputError`` for one that is not."""
        if not isinstance(self.plan, MatrixModel):
            raise InputError(
                "model",
                given=self.name,
                expected="real random matrices in which every index occurs twice",
                remedy="this is done for such models only",
            )
        return self.plan

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """Sizes, names in variances and rates in order of first use, parameters: the keys of terms and ``--sizes``."""
        return self.plan.variables[: len(self._known)] if isinstance(self.plan, DiagramModel) else self.plan.variables

    @cached_property
    def scales(self) -> tuple[str, ...]:
        """The names in variances that are no sizes: positive numbers, parameters among them."""
        named = {name for tensor in self.tensors for name in tensor.variance.names}
        return tuple(name for name in self.variables if name in named and name not in self.sizes)

    @cached_property
    def divisors(self) -> tuple[str, ...]:
        """The variables by which a loss or a rate divides."""
        below = {name for terms in self.expanded.values() for term in terms for name, k in term.powers if k < 0}
        below |= {name for tensor in self.tensors for name, k in tensor.rate.powers if k < 0}
        return tuple(name for name in self.variables if name in below)

    def tensor(self, name: str) -> Tensor:
        """A tensor by its name."""
        return next(tensor for tensor in (*self.tensors, *self.implied) if tensor.name == name)

    def check_loss(self, name: str) -> None:
        """Raise ``InputError`` unless a loss has this name."""
        if name not in self.loss_names:
            raise InputError(
                f"loss of model {self.name!r}",
                given=name,
                expected=f"one of {', '.join(self.loss_names)}",
                remedy=f"use loss={self.descend}",
            )

    def to_toml(self) -> str:
        """The text of a model file that reads back to this model."""
        return model_toml(self.name, self.sizes, self.parameters, self.descend, self.tensors, self.losses)

    @cached_property
    def _known(self) -> tuple[str, ...]:
        names = [name for tensor in self.tensors for scale in (tensor.variance, tensor.rate) for name in scale.names]
        return tuple(dict.fromkeys([*self.sizes, *names, *self.parameters]))

    @cached_property
    def implied(self) -> tuple[Tensor, ...]:
        """Covariances that are named only: fixed symmetric matrices."""
        declared = {tensor.name for tensor in self.tensors}
        implied = {
            t.covariance: Tensor(t.covariance, (t.legs[0],) * 2, fixed=True, kind="symmetric")
            for t in self.tensors
            if t.covariance is not None and t.covariance not in declared
        }
        return tuple(implied.values())

    def _check_names(self) -> None:
        if not self.sizes or not self.tensors or not self.losses:
            raise InputError(
                f"model {self.name!r}",
                given="no sizes, tensors or losses",
                expected="at least one of each",
                remedy="see ringprism models autoencoder for an example",
            )
        seen: dict[str, str] = {}
        for what, names in (
            ("size", self.sizes),
            ("tensor", [t.name for t in self.tensors]),
            ("parameter", self.parameters),
        ):
            for name in names:
                check_name(f"name of a {what}", name)
                if name in seen:
                    raise InputError(
                        f"name of a {what}", given=name, expected=f"no name that a {seen[name]} has", remedy="rename it"
                    )
                seen[name] = what
        if any(tensor.fixed or tensor.covariance is not None for tensor in self.tensors):
            for name in self._known:
                if name.startswith("c_"):
                    raise InputError(
                        "name of a variable",
                        given=name,
                        expected="none that begins with c_, as the symbols of fixed matrices do",
                        remedy="rename it",
                    )
        for loss in self.loss_names:
            if not NAME.fullmatch(loss) and not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", loss):
                raise InputError("name of a loss", given=loss, expected="letters and digits", remedy="rename it")
        variances = [name for tensor in self.tensors for name in tensor.variance.names]
        for tensor in self.tensors:
            self._check_tensor(tensor, seen, variances)

    def _check_real(self, loss: str) -> None:
        """Refuse a loss that its conjugate differs from, as sizes and entries of 1 show."""
        kinds = {tensor.name: tensor.kind for tensor in self.tensors}
        totals: dict[tuple[Any, ...], Fraction] = {}
        for term in self.expanded[loss]:
            plain, barred = (
                sorted(f.tensor for f in term.factors if kinds.get(f.tensor) == "complex" and f.conjugate == side)
                for side in (False, True)
            )
            powers = tuple(sorted(pair for pair in term.powers if pair[0] not in self.sizes))
            for key, sign in (((powers, *plain, "|", *barred), 1), ((powers, *barred, "|", *plain), -1)):
                totals[key] = totals.get(key, Fraction(0)) + sign * term.coefficient
        if any(totals.values()):
            raise InputError(
                f"loss {loss}",
                given=dict(self.losses)[loss],
                expected="a real number: with a complex tensor Z, as much of Z' as of Z",
                remedy="add the conjugate, as in tr(Z) + tr(Z')",
            )

    def _check_tensor(self, tensor: Tensor, seen: Mapping[str, str], variances: Sequence[str]) -> None:
        for leg in tensor.legs:
            if leg not in self.sizes:
                raise InputError(
                    f"indices of tensor {tensor.name!r}",
                    given=leg,
                    expected=f"one of the sizes {', '.join(self.sizes)}",
                    remedy=nearest(leg, self.sizes),
                )
        for name in tensor.variance.names:
            if seen.get(name) == "tensor":
                raise InputError(
                    f"variance of tensor {tensor.name!r}", given=name, expected="a number's name", remedy="rename it"
                )
        for name in tensor.rate.names:
            if name not in (*self.sizes, *self.parameters, *variances):
                raise InputError(
                    f"rate of tensor {tensor.name!r}",
                    given=name,
                    expected="sizes, parameters and names of variances",
                    remedy=f'declare it: parameters = ["{name}"]',
                )
