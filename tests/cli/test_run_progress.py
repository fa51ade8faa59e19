"""How far a run is, for other programs and without a terminal."""

import json

from shinari.cli import main, running


def test_progress_is_told_to_other_programs(tmp_path, capsys):
    scene = tmp_path / "scene.toml"
    scene.write_text("[[particles]]\npositions = [[0, 0, 0]]\n", encoding="utf-8")
    code = main(["run", str(scene), "-o", str(tmp_path / "a.npz"), "--duration", "0.5", "--progress"])
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert code == 0
    assert lines[0] == {"step": 0, "steps": 30, "seconds_left": None}
    assert lines[-1] == {"step": 30, "steps": 30, "seconds_left": 0.0}
    assert [line["step"] for line in lines] == sorted(line["step"] for line in lines)


def test_a_long_run_tells_its_expected_time_once(capsys, monkeypatch):
    clock = iter([0.0, 1.0, 4.0, 5.0])
    monkeypatch.setattr(running.time, "perf_counter", lambda: next(clock))
    advance = running._expected(1010, 10)
    for frame in (12, 18, 20):
        advance(frame)
    assert capsys.readouterr().err == "shinari: 992 steps to go, about 8 min\n"
