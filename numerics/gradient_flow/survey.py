"""Every face of the autoencoder seen twice: its limit, and a simulation at sizes where the face can be seen."""

from __future__ import annotations

from dataclasses import dataclass

from numerics.gradient_flow.atlas_sizes import SETTINGS, Setting
from numerics.gradient_flow.loss_replicas import Replicas, loss_replicas
from numerics.runs.machine import HERE, Machine
from regimes.atlas import ATLAS, AtlasEntry
from regimes.limit import LimitCurves, limit

_FINE, _COARSE = 41, 9


@dataclass(frozen=True)
class Survey:
    """A face seen twice: its limit on a fine grid, and simulation at ``times``, a coarse one."""

    setting: Setting
    limit: LimitCurves
    simulation: Replicas
    times: tuple[float, ...]

    @property
    def entry(self) -> AtlasEntry:
        """The face's entry in the atlas."""
        return ATLAS[self.setting.face]


def survey_faces(*, replicas: int, seed: int, machine: Machine = HERE) -> tuple[Survey, ...]:
    """Evaluate and simulate all 21 faces at sizes up to 1000; progress counts faces."""
    surveys = []
    for setting in SETTINGS.values():
        surveys.append(
            Survey(
                setting,
                limit(setting.face, setting.sizes, setting.times(_FINE)),
                loss_replicas(
                    "atlas", setting.sizes, setting.times(_COARSE), replicas=replicas, seed=seed, machine=machine
                ),
                setting.times(_COARSE),
            )
        )
        if machine.progress is not None:
            machine.progress(len(surveys), len(SETTINGS))
    return tuple(surveys)
