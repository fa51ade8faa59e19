"""The server of the viewer, by its protocol and without a browser."""

import asyncio
import http.client
import re
import signal
import subprocess
import sys
import threading
from contextlib import closing

import numpy as np
import pytest

import shinari as sn
from browser_help import until
from shinari.errors import FileError, MissingExtraError, SceneError
from shinari.io.run_reader import open_cache

viser = pytest.importorskip("viser", reason="viser is not installed")

from shinari.view import sources as sources_module  # noqa: E402
from shinari.view import stage as stage_module  # noqa: E402
from shinari.view.server import page_address, serve, start_server  # noqa: E402
from shinari.view.sources import demo_sources, offered, simulation_source  # noqa: E402

PATIENCE = 60.0


def scene(width: int) -> sn.Scene:
    made = sn.Scene()
    cloth = made.add_cloth(sn.grid(shape=(width, width)), position=(0.0, 1.0, 0.0), name=f"cloth {width}")
    cloth.pin([0, width - 1])
    return made


def connect(page) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", page.server.get_port(), timeout=PATIENCE)


def fail() -> tuple:
    raise SceneError("cloth: material: is none")


@pytest.fixture(scope="module")
def page():
    table = {
        "small": simulation_source(lambda: (scene(6), {"substeps": 4, "threads": 1}), "small", playing=False),
        "large": simulation_source(lambda: (scene(60), {"substeps": 4, "threads": 1}), "large", playing=False),
        "buggy": lambda: 1 / 0,
        "broken": simulation_source(fail, "broken", playing=False),
    }
    made = serve(table, "small", port=0)
    yield made
    made.close()
    assert not made._thread.is_alive()


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../../../etc/passwd",
        "/..%2f..%2f..%2f..%2fetc/passwd",
        "/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/..\\..\\..\\etc\\passwd",
        "/%252e%252e/%252e%252e/etc/passwd",
        "//etc/passwd",
        "/assets/../../../_viser.py",
        "/etc/passwd%00.html",
    ],
)
def test_no_path_of_a_client_reaches_a_file(page, path):
    with closing(connect(page)) as connection:
        connection.putrequest("GET", path, skip_host=True)
        connection.putheader("Host", f"127.0.0.1:{page.server.get_port()}")
        connection.endheaders()
        try:
            answer = connection.getresponse()
            status, body = answer.status, answer.read()
        except http.client.HTTPException:
            return  # refused without an answer
    assert status in (400, 404, 500)
    assert b"root:" not in body
    assert b"import " not in body


def test_the_page_itself_is_served(page):
    with closing(connect(page)) as connection:
        connection.request("GET", "/")
        assert b"<!doctype html>" in connection.getresponse().read().lower()[:200]


def test_nobody_gets_an_address_on_the_internet(page):
    assert page.server.request_share_url() is None


def test_it_listens_on_this_machine_only(page):
    assert page.server.get_host() == "127.0.0.1"
    assert page_address(page) == f"http://127.0.0.1:{page.server.get_port()}"


def test_a_port_that_is_taken_is_left_to_the_other(page):
    taken = page.server.get_port()
    second = start_server("127.0.0.1", taken)
    assert second.get_port() != taken
    second.stop()


@pytest.mark.parametrize(("host", "port"), [("nowhere.invalid", 0), ("127.0.0.1", -1), ("127.0.0.1", 65536)])
def test_a_host_or_port_that_is_none_is_refused(host, port):
    with pytest.raises(SceneError, match=r"view: (host|port)"):
        start_server(host, port)


def test_scenes_are_switched_and_panels_are_told(page):
    changes, frames = [], []
    page.on_change(lambda: changes.append(page.chosen))
    page.on_frame(frames.append)
    page.choose("large").result(PATIENCE)
    assert (page.chosen, page.layout.point_count) == ("large", 3600)
    assert page.simulation_scene.particle_count == 3600
    assert changes == ["large"]
    page.runner.step()
    until(lambda: frames and len(frames[-1].positions) == 3600, "a frame of the large one")
    page.runner.reset().result(PATIENCE)
    until(lambda: changes == ["large", "large"], "the reset is told")
    with pytest.raises(SceneError, match=r"'\.\./\.\./etc/passwd' is not on offer"):
        page.choose("../../etc/passwd").result(PATIENCE)
    with pytest.raises(SceneError, match="is none"):
        page.choose("broken").result(PATIENCE)
    assert page.problem == "broken: cloth: material: is none"
    assert page.chosen == "large"
    page.choose("small").result(PATIENCE)
    assert page.problem == ""
    assert [node.part for node in page.stage.nodes] == [0]


def test_an_error_that_nobody_expected_leaves_the_page_alive(page):
    with pytest.raises(ZeroDivisionError):
        page.choose("buggy").result(PATIENCE)
    assert page.problem == "buggy: ZeroDivisionError('division by zero')"
    page.choose("small").result(PATIENCE)


def test_what_cannot_be_drawn_leaves_what_was_shown(page, monkeypatch):
    def draw(*given, **options):
        if given[2].name == "cloth 60":
            raise MissingExtraError("no surface")
        return sheet(*given, **options)

    sheet = stage_module.Sheet
    monkeypatch.setattr(stage_module, "Sheet", draw)
    page.choose("small").result(PATIENCE)
    with pytest.raises(MissingExtraError):
        page.choose("large").result(PATIENCE)
    assert (page.chosen, page.problem, page.layout.point_count) == ("small", "large: no surface", 36)
    seen = page.runner.wait(0, PATIENCE)[0]
    page.runner.step().result(PATIENCE)
    assert page.runner.wait(seen, PATIENCE)[0] > seen
    monkeypatch.undo()
    page.choose("large").result(PATIENCE)
    assert page.layout.point_count == 3600


def test_a_panel_that_fails_stops_nothing(page):
    def broken(frame) -> None:
        raise KeyError("plot")

    frames = []
    page.on_frame(broken)
    page.on_frame(frames.append)
    page.runner.step().result(PATIENCE)
    until(lambda: len(frames) > 0, "a frame after the failure")
    assert page.problem == "KeyError: 'plot'"
    page._frame_callbacks.remove(broken)


def test_a_client_that_does_not_read_holds_nothing_up(page):
    """What waits for it does not grow: newer values take the place of older ones."""
    websockets = pytest.importorskip("websockets")
    page.choose("large").result(PATIENCE)
    stop = threading.Event()
    buffer = page.server._websock_server._broadcast_buffer

    async def sleeper() -> None:
        protocol = websockets.Subprotocol(f"viser-v{viser.__version__}")
        address = page_address(page).replace("http", "ws")
        async with websockets.connect(address, subprotocols=[protocol], max_size=None, max_queue=1) as socket:
            await socket.recv()
            while not stop.is_set():
                await asyncio.sleep(0.01)
            socket.transport.abort()

    thread = threading.Thread(target=lambda: asyncio.run(sleeper()))
    thread.start()
    until(lambda: page.server._websock_server._client_state_from_id, "the client is there")
    counts = []
    frames = []
    page.on_frame(frames.append)
    page.runner.play()
    try:
        for _ in range(3):
            seen = len(frames)
            until(lambda seen=seen: len(frames) > seen + 8, "eight frames")
            counts.append(len(buffer.message_from_id))
    finally:
        stop.set()
        thread.join(PATIENCE)
    page.runner.pause().result(PATIENCE)
    page._frame_callbacks.remove(frames.append)
    assert max(counts) <= counts[0] + 5
    assert np.ptp(counts) < 15
    until(lambda: not page.server._websock_server._client_state_from_id, "it is gone")
    page.choose("small").result(PATIENCE)


def test_what_is_not_there_is_refused(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        offered(str(tmp_path / "none.toml"), None, playing=False)
    with pytest.raises(FileError, match=r"shinari view demo kerchief$"):
        offered("kerchif", None, playing=False)
    with pytest.raises(SceneError, match=r"'waterfall' is unknown; known are \w.* and \d+ more"):
        offered("demo", "waterfall", playing=False)
    with pytest.raises(SceneError, match="'domino' is unknown; did you mean 'dominoes'; known are dominoes, "):
        offered("demo", "domino", playing=False)
    (tmp_path / "a.toml").write_text("")
    with pytest.raises(SceneError, match="a name follows only after 'demo'"):
        offered(str(tmp_path / "a.toml"), "flag", playing=False)
    table, chosen = offered("demo", None, playing=False)
    assert chosen == "kerchief"
    assert set(demo_sources()) <= set(table)


def test_nothing_is_printed_of_a_server_that_was_not_needed(tmp_path, capsys):
    path = tmp_path / "a.toml"
    path.write_text("cloths = 1")
    with pytest.raises(SceneError, match="cloths"):
        serve(*offered(str(path), None, playing=False), port=0)
    assert capsys.readouterr().out == ""


def test_an_example_gives_what_is_shown_of_it(tmp_path, monkeypatch):
    folder = tmp_path / "42_falling_sheet"
    folder.mkdir()
    (folder / "falling_sheet.py").write_text(
        '"""A sheet that falls.\n"""\n\nimport shinari as sn\n\nRAN = []\n\n\n'
        "def shown():\n"
        "    scene = sn.Scene()\n"
        "    scene.add_cloth(sn.grid(shape=(6, 6)), name='sheet')\n"
        "    return sn.Simulation(scene, substeps=4), lambda sim: RAN.append(sim.time)\n"
    )
    (tmp_path / "43_plot").mkdir()
    (tmp_path / "43_plot" / "plot.py").write_text("raise RuntimeError\n")
    monkeypatch.setattr(sources_module, "EXAMPLES", tmp_path)
    table = sources_module.example_sources(False)
    assert list(table) == ["42_falling_sheet"]
    loaded = table["42_falling_sheet"]()
    assert loaded.player.title == "A sheet that falls"
    assert [part.name for part in loaded.player.layout.parts] == ["sheet"]
    loaded.player.step().result(PATIENCE)
    loaded.player.step().result(PATIENCE)
    loaded.player.close()
    import sys

    assert [0.0, pytest.approx(1 / 60)] == sys.modules["shinari_example_falling_sheet"].RAN


def test_a_notebook_shows_the_page_in_a_frame(tmp_path):
    made = scene(6)
    simulation = sn.Simulation(made, substeps=4)
    path = tmp_path / "run.npz"
    simulation.run(0.1, record=path, progress=False)
    for what in (made, simulation, str(path), open_cache(path)):
        shown = sn.show(what, playing=False, height=321)
        try:
            frame = shown._repr_html_()
            assert frame.startswith(f'<iframe src="http://127.0.0.1:{shown.page.server.get_port()}"')
            assert 'height="321"' in frame
            with closing(connect(shown.page)) as connection:
                connection.request("GET", "/")
                assert connection.getresponse().status == 200
            assert shown.page.layout.parts[0].name == "cloth 6"
        finally:
            shown.close()
    for wrong in (None, 3, [simulation]):
        with pytest.raises(SceneError, match="expected a Simulation"):
            sn.show(wrong)
    with pytest.raises(FileError, match="no such file"):
        sn.show(tmp_path / "none.toml")


@pytest.mark.skipif(sys.platform == "win32", reason="there Ctrl-C cannot be sent to one process")
def test_the_command_serves_until_ctrl_c(tmp_path):
    path = tmp_path / "sheet.toml"
    path.write_text('[[cloth]]\nname = "sheet"\ngrid = { shape = [4, 4] }\n')
    words = [sys.executable, "-m", "shinari.cli", "view", str(path), "--paused", "--no-open", "--port", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        address = re.search(r"127\.0\.0\.1:(\d+)", line)
        assert address, line + process.stderr.read()
        with closing(http.client.HTTPConnection("127.0.0.1", int(address[1]), timeout=PATIENCE)) as connection:
            connection.request("GET", "/")
            assert connection.getresponse().status == 200
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        assert "Traceback" not in err
    finally:
        process.kill()


@pytest.mark.skipif(sys.platform == "win32", reason="there Ctrl-C cannot be sent to one process")
def test_the_command_tells_other_machines_the_address_with_the_token(tmp_path):
    path = tmp_path / "sheet.toml"
    path.write_text('[[cloth]]\nname = "sheet"\ngrid = { shape = [4, 4] }\n')
    words = [sys.executable, "-m", "shinari.cli", "view", str(path), "--paused", "--no-open", "--port", "0",
             "--host", "0.0.0.0", "--token", "of-my-own", "--allow-origin", "https://hub.example",
             "--allow-origin", "http://localhost:9000"]  # fmt: skip
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        address = re.search(r"at http://127\.0\.0\.1:(\d+)/of-my-own/ ", line)
        assert address, line + process.stderr.read()
        token = "/of-my-own/"
        asked = [("/", f"127.0.0.1:{address[1]}", 403), (token, "evil.example", 403),
                 (token, "hub.example", 200), (token, "localhost:9000", 200)]  # fmt: skip
        for path, host, status in asked:
            with closing(http.client.HTTPConnection("127.0.0.1", int(address[1]), timeout=PATIENCE)) as connection:
                connection.request("GET", path, headers={"Host": host})
                assert connection.getresponse().status == status
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
        first, *refused = [line for line in err.splitlines() if "refused" in line or "other machines" in line]
        assert first.endswith(f":{address[1]}/of-my-own/: who has this address can use the page")
        reasons = ("the token is missing or wrong", "Host 'evil.example' is not a name of this server")
        assert len(refused) == 2
        assert all(reason in line for reason, line in zip(reasons, refused, strict=True))
    finally:
        process.kill()
