"""Options that several commands share."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    """How a result is printed: for people, for programs, for papers."""

    text = "text"
    json = "json"
    latex = "latex"


FormatOption = Annotated[Format, typer.Option("--format", help="How to print the result.", case_sensitive=False)]
SeedOption = Annotated[int, typer.Option("--seed", min=0, help="Seed; the same seed gives the same result.")]
WorkersOption = Annotated[int, typer.Option("--workers", min=1, help="Local worker processes.")]
