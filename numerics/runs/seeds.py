"""Random streams: replica k of a run has its own, whatever the number of workers or their order."""

from __future__ import annotations

import numpy as np

from theory.errors import InputError


def replica_seed(seed: int, replica: int) -> np.random.SeedSequence:
    """The seed sequence of one replica: ``SeedSequence(seed).spawn(k + 1)[k]``, without spawning the others.

    >>> replica_seed(7, 2).generate_state(1) == np.random.SeedSequence(7).spawn(3)[2].generate_state(1)
    array([ True])
    """
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise InputError("seed", given=seed, expected="a whole number from 0 to 2^63 − 1", remedy="use for example 0")
    return np.random.SeedSequence(entropy=seed, spawn_key=(replica,))


def child(seed: np.random.SeedSequence, index: int) -> np.random.SeedSequence:
    """One of several independent streams of a replica, without spawning the others.

    >>> child(np.random.SeedSequence(7), 1).spawn_key
    (1,)
    """
    return np.random.SeedSequence(entropy=seed.entropy, spawn_key=(*seed.spawn_key, index))
