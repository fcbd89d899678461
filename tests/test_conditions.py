"""Path conditions: guards that go together, cures that may have happened, choices that escape them."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from lora_lint.recipe.conditions import (
    ALWAYS,
    NEVER,
    Among,
    Condition,
    Literal,
    Subject,
    Truthy,
    both,
    compatible,
    describe,
    either,
    escape,
    negate,
    satisfiable,
    unit,
)

BITS = Subject("bits", declared=True, default=(4,))
FLAG = Subject("args.flag", declared=True, default=(False,))
OTHER = Subject("other", declared=True)
HIDDEN = Subject("a keyword in **")


def among(subject: Subject, *values: object) -> Condition:
    return unit(Literal(subject, Among(frozenset(values))))


def test_a_cure_under_the_same_guard_cures() -> None:
    flag = unit(Literal(FLAG, Truthy()))
    assert escape(flag, [flag]) is None


def test_a_cure_under_another_guard_may_have_happened() -> None:
    assert escape(unit(Literal(FLAG, Truthy())), [unit(Literal(OTHER, Truthy()))]) is None


def test_a_guard_that_covers_other_values_leaves_a_choice() -> None:
    case = escape(among(BITS, 4, 8), [among(BITS, 8)])
    assert case is not None
    assert case.by_default
    case = escape(among(BITS, 4, 8), [among(BITS, 4)])
    assert case is not None
    assert not case.by_default
    assert case.text == "bits == 8"


def test_two_cures_that_cover_all_values_leave_none() -> None:
    assert escape(among(BITS, 4, 8), [among(BITS, 8), among(BITS, 4)]) is None


def test_a_fault_that_needs_what_the_script_does_not_declare_is_not_certain() -> None:
    case = escape(unit(Literal(HIDDEN, Truthy())), [])
    assert case is not None
    assert not case.certain


def test_none_is_a_value_of_its_own() -> None:
    given_ = unit(Literal(OTHER, Among(frozenset((None,))), positive=False))
    assert not compatible(given_, among(OTHER, None))
    assert compatible(given_, unit(Literal(OTHER, Truthy())))


def test_words() -> None:
    assert describe(both(unit(Literal(FLAG, Truthy())), among(BITS, 4, 8))) == "args.flag and bits in (4, 8)"


literals = st.builds(
    Literal,
    st.sampled_from([BITS, FLAG, OTHER]),
    st.one_of(st.just(Truthy()), st.frozensets(st.sampled_from([None, 4, 8, True]), min_size=1).map(Among)),
    st.booleans(),
)
conditions = st.lists(st.frozensets(literals, min_size=1, max_size=3), max_size=4).map(tuple)
VALUES: list[object] = [None, 4, 8, True, False, 17, "", "x"]


def holds(condition: Condition, values: dict[Subject, object]) -> bool:
    return all(any(x.holds(values[x.subject]) for x in clause) for clause in condition)


def worlds() -> list[dict[Subject, object]]:
    return [dict(zip((BITS, FLAG, OTHER), v, strict=True)) for v in itertools.product(VALUES, repeat=3)]


@given(conditions)
def test_satisfiable_agrees_with_trying_all_values(condition: Condition) -> None:
    assert satisfiable(condition) == any(holds(condition, w) for w in worlds())


@given(conditions, conditions)
def test_connectives_agree_with_trying_all_values(a: Condition, b: Condition) -> None:
    joined, choice, inverse = both(a, b), either(a, b), negate(a)
    for w in worlds()[::7]:
        assert holds(joined, w) == (holds(a, w) and holds(b, w))
        assert choice is None or holds(choice, w) == (holds(a, w) or holds(b, w))
        assert inverse is None or holds(inverse, w) != holds(a, w)


@given(conditions, st.lists(conditions, max_size=3))
def test_escape_promises_a_world_without_cures(happens: Condition, cures: list[Condition]) -> None:
    if escape(happens, cures) is not None:
        assert any(holds(happens, w) and not any(holds(c, w) for c in cures) for w in worlds())


def test_the_ends() -> None:
    assert satisfiable(ALWAYS)
    assert not satisfiable(NEVER)
    assert escape(NEVER, []) is None
