"""The moving picture has one frame a size, and refuses what is no GIF."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from numerics.figures.settling import animate_settling
from numerics.gradient_flow.simulate import simulate
from regimes.limit import limit
from theory.autoencoder.sizes import Sizes
from theory.errors import InputError


def test_one_frame_a_size(tmp_path: Path) -> None:
    sizes = [Sizes(p, p, 20 * p, 1 / p) for p in (2, 4, 8)]
    curves = limit("large-data", sizes[-1], [0, 4, 8])
    runs = [simulate(each, [0, each.p], replicas=3, seed=0) for each in sizes]
    written = animate_settling(curves, runs, tmp_path / "settling.gif")
    with Image.open(written) as picture:
        assert picture.n_frames == 3
    with pytest.raises(InputError, match="gif"):
        animate_settling(curves, runs, tmp_path / "settling.mp3")
    with pytest.raises(InputError, match="runs"):
        animate_settling(curves, [], tmp_path / "settling.gif")
