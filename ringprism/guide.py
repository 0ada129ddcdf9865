"""What the help of each command adds to its options: one line for the list of commands, an example, units, names."""

from __future__ import annotations

from typing import TypedDict


class Guide(TypedDict):
    """What Typer takes besides a function."""

    short_help: str
    epilog: str


_FACES = (
    "Faces: interior, large-data, small-data, mean-field, narrow-latent, free; any of the 21 as letters of R,N,P and"
    " of m,p, for example R,N|m."
)
_SIZES = "Sizes are plain numbers: p inputs, n latent units, m data points, sigma2 the variance of a weight at time 0."
_TIMES = "Times are those of gradient flow, with η = 1 unless given: losses move while t ~ 1/(largest rate)."
_EXAMPLE = "p=80,n=8000,m=120,sigma2=1/40000"

GUIDES: dict[str, Guide] = {
    "models": {
        "short_help": "List the shipped models, or print one as a file.",
        "epilog": "Example: ringprism models untied",
    },
    "derive": {
        "short_help": "Derive the exact series of a loss in time.",
        "epilog": f"Example: ringprism derive --loss population --order 2. {_FACES}",
    },
    "draw": {
        "short_help": "Draw the diagrams of a loss's time derivative.",
        "epilog": "Example: ringprism draw --model cp:3 --loss train --out diagrams.png",
    },
    "classify": {
        "short_help": "Name the regime of a scaling, or of actual sizes.",
        "epilog": "Examples: ringprism classify --p 1 --n 2 --m 1 --sigma2 -2; ringprism classify --sizes "
        f"{_EXAMPLE}. {_SIZES}",
    },
    "solve": {
        "short_help": "Find the equations that a face's loss satisfies.",
        "epilog": f"Example: ringprism solve --face 'R,N|m' --loss train. {_FACES}",
    },
    "limit": {
        "short_help": "Evaluate the limit of a face at sizes and times.",
        "epilog": f"Example: ringprism limit --face mean-field --sizes {_EXAMPLE} --times 0,20,80. {_FACES} "
        f"{_SIZES} {_TIMES}",
    },
    "atlas": {
        "short_help": "Write all faces of a model on one page.",
        "epilog": "Example: ringprism atlas --out atlas",
    },
    "simulate": {
        "short_help": "Simulate gradient flow: means and their errors.",
        "epilog": f"Example: ringprism simulate --sizes {_EXAMPLE} --times 0,20,80 --replicas 16 --seed 0. {_SIZES} "
        f"{_TIMES}",
    },
    "validate": {
        "short_help": "Judge theory and face against a simulation.",
        "epilog": f"Example: ringprism validate --face mean-field --sizes {_EXAMPLE} --times 20,80 --replicas 16. "
        f"{_FACES} {_SIZES} {_TIMES}",
    },
    "claims": {
        "short_help": "Run the ledger of claims, each with its rule.",
        "epilog": "Examples: ringprism claims --quick; ringprism claims UN-2 --report report",
    },
    "demo": {
        "short_help": "Go through all verbs once, in a minute.",
        "epilog": "Example: ringprism demo --out demo",
    },
}
"""By command."""

GROUPS: dict[str, tuple[str, dict[str, str]]] = {
    "store": (
        "Show, verify or export a results store.",
        {
            "show": "The runs in a store.",
            "verify": "Check the file and the checksum of every row.",
            "export": "Write every value to a table.",
        },
    ),
    "sgd": (
        "One-pass SGD in high dimension.",
        {
            "ode": "The ODE that the statistics follow as d grows.",
            "simulate": "Simulate one-pass SGD with step δ/d.",
            "universality": "Do several laws of the inputs share the ODE?",
            "fluctuations": "Fluctuations at a fixed point, or along a path.",
            "basins": "Where random starts end, and how often.",
        },
    ),
    "single-index": (
        "Single-index models with a spiked covariance.",
        {
            "loss": "Easy, hard or trapped: the population loss.",
            "flow": "The population gradient flow from a start.",
            "train": "Online SGD: how many runs find the target.",
            "complexity": "How the samples needed grow with d.",
            "compare": "Random, PCA and transferred starts compared.",
        },
    ),
}
"""By group: its line in the list of commands, and the lines of its own commands."""
