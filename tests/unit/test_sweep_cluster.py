"""Sweeps on Dask: real clusters, workers that are killed, schedulers that are not there."""

import logging
import os
import signal
import socket
import threading
import time
from pathlib import Path

import pytest
import sweep_cases as cases

import shinari as sn
from shinari.sweeps import cluster, journal, member, worker
from shinari.sweeps.table import TIMES

distributed = pytest.importorskip("distributed")
pytest.importorskip("pyarrow")


CLUSTER = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": logging.CRITICAL}


@pytest.fixture
def dask():
    """A cluster of two processes, and a client of it."""
    with distributed.LocalCluster(n_workers=2, **CLUSTER) as found, distributed.Client(found) as client:
        yield client


def throw(folder: Path, on, speeds="lin:0:3:4", base=cases.falling, **options) -> sn.Study:
    options = {"duration": 0.1, "progress": False} | options
    return sn.sweep(base, {"speed": speeds}, [cases.height, cases.Highest], folder, on=on, **options)


def without_times(study: sn.Study) -> list[dict]:
    return study.table().drop_columns(list(TIMES)).to_pylist()


def test_a_cluster_gives_the_same_table(tmp_path, dask):
    """By its address, by a client, embedded, and without Dask."""
    tables = [
        without_times(throw(tmp_path / str(number), on))
        for number, on in enumerate([dask.cluster.scheduler_address, dask, "local", "processes"])
    ]
    assert all(row["status"] == "ok" for row in tables[0])
    assert tables[0] == tables[1] == tables[2] == tables[3]


def test_a_worker_that_is_killed_loses_nothing(tmp_path, dask):
    """A real SIGKILL of a process of a real cluster, in the middle of its members."""
    folder, killed = tmp_path / "a", []

    def kill() -> None:
        while len(list(journal.rows_of(folder))) < 4:
            time.sleep(0.02)
        killed.append(next(iter(dask.run(os.getpid).values())))
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    disturbed = throw(folder, dask, "lin:0:9:20", base=cases.slow)
    thread.join()
    assert killed
    assert killed[0] not in dask.run(os.getpid).values(), "another one has taken its place"
    assert disturbed.counts()["ok"] == 20
    assert len(list(journal.rows_of(folder))) == 20
    undisturbed = throw(tmp_path / "b", dask, "lin:0:9:20", base=cases.slow)
    assert without_times(disturbed) == without_times(undisturbed)


def test_a_scheduler_that_is_lost_leaves_what_is_done(tmp_path):
    options = {"n_workers": 1, "processes": False, **CLUSTER}
    with distributed.LocalCluster(**options) as found, distributed.Client(found) as client:

        def close() -> None:
            while len(list(journal.rows_of(tmp_path))) < 2:
                time.sleep(0.02)
            client.close()

        thread = threading.Thread(target=close)
        thread.start()
        with pytest.raises(sn.SweepError, match=r"lost.*what is done is kept, the same command goes on"):
            throw(tmp_path, client, "lin:0:9:10", base=cases.slow)
        thread.join()
    assert 2 <= sn.Study(tmp_path).counts()["ok"] < 10
    assert throw(tmp_path, "processes", "lin:0:9:10", base=cases.slow).counts()["ok"] == 10


def test_a_scheduler_that_does_not_answer(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "PATIENCE", 1.0)
    with socket.socket() as listening:  # it takes connections, and says nothing
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        with pytest.raises(sn.SweepError, match=f"no scheduler of Dask answers at tcp://127.0.0.1:{port} within 1 s"):
            throw(tmp_path, f"tcp://127.0.0.1:{port}")
    with pytest.raises(sn.SweepError, match=r"no scheduler of Dask answers at tcp://127.0.0.1:1 within 1 s"):
        throw(tmp_path, "tcp://127.0.0.1:1")
    assert list(journal.rows_of(tmp_path)) == []


@pytest.mark.parametrize("address", ["tcp://", "tcp://host", "http://host:80", "host:8786", "tcp://host:port"])
def test_addresses_that_are_none(tmp_path, address):
    with pytest.raises(sn.SceneError, match=r"on: expected local, processes, tcp://HOST:PORT, .* got "):
        throw(tmp_path, address)


def another_version() -> None:
    import shinari.version

    shinari.version.__version__ = "0.0.1"


def test_workers_of_another_version_are_refused(tmp_path, dask):
    dask.run(another_version)
    with pytest.raises(sn.SweepError, match=r"worker tcp://.*: has shinari 0.0.1, .*; here are .*: install the same"):
        throw(tmp_path, dask)
    assert list(journal.rows_of(tmp_path)) == []


def test_a_worker_that_joins_later_with_another_version_runs_nothing(monkeypatch):
    task = {"member": "a", "versions": member.versions()}
    monkeypatch.setattr("shinari.version.__version__", "0.0.1")
    row = worker.run_member(task)
    assert row["status"] == "version"
    assert "shinari 0.0.1" in row["message"]


def test_frames_need_the_folder_of_the_study(tmp_path):
    frames = str(tmp_path / "frames" / "a.npz")
    row = worker.run_member(
        {"member": "a", "versions": member.versions(), "frames": frames, "limits": {}, "sweep": "s"}
    )
    assert row["status"] == "failed"
    assert "the folder of the study is not on this machine" in row["message"]
