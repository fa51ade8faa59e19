"""Rows of the ledger with their simulations on a device: one for each system with the host's kernels, one simulated."""

import json

import pytest
from devices import on_device
from host_device import HostDevice

import shinari as sn
from shinari.cli import main
from shinari.cli import verify as command
from shinari.compute.cuda import api
from shinari.errors import UnsupportedDeviceError
from shinari.model.settings import default_device
from shinari.systems.fluid.system import Fluid
from shinari.verify.ledger import Measurement, Skipped, select_checks

ROWS = (
    "bending stiffness of a sheet", "air drags by the area shown", "stiffness of a lump", "end moment",
    "a lattice has its rest density", "grains keep their momentum", "a ball slides, then rolls",
    "two bodies meet head on",
)  # fmt: skip
"""Short checks: rows, air, shape matching, rods, fluids, grains, bodies by themselves and in contact."""


def measured(name: str) -> list[Measurement | Skipped]:
    entry, precision = select_checks((name,))[-1]  # in single precision where it can be
    return list(entry.measure_on("cuda", precision))


def assert_passed(found: list[Measurement | Skipped]) -> None:
    assert found
    for m in found:
        assert isinstance(m, Measurement), m
        assert m.passed, m


@pytest.mark.parametrize("name", ROWS)
def test_rows_pass_with_kernels_of_the_host(name, monkeypatch) -> None:
    monkeypatch.setattr(api, "device", HostDevice)
    assert_passed(measured(name))


@on_device
def test_a_row_passes_in_the_simulator() -> None:
    assert_passed(measured("angular momentum of a dumbbell"))


def test_checks_without_a_simulation_are_skipped(monkeypatch) -> None:
    monkeypatch.setattr(api, "device", HostDevice)
    (found,) = measured("kernel sums on a lattice")
    assert isinstance(found, Skipped)
    assert found.reason == "it builds no simulation"


def test_what_is_refused_is_skipped_with_its_reason(monkeypatch, capsys) -> None:
    monkeypatch.setattr(api, "device", HostDevice)
    monkeypatch.setattr(Fluid, "on_device", False)
    name = "a lattice has its rest density"
    assert main(["verify", name, "--device", "cuda", "--precision", "float32", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["measurements"] == []
    (skipped,) = told["skipped"]
    assert (skipped["name"], skipped["precision"]) == (name, "float32")
    assert "device: Fluid: does not run on a GPU yet" in skipped["reason"]
    assert main(["verify", name, "--device", "cuda", "--precision", "float32"]) == 0
    text = capsys.readouterr().out
    assert "skipped: simulation: device: Fluid: does not run on a GPU yet" in text
    assert f"0 checks, 0 measurements, 0 failed. 1 skipped: {name}." in text


def test_without_a_device_one_line_says_what_is_missing(monkeypatch, capsys) -> None:
    def missing(name):
        raise sn.DeviceError("device: 'cuda': the driver finds no NVIDIA GPU")

    monkeypatch.setattr(command, "for_device", missing)
    assert main(["verify", "free fall", "--device", "cuda"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "shinari: device: 'cuda': the driver finds no NVIDIA GPU\n"


def test_a_default_device_is_for_simulations_that_name_none(monkeypatch) -> None:
    monkeypatch.setattr(api, "device", HostDevice)
    scene = sn.Scene()
    scene.add_particles([(0, 0, 0)])
    with default_device("cuda") as chosen:
        assert sn.Simulation(scene).settings.device == "cuda"
        assert sn.Simulation(scene, device="cpu").settings.device == "cpu"
        assert chosen.uses == 1
    assert sn.Simulation(scene).settings.device == "cpu"
    with pytest.raises(sn.SceneError, match="device"), default_device("tpu"):
        pass


def test_a_refusal_is_an_error_of_the_scene() -> None:
    assert issubclass(UnsupportedDeviceError, sn.SceneError)
