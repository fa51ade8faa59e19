"""Loads and stores of whole tuples become those of their elements, in the text that NVVM gets."""

from shinari.compute.cuda.tuples import split_tuples


def test_a_load_becomes_loads_of_elements() -> None:
    text = split_tuples('  %".1" = load [2 x float], [2 x float]* %"v"')
    assert text.splitlines() == [
        '  %".1.at0" = getelementptr inbounds [2 x float], [2 x float]* %"v", i32 0, i32 0',
        '  %".1.of0" = load float, float* %".1.at0"',
        '  %".1.to0" = insertvalue [2 x float] undef, float %".1.of0", 0',
        '  %".1.at1" = getelementptr inbounds [2 x float], [2 x float]* %"v", i32 0, i32 1',
        '  %".1.of1" = load float, float* %".1.at1"',
        '  %".1" = insertvalue [2 x float] %".1.to0", float %".1.of1", 1',
    ]


def test_a_store_of_a_nested_tuple_becomes_stores_of_elements() -> None:
    kind = "{i64, [2 x float], i8*}"
    lines = split_tuples(f'  store {kind} %".2", {kind}* %"w"').splitlines()
    assert len(lines) == 12
    assert [line.partition("= ")[2] for line in lines if "extractvalue" in line] == [
        f'extractvalue {kind} %".2", {path}' for path in ("0", "1, 0", "1, 1", "2")
    ]
    assert [line.split()[1] for line in lines if line.startswith("  store")] == ["i64", "float", "float", "i8*"]


def test_zeros_need_no_value() -> None:
    lines = split_tuples('  store [1 x double] zeroinitializer, [1 x double]* %"z"').splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("  store double zeroinitializer, double* ")


def test_what_is_no_tuple_stays() -> None:
    text = (
        '  %"a" = load float, float* %"b"\n  store <4 x float> %"c", <4 x float>* %"d", align 16\n'
        '  %"e" = load {}, {}* %"f"'
    )
    assert split_tuples(text) == text
