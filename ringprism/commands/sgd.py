"""``ringprism sgd``: effective dynamics of one-pass SGD. This module holds the ODE; simulation has its own."""

from __future__ import annotations

import typer

sgd = typer.Typer(
    name="sgd", help="One-pass SGD in high dimension: its ODE limit, simulation, universality.", no_args_is_help=True
)
