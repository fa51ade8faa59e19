import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys, numpy as np
from shinari.compute import Field, Program, Record, kernel, real, scratch

class Points(Record):
    x = Field(real, 3)
    table = Field(real, (2, 4))

class Mesh(Record, ragged=True):
    corners = Field(real, 3)
    faces = Field(np.int64)

def body(i, points: Points, mesh: Mesh, at: np.int64):
    EXPRESSION

for at in map(int, sys.argv[1:]):
    p = Program()
    mesh = Mesh(np.float32, corners=np.zeros((7, 3), np.float32), faces=np.zeros(3, np.int64))
    p.launch(kernel(body), Points.zeros(5), mesh, at, count=1)
    try:
        p.run()
    except IndexError as error:
        print(error)
    else:
        print("fine")
"""


@pytest.mark.parametrize(
    ("expression", "limit"),
    [
        ("points.x[at] = points.x[0]", 5),
        ("points.x[i] = points.x[at]", 5),
        ("points.x[0, at] = np.float32(1.0)", 3),
        ("mesh.corners[at] = points.x[0]", 7),
        ("mesh.faces[at] = len(mesh)", 3),
        ("points.table[1, 1, at] = np.float32(1.0)", 4),
        ("points.table[1, at] = points.table[0, 0]", 2),
        ("row = points.table[3]; row[at, 0] = np.float32(1.0)", 2),
        ("t = scratch((6, 2), points.x[0, 0]); t[at, 0] = np.float32(1.0); points.x[0, 0] = t[0, 0]", 6),
    ],
)
def test_an_index_outside_is_found(expression, limit, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.replace("EXPRESSION", expression.replace("; ", "\n    ")))
    env = os.environ | {"SHINARI_BOUNDS": "1"}
    places = 0, limit - 1, limit, -1
    arguments = [sys.executable, script, *map(str, places)]
    lines = subprocess.run(arguments, env=env, capture_output=True, text=True, check=True).stdout.splitlines()
    for at, line in zip(places, lines, strict=True):
        assert (line == "fine") == (0 <= at < limit), line
        assert line == "fine" or f"{at} of {limit}" in line
