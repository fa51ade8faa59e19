"""No triangle goes through another in random drapings, see `drapings.py`. `SHINARI_DRAPINGS=100` tries as many."""

import os

import drapings
import pytest

COUNT = int(os.environ.get("SHINARI_DRAPINGS", "6"))


@pytest.mark.filterwarnings("ignore::shinari.ContactWarning")
@pytest.mark.parametrize("number", range(COUNT))
def test_nothing_goes_through(number):
    one = drapings.draping(number)
    assert one.run(50) == "", one.name
