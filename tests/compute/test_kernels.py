"""Kernels compiled and as plain Python agree; what they may not do is refused with their name."""

from types import ModuleType

import numpy as np
import pytest

from shinari.compute import Field, Program, Record, View, function, kernel, real, scratch, shared
from shinari.compute.backend import CompileError
from shinari.compute.kernels import FAST
from shinari.compute.program import run_once
from shinari.compute.specialise import specialised

PRECISIONS = pytest.mark.parametrize("precision", [np.float32, np.float64])
ZERO, HALF = np.float32(0.0), np.float32(0.5)


class Points(Record):
    x = Field(real, 3)
    weight = Field(real)
    corners = Field(real, (2, 3))
    links = Field(np.uint32, 2)
    fixed = Field(np.bool_)


def points(precision, count=7):
    rng = np.random.default_rng(1)
    made = Points.zeros(count, precision)
    made.x[...], made.weight[...] = rng.normal(size=(count, 3)), rng.random(count)
    made.links[...] = rng.integers(0, count, (count, 2))
    made.fixed[...] = rng.random(count) < 0.3
    return made


def run(kernel, *arguments, count):
    program = Program()
    program.launch(kernel, *arguments, count=count)
    program.run()


def compare(kernel, precision, *arguments, exact=False):
    """Run a kernel compiled and as plain Python; all fields agree to rounding."""
    compiled, plain = points(precision), points(precision)
    run(kernel, compiled, *arguments, count=len(compiled))
    for i in range(len(plain)):
        kernel(i, plain, *(precision(value) for value in arguments))
    for name in Points.fields:
        np.testing.assert_allclose(
            compiled.arrays[name], plain.arrays[name], rtol=0 if exact else 4 * np.finfo(precision).eps
        )
    return compiled


@function
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def move(i, points: Points, h: real):
    """Rows as tuples, scalars, an early return."""
    if points.fixed[i]:
        return
    x, w = points.x[i], points.weight[i]
    points.x[i] = x[0] + h * w, x[1] - h, HALF * x[2]
    points.corners[i, 1] = x
    points.corners[i, 0, 2] = w
    points.links[i, 0] = len(points) - i
    points.fixed[i] = dot(x, x) > ZERO


@kernel
def search(i, points: Points, h: real):
    """A return from inside a loop: the entry calls the body."""
    a, b = points.links[i]
    for k in range(3):
        if points.x[a, k] > points.x[b, k]:
            points.weight[i] = h * np.float32(k)
            return
    points.weight[i] = -h


@shared
def largest(table: View(real, 3), count: np.int64) -> (real, np.int64):
    """The longest row of a table."""
    most, at = dot(table[0], table[0]), 0
    for k in range(1, count):
        square = dot(table[k], table[k])
        if square > most:
            most, at = square, k
    return np.sqrt(most), at


@kernel
def gather(i, points: Points, h: real):
    """Scratch memory, a view of two indices, a shared function."""
    table = scratch((4, 3), h)
    corners = points.corners[i]
    for k in range(2):
        table[k] = points.x[points.links[i, k]]
        table[2 + k] = corners[k]
    size, at = largest(table, 4)
    points.weight[i] = h * size
    corners[0] = table[at]


@PRECISIONS
@pytest.mark.parametrize("body", [move, search, gather], ids=lambda body: body.name)
def test_compiled_and_plain_agree(body, precision):
    changed = compare(body, precision, 0.25)
    before = points(precision)
    assert any(not np.array_equal(changed.arrays[name], before.arrays[name]) for name in Points.fields)


@PRECISIONS
def test_a_kernel_made_by_a_function_keeps_its_constants(precision):
    def make(power, law):
        @kernel
        def apply(i, points: Points):
            points.weight[i] = law(points.weight[i]) * power

        return apply

    @function
    def square(w):
        return w * w

    @function
    def double(w):
        return w + w

    for power in (2, 3):
        for law, expected in ((square, np.square), (double, lambda w: w + w)):
            made = points(precision)
            before = made.weight.copy()
            run(make(power, law), made, count=len(made))
            np.testing.assert_allclose(made.weight, expected(before) * power, rtol=4 * np.finfo(precision).eps)


def test_constants_and_functions_of_other_modules_are_part_of_the_name():
    module = ModuleType("elsewhere")

    @function
    def double(w):
        return w + w

    def body(i, points: Points):
        points.weight[i] = module.change(points.weight[i]) * module.SCALE

    names = []
    for module.SCALE, module.change in ((HALF, double), (ZERO, double), (HALF, dot), (HALF, double)):
        names.append(kernel(body).native(np.float32).symbol)
    assert len(set(names)) == 3
    assert names[0] == names[3]
    made = points(np.float32)
    before = made.weight.copy()
    run(kernel(body), made, count=len(made))
    np.testing.assert_array_equal(made.weight, before)


def test_names_of_machine_code_tell_what_matters():
    def symbols(value, fastmath=FAST):
        def body(i, points: Points):
            points.weight[i] = value

        made = kernel(body, fastmath=fastmath)
        return {made.native(precision).symbol for precision in (np.float32, np.float64)}

    assert symbols(HALF) == symbols(HALF)
    assert len(symbols(HALF) | symbols(ZERO) | symbols(HALF, frozenset())) == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "move: got 0 arguments; expected points, h"),
        ((1.0, 2.0), "move: points: got float; expected Points"),
        ((points(np.float32), points(np.float32)), "move: h: got Points; expected a number"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(TypeError, match=message):
        Program().launch(move, *arguments, count=1)


def test_two_precisions_in_one_launch_are_refused():
    @kernel
    def copy(i, a: Points, b: Points):
        a.weight[i] = b.weight[i]

    with pytest.raises(TypeError, match="copy: got records of float32 and of float64"):
        Program().launch(copy, points(np.float32), points(np.float64), count=1)


@kernel
def reads_a_field_that_is_not_there(i, points: Points):
    points.weight[i] = points.mass[i]


@kernel
def writes_a_row_of_another_width(i, points: Points):
    points.x[i] = points.weight[i], points.weight[i]


@kernel
def allocates(i, points: Points):
    points.weight[i] = np.zeros(i + 1)[0]


@kernel
def creeps_into_double(i, points: Points):
    points.weight[i] = points.weight[i] * 0.1


@kernel
def raises(i, points: Points):
    if points.weight[i] > ZERO:
        raise ValueError


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (reads_a_field_that_is_not_there, "Points: mass: no such field; fields: x, weight"),
        (writes_a_row_of_another_width, r"View\(float32, \(3,\)\): got UniTuple\(float32 x 2\); expected"),
        (allocates, "allocates, raises or calls Python"),
        (creeps_into_double, "computes in float64"),
        (raises, "allocates, raises or calls Python"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_a_body_that_does_not_compile_is_refused_by_name(body, problem):
    program = Program()
    program.launch(body, points(np.float32), count=1)
    with pytest.raises(CompileError, match=f"^{body.name}: .*{problem}"):
        program.prepare()


def test_a_global_that_compiled_code_cannot_hold_is_refused():
    table = np.zeros(3)

    @kernel
    def reads(i, points: Points):
        points.weight[i] = table[0]

    program = Program()
    with pytest.raises(TypeError, match="reads: reads table, of type ndarray"):
        program.launch(reads, points(np.float32), count=1)


def test_a_field_may_have_the_name_of_a_function_of_its_module():
    class Test(Record):
        points = Field(np.int64)
        explain = Field(np.int64)

    @kernel
    def copy(i, test: Test):
        test.points[i] = test.explain[i]

    record = Test(points=np.zeros(3, np.int64), explain=np.arange(3))
    run_once(copy, record, count=3)
    assert record.points.tolist() == [0, 1, 2]


def explain():
    """A name of this module that is a field above."""


@function
def dot_of_halves(a, b):
    return HALF * dot(a, b)


def test_a_specialised_copy_keeps_what_its_kernel_is():
    """It took the subject for the order, so that a GPU ran kernels that go through rows itself."""

    @kernel(in_order=True, subject="law")
    def weigh(i, points: Points):
        points.weight[i] = dot(points.x[i], points.x[i])

    copy = specialised(weigh, {dot: dot_of_halves})
    assert (copy.in_order, copy.subject) == (True, "law")
    made = points(np.float64)
    run(copy, made, count=len(made))
    np.testing.assert_allclose(made.weight, 0.5 * (made.x**2).sum(axis=1), rtol=1e-15)
