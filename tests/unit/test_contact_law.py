"""The law of contact, in which every detector ends: response, recovery, friction and restitution in closed form."""

import math

import numpy as np
import pytest

from shinari.collision import law

precisions = pytest.mark.parametrize("real", [np.float32, np.float64])
N = (0.0, 0.6, 0.8)


@precisions
@pytest.mark.parametrize("mobility", [0.5, 3.0])
def test_a_row_without_compliance_closes_what_is_fresh(real, mobility):
    depth, mobility, zero = real(0.25), real(mobility), real(0.0)
    assert law.normal_response(depth, depth, zero, zero, mobility, zero) * mobility == pytest.approx(0.25, rel=1e-6)
    assert law.normal_response(depth, -depth, real(1.0), zero, mobility, zero) == 0.0
    assert law.normal_response(depth, real(-9.0), real(1.0), zero, mobility, real(-1.0)) == -1.0


@precisions
@pytest.mark.parametrize("softness", [0.1, 4.0])
def test_iterations_of_a_compliant_row_lead_to_its_equilibrium(real, softness):
    """Each correction moves the point by w dL; at the end the depth that is left is the softness times L."""
    depth, push, mobility = real(0.25), real(0.0), real(2.0)
    for _ in range(3):
        change = law.normal_response(depth, depth, push, real(softness), mobility, real(0.0))
        depth, push = depth - mobility * change, push + change
    assert push == pytest.approx(0.25 / (2.0 + softness), rel=1e-5)
    assert depth == pytest.approx(softness * push, rel=1e-5)
    assert law.normal_response(real(-9.0), real(-9.0), push, real(softness), mobility, real(0.0)) == -push


def test_recovery_is_bounded_and_never_pulls():
    assert [law.recovery(overlap, 0.1) for overlap in (-1.0, 0.05, 1.0)] == [0.0, 0.05, pytest.approx(0.1)]


@precisions
def test_friction_is_coulombs(real):
    """All of the slip within the cone of sticking, beyond it the coefficient of sliding; nothing where a row pulls."""
    for size, share in ((0.0, 1.0), (0.39, 1.0), (0.8, 0.3 / 0.8), (50.0, 0.3 / 50.0)):
        wanted = tuple(map(real, law.tangential((size, 0.0, 0.0), N)))
        held = law.friction(wanted, real(1.0), (real(0.3), real(0.4), real(0.0), real(0.0)))
        np.testing.assert_allclose(held, [share * size, 0.0, 0.0], rtol=1e-6)
    assert law.friction_share(real(1.0), real(-0.3), real(-0.4)) == 0.0


def test_regularised_friction_is_coulombs_too():
    """A point of bodies has the same cone, at the limit that is held while states are found."""
    k, gap, slip = 1e6, -1e-3, 1e-3
    for limit, status in ((2.0, law.STICKING), (0.5, law.SLIDING)):
        state, normal, hold, size = law.regularised_force(gap, (slip, 0, 0), N, law.GRIP * k, k, (0.0, 0.0, 0.0), limit)
        wish = law.GRIP * k * slip
        assert (state, normal) == (status, pytest.approx(-k * gap))
        assert size == (0.0 if status == law.STICKING else pytest.approx(wish))
        np.testing.assert_allclose(hold, [-min(limit, wish), 0, 0], rtol=1e-6)
    assert law.regularised_force(1e-3, (slip, 0, 0), N, law.GRIP * k, k, (0.0, 0.0, 0.0), 2.0)[0] == law.APART


@pytest.mark.parametrize("e", [0.0, 0.3, 1.0])
def test_impacts_separate_at_e_times_the_approach(e):
    slow = law.slow_approach(np.array([0.0, -9.81, 0.0]), 1e-3)
    assert slow == pytest.approx(2 * 9.81e-3)
    assert law.separation_speed(e, -3.0, slow) == pytest.approx(3.0 * e)
    assert law.separation_speed(e, -0.5 * slow, slow) == law.rebound(e, -0.5 * slow, -1.0, slow) == 0.0
    assert law.rebound(e, -3.0, 0.0, slow) == pytest.approx(3.0 * e)
    assert law.rebound(e, -3.0, 5.0, slow) == 0.0
    assert law.bounce_distance(e, -3.0, 0.01, 0.01) == pytest.approx(0.02 * e)


@pytest.mark.parametrize("gap", [0.0, 0.02, 0.045])
def test_a_fall_within_a_substep_bounces_back_to_its_energy(gap):
    """A perfect bounce gives the discrete energy (v - g h / 2)^2 / 2 + g y back, wherever in the substep it falls."""
    g, h, speed, up = 9.81, 0.01, -5.0, (0.0, 1.0, 0.0)
    law_ = (0.0, 0.0, 1.0, 0.0)
    change = law.recoil(up, gap, (0, speed, 0), (0, 0.0, 0), law_, (0, -g, 0), law.slow_approach(g, h), h)
    before = 0.5 * (speed - 0.5 * g * h) ** 2 + g * gap
    assert 0.5 * (change[1] - 0.5 * g * h) ** 2 == pytest.approx(before, rel=1e-6)


@pytest.mark.parametrize(
    ("first", "second", "both"), [(0.4, 0.9, 0.6), (-1.0, 0.7, 0.7), (0.7, -1.0, 0.7), (-1, -1, 0)]
)
def test_two_surfaces(first, second, both):
    assert law.combined(first, second) == pytest.approx(both)
    mine, theirs = (first, first, 0.2, 1e-3), (second, second, 0.5, 2e-3)
    assert law.combined_surface(mine, theirs) == pytest.approx((both, both, 0.5, 3e-3))
    assert math.isfinite(law.regularised_stiffness(1e6, 3e-3))
