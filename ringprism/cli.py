"""The ``ringprism`` command: gathers the commands, and turns every expected failure into one line and an exit code."""

from __future__ import annotations

import io
import os
import sys
import traceback
from contextlib import suppress
from importlib import metadata
from typing import Annotated, NoReturn, TextIO

import typer

from ringprism.commands.atlas import atlas
from ringprism.commands.claims import claims
from ringprism.commands.classify import classify
from ringprism.commands.demo import demo
from ringprism.commands.derive import derive
from ringprism.commands.draw import draw
from ringprism.commands.limit import limit
from ringprism.commands.models import models
from ringprism.commands.sgd_basins import sgd
from ringprism.commands.simulate import simulate
from ringprism.commands.single_index_compare import single_index
from ringprism.commands.solve import solve
from ringprism.commands.store import store
from ringprism.commands.validate import validate
from ringprism.guide import GROUPS, GUIDES
from ringprism.usage import command_of, in_options, usage_message
from theory.errors import RingprismError
from theory.models.complaint import one_line

app = typer.Typer(
    name="ringprism",
    help="Derive series, classify scaling regimes, and validate limits of learning dynamics in high dimension.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        print(f"ringprism {metadata.version('ringprism')}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


app.command(**GUIDES["models"])(models)
app.command(**GUIDES["derive"])(derive)
app.command(**GUIDES["draw"])(draw)
app.command(**GUIDES["classify"])(classify)
app.command(**GUIDES["solve"])(solve)
app.command(**GUIDES["limit"])(limit)
app.command(**GUIDES["atlas"])(atlas)
app.command(**GUIDES["simulate"])(simulate)
app.add_typer(store, short_help=GROUPS["store"][0])
app.command(**GUIDES["validate"])(validate)
app.command(**GUIDES["claims"])(claims)
app.command(**GUIDES["demo"])(demo)
app.add_typer(sgd, short_help=GROUPS["sgd"][0])
app.add_typer(single_index, short_help=GROUPS["single-index"][0])

for _group, _name in ((store, "store"), (sgd, "sgd"), (single_index, "single-index")):
    for _command in _group.registered_commands:
        _known = str(_command.name or getattr(_command.callback, "__name__", ""))
        _command.short_help = GROUPS[_name][1].get(_known)

BAD_INPUT = 2
FAULT = 70
INTERRUPTED = 130
BROKEN_PIPE = 141


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line.

    Exit codes: 0 done, 1 a claim failed, 2 bad input, 70 a fault of this program, 130 interrupted, 141 nobody reads on.
    """
    given = sys.argv[1:] if arguments is None else arguments
    if sys.stdout is None:  # closed by whoever started this
        _fail("output: got a standard output that is closed, expected one to write to; send it to /dev/null", BAD_INPUT)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without Greek letters shows question marks
    try:
        code = app(args=arguments, prog_name="ringprism", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # typer's own reading of Ctrl-C
            raise KeyboardInterrupt
    except RingprismError as error:
        command = command_of(typer.main.get_command(app), given)
        _fail(error.spoken(lambda text: in_options(text, command)), BAD_INPUT)
    except (KeyboardInterrupt, typer.Abort):
        _fail(f"interrupted{_kept(given)}", INTERRUPTED)
    except SystemExit as ended:  # shell completion ends so, and typer's own reading of a pipe that was closed
        sys.exit(0 if ended.code in (0, None) else BROKEN_PIPE)
    except BrokenPipeError:
        _drop(sys.stdout)
        sys.exit(BROKEN_PIPE)
    except OSError as error:
        _drop(sys.stdout)
        _fail(f"output: {error.strerror or error}; free some space or write elsewhere", BAD_INPUT)
    except MemoryError:
        _fail("memory: there is too little of it; take smaller sizes or fewer workers", FAULT)
    except Exception as error:
        if not hasattr(error, "format_message"):
            _fault(error)
        message = usage_message(error, given)
        if message.startswith("Usage:"):  # a group of commands without a command
            print(error.format_message())
            sys.exit(0)
        _fail(message, BAD_INPUT)
    sys.exit(code if isinstance(code, int) else 0)


def _drop(stream: TextIO) -> None:
    """Let the interpreter's last flush go nowhere, instead of failing once more."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _kept(arguments: list[str]) -> str:
    """What is left of an interrupted run: finished replicas, where they went to a store or a report's folder."""
    stored = any(argument.partition("=")[0] in ("--store", "--report") for argument in arguments)
    return "; what was finished is kept" if stored else ""


def _fault(error: Exception) -> NoReturn:
    """An exception that nobody foresaw: never exit code 1, which says that a verdict failed."""
    with suppress(OSError, ValueError):
        traceback.print_exception(error)
    _fail(f"a fault of ringprism itself ({type(error).__name__}): please report the lines above", FAULT)


def _fail(message: str, code: int) -> NoReturn:
    try:
        print(f"error: {one_line(message)}", file=sys.stderr, flush=True)
    except (OSError, ValueError):  # nobody can be told
        _drop(sys.stderr)
    sys.exit(code)
