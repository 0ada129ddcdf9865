"""What goes wrong where replicas run or are kept, and not in what they compute."""

from __future__ import annotations

from theory.errors import InputError


class PlaceError(InputError):
    """A store, a folder or a cluster that cannot be used; a claim that meets one has no verdict."""
