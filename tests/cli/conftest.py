"""A folder with a small scene, in which commands run."""

from pathlib import Path

import pytest

SCENE = """
[scene]
title = "small"
[simulation]
duration = 0.2
frames_per_second = 30
substeps = 3
threads = 1
[[cloth]]
name = "flag"
grid = { shape = [5, 5] }
pin = [0, 4]
[[rope]]
name = "rope"
from = [2, 0, 0]
to = [3, 0, 0]
count = 4
pin = [0]
[[collider]]
name = "ball"
shape = { type = "sphere", radius = 0.2 }
motion = { type = "oscillation", centre = [0, -0.3, 0], amplitude = [0.3, 0, 0], frequency = 1 }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scene.toml").write_text(SCENE)
    return tmp_path
