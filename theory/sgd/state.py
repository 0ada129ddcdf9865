"""The summary statistics of a task: what the ODE moves."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from theory.checks import real
from theory.errors import InputError
from theory.sgd.task import Task

Array = NDArray[np.float64]
_NAME = re.compile(r"([MQbps])_(\d{1,3})(?:_(\d{1,3}))?")
_DEGENERATE = 1e-9


@dataclass(frozen=True, eq=False)
class State:
    """Overlaps ``M`` (K × r, w_i·v_α), Gram ``Q`` (K × K, w_i·w_j), second layer ``b``, localised parts. [U] [E].

    ``p`` (K × L) and ``s`` (r × L) hold the entries of the parameters and of the truths on the L coordinates where
    they are localised (of order one); everything else is spread over many coordinates. M, Q and the truths' Gram
    count the localised coordinates too. ``s`` never moves.
    """

    M: Array
    Q: Array
    b: Array
    p: Array
    s: Array

    @property
    def localised(self) -> int:
        """L, the number of localised coordinates."""
        return int(self.p.shape[1])

    def named(self) -> dict[str, float]:
        """The moving statistics by name, in the order of ``statistic_names``."""
        return dict(zip(self.names, self.flat().tolist(), strict=True))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the moving statistics."""
        return statistic_names(len(self.Q), self.M.shape[1], len(self.b), self.localised)

    def flat(self) -> Array:
        """The moving statistics as one vector: M by rows, Q's upper triangle by rows, b, p by rows."""
        upper = self.Q[np.triu_indices(len(self.Q))]
        return np.concatenate([self.M.ravel(), upper, self.b, self.p.ravel()])

    def moved(self, flat: Array) -> State:
        """The state whose moving statistics are ``flat``."""
        K, r = self.M.shape
        size, triangle = K * r, K * (K + 1) // 2
        Q = np.zeros((K, K))
        rows, columns = np.triu_indices(K)
        Q[rows, columns] = Q[columns, rows] = flat[size : size + triangle]
        b, p = np.split(flat[size + triangle :], [len(self.b)])
        return State(flat[:size].reshape(K, r), Q, b, p.reshape(self.p.shape), self.s)


def statistic_names(K: int, r: int, second: int, localised: int) -> tuple[str, ...]:
    """The names, in the order of ``State.flat``.

    >>> statistic_names(2, 1, 1, 0)
    ('M_1_1', 'M_2_1', 'Q_1_1', 'Q_1_2', 'Q_2_2', 'b_1')
    """
    return (
        *(f"M_{i}_{a}" for i in range(1, K + 1) for a in range(1, r + 1)),
        *(f"Q_{i}_{j}" for i in range(1, K + 1) for j in range(i, K + 1)),
        *(f"b_{i}" for i in range(1, second + 1)),
        *(f"p_{i}_{c}" for i in range(1, K + 1) for c in range(1, localised + 1)),
    )


_MEANINGS = {
    "M": "M_i_a = w_i·v_a (parameter i, truth a)",
    "Q": "Q_i_j = w_i·w_j",
    "b": "b_i second-layer weight i",
    "p": "p_i_k entry of w_i on localised coordinate k",
}


def describe(names: Iterable[str]) -> str:
    """What the names of statistics mean, on one line.

    >>> describe(["M_1_1", "Q_1_1"])
    'M_i_a = w_i·v_a (parameter i, truth a); Q_i_j = w_i·w_j'
    """
    return "; ".join(_MEANINGS[letter] for letter in dict.fromkeys(name[0] for name in names))


def start_state(task: Task, values: Mapping[str, float] | None = None) -> State:
    """The task's own start, with the statistics named in ``values`` put elsewhere; a name left out everywhere is 0.

    ``p_i_c`` is the entry of parameter i on localised coordinate c, ``s_a_c`` that of truth a. Where a truth is given
    localised entries, an overlap M_i_a left out is its localised part Σ_c p_i_c s_a_c. Raises ``InputError`` for an
    unknown name, or values that no vectors have (a Gram matrix that is not positive semi-definite).

    >>> from theory.sgd.tasks import single_index
    >>> start_state(single_index(), {"p_1_1": 0.6}).named()
    {'M_1_1': 0.3, 'Q_1_1': 0.5, 'p_1_1': 0.6}
    >>> start_state(single_index(), {"p_1_1": 0.6, "s_1_1": 1.0}).named()
    {'M_1_1': 0.6, 'Q_1_1': 0.5, 'p_1_1': 0.6}
    """
    K, r, second = len(task.parameters), len(task.truths), len(task.second_layer)
    if values is not None and not isinstance(values, Mapping):
        raise InputError(
            f"start of {task.name}", given=values, expected="a State, or values by name", remedy='give {"M_1_1": 0.2}'
        )
    named = {**task.start, **(values or {})}
    named = {str(name): math.nan if real(value) is None else float(value) for name, value in named.items()}
    columns = [int(name.rpartition("_")[2]) for name in named if name[0] in "ps" and _NAME.fullmatch(name)]
    L = max(columns, default=0)
    shapes = {"M": (K, r), "Q": (K, K), "b": (second,), "p": (K, L), "s": (r, L)}
    arrays = {key: np.zeros(shape) for key, shape in shapes.items()}
    for name, value in named.items():
        match = _NAME.fullmatch(name)
        index = tuple(int(part) - 1 for part in match.groups()[1:] if part) if match else ()
        letter = match.group(1) if match else ""
        shape = shapes.get(letter, ())
        inside = len(index) == len(shape) and all(0 <= i < n for i, n in zip(index, shape, strict=True))
        if not (match and inside and np.isfinite(value)):
            raise InputError(
                f"start of {task.name}",
                given=f"{name}={(values or named).get(name, value)}",
                expected=f"finite values of {', '.join(statistic_names(K, r, second, max(L, 1)))} or s_‹truth›_‹c›",
                remedy="give for example M_1_1=0.2,Q_1_1=1",
            )
        arrays[letter][index] = value
        if letter == "Q":
            arrays[letter][index[::-1]] = value
    part = arrays["p"] @ arrays["s"].T
    for i, a in np.argwhere(np.broadcast_to(arrays["s"].any(axis=1), (K, r))):
        if f"M_{i + 1}_{a + 1}" not in (values or {}):
            arrays["M"][i, a] = part[i, a]
    state = State(**arrays)
    check_state(task, state)
    return state


def as_state(task: Task, start: State | Mapping[str, float] | None) -> State:
    """A start as users give it: a state of this task, values by name over the task's own start, or ``None`` for that.

    Raises ``InputError`` for anything else, a state of another task's shape among it.
    """
    if not isinstance(start, State):
        return start_state(task, start)
    K, r, second = len(task.parameters), len(task.truths), len(task.second_layer)
    L = start.localised
    expected = {"M": (K, r), "Q": (K, K), "b": (second,), "p": (K, L), "s": (r, L)}
    shapes = {part: np.shape(getattr(start, part)) for part in expected}
    if shapes != expected:
        raise InputError(
            f"start of {task.name}", given=shapes, expected=f"shapes {expected}", remedy="use start_state(task, values)"
        )
    return start


def check_state(task: Task, state: State) -> None:
    """Raise ``InputError`` unless there are vectors with these overlaps, norms and localised entries."""
    gram, local = full_gram(task, state), np.concatenate([state.p, state.s])
    smallest = float(np.linalg.eigvalsh(gram - local @ local.T).min())
    if smallest < -_DEGENERATE * max(1.0, float(np.abs(gram).max())):
        raise InputError(
            f"start of {task.name}",
            given={name: round(value, 6) for name, value in state.named().items()},
            expected="a positive semi-definite Gram matrix of parameters and truths, localised entries taken off",
            remedy=f"{_localised_part(state)}raise Q or lower the overlaps (smallest eigenvalue {smallest:.3g})",
        )


def _localised_part(state: State) -> str:
    """A reminder of what the overlaps must contain, where both a parameter and a truth are localised."""
    part = state.p @ state.s.T
    terms = [
        f"M_{i + 1}_{a + 1} must contain "
        + " + ".join(
            f"p_{i + 1}_{k + 1}·s_{a + 1}_{k + 1}"
            for k in range(state.localised)
            if state.p[i, k] != 0 and state.s[a, k] != 0
        )
        + f" = {part[i, a]:g}, and is {state.M[i, a]:g}"
        for i, a in np.argwhere((part != 0) & (part != state.M))
    ]
    return "".join(f"{term}; " for term in terms)


def full_gram(task: Task, state: State) -> Array:
    """The Gram matrix of (w_1 … w_K, v_1 … v_r)."""
    return np.block([[state.Q, state.M], [state.M.T, np.array(task.truth_gram).reshape(state.M.shape[1], -1)]])
