"""A step is one program: no Python between its substeps; lists that grow in a step change no bit."""

import sys
import warnings

import numpy as np
import pytest
from late_contact_scenes import SCENES

import shinari as sn
from shinari.compute import Program

STEPS = 6


def built(name: str) -> sn.Simulation:
    scene, settings = SCENES[name]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return sn.Simulation(scene, threads=1, **settings)


@pytest.mark.parametrize("name", SCENES)
def test_no_python_runs_between_substeps(name, monkeypatch):
    """Where lists have room the whole step is one call of compiled code; where not, Python makes room and goes on."""
    simulation = built(name)
    calls, entered = [], []
    run = Program._replay

    def counted(self, *arguments):
        entered.append(self)
        before = sys.getprofile()
        sys.setprofile(lambda frame, event, _: calls.append(frame.f_code) if event == "call" else None)
        try:
            return run(self, *arguments)
        finally:
            sys.setprofile(before)

    monkeypatch.setattr(Program, "_replay", counted)
    for _ in range(STEPS):
        entered.clear()
        program = simulation._bound._program
        grown = 0 if program is None else program.grown
        simulation.step()
        whole = [p for p in entered if p is simulation._bound._program]
        assert len(whole) == 1 + simulation._bound._program.grown - (grown if program is whole[0] else 0)
    assert {code.co_name for code in calls if "shinari" in code.co_filename} <= {"_replay"}


@pytest.mark.parametrize("name", SCENES)
def test_lists_that_grow_in_a_step_give_the_same_bits(name, monkeypatch):
    """Lists are made to outgrow their room again and again."""
    plain = built(name)
    plain.step(STEPS)
    monkeypatch.setattr("shinari.compute.program.SPARE", 0.0)
    tight = built(name)
    tight.step(STEPS)
    for key, values in plain.state.arrays().items():
        np.testing.assert_array_equal(values, tight.state.arrays()[key], err_msg=key)
