"""The tasks known by name. Each is a declaration of a few lines; ``TASKS`` maps a name to its builder."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from theory.effective.task import Task
from theory.effective.tasks.committee import committee
from theory.effective.tasks.logistic import logistic
from theory.effective.tasks.single_index import single_index
from theory.effective.tasks.xor import xor

TASKS: Mapping[str, Callable[..., Task]] = {
    "single-index": single_index,
    "committee": committee,
    "logistic": logistic,
    "xor": xor,
}
"""Name → builder; options by keyword, each with a default."""

__all__ = ["TASKS", "committee", "logistic", "single_index", "xor"]
