"""Path conditions: under what an event happens, as formulas over what the source cannot decide.

A *subject* is a value that only a run can know (``args.qlora``, an environment variable, a function's unknown parameter). A *literal* tests one
subject; a *clause* is a disjunction of literals; a *condition* is a conjunction of clauses. Two guards that test the same value in two places
use the same subject, so ``if args.qlora:`` around the load and around the preparation are known to go together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

MAX_ASSIGNMENTS = 4096


@dataclass(frozen=True, eq=False)
class Subject:
    """A value known only at run time.

    ``declared`` is true where the script itself spells the value out as a setting (an argparse option, a dataclass field, a function's
    parameter, an environment read), so that a fault which depends on it may be reported "when … is set". ``default`` holds what it is unless
    the user says otherwise (in a 1-tuple, since ``None`` is a default too).
    """

    text: str
    declared: bool = False
    default: tuple[object, ...] = ()

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Truthy:
    """The subject is true in the sense of ``bool``."""


@dataclass(frozen=True)
class Among:
    """The subject equals one of the values (``None`` for ``is None``)."""

    values: frozenset[object]


Test = Truthy | Among


class _Other:
    """Some value that the source does not name."""

    def __init__(self, truth: bool) -> None:
        self.truth = truth

    def __bool__(self) -> bool:
        return self.truth


OTHER_TRUE, OTHER_FALSE = _Other(True), _Other(False)


@dataclass(frozen=True)
class Literal:
    """One test of one subject, or its opposite."""

    subject: Subject
    test: Test
    positive: bool = True

    def __invert__(self) -> Literal:
        return Literal(self.subject, self.test, not self.positive)

    def holds(self, value: object) -> bool:
        """Whether the literal is true when the subject has this value."""
        hit = bool(value) if isinstance(self.test, Truthy) else any(_same(value, v) for v in self.test.values)
        return hit is self.positive

    def __str__(self) -> str:
        if isinstance(self.test, Truthy):
            return f"{self.subject}" if self.positive else f"not {self.subject}"
        values = sorted(self.test.values, key=repr)
        if len(values) == 1:
            word = ("is" if self.positive else "is not") if values[0] is None else ("==" if self.positive else "!=")
            return f"{self.subject} {word} {values[0]!r}"
        return f"{self.subject} {'in' if self.positive else 'not in'} ({', '.join(map(repr, values))})"


def _same(a: object, b: object) -> bool:
    return a is b or (type(a) is type(b) and a == b)


Clause = frozenset[Literal]
Condition = tuple[Clause, ...]
ALWAYS: Condition = ()
NEVER: Condition = (frozenset(),)


def unit(literal: Literal) -> Condition:
    """The condition of a single literal."""
    return (frozenset((literal,)),)


def both(a: Condition, b: Condition) -> Condition:
    """``a and b``."""
    if not a or a == b:
        return b
    if not b:
        return a
    known = set(a)
    return a + tuple(c for c in b if c not in known and not any(len(k) == 1 and k <= c for k in a))


def negate(condition: Condition) -> Condition | None:
    """``not condition`` where that is expressible without blow-up, else ``None``."""
    if not condition:
        return NEVER
    if len(condition) == 1:
        return tuple(frozenset((~x,)) for x in condition[0])
    if all(len(c) == 1 for c in condition):
        return (frozenset(~x for c in condition for x in c),)
    return None


def either(a: Condition, b: Condition) -> Condition | None:
    """``a or b`` where that is expressible without blow-up, else ``None``."""
    if not a or not b:
        return ALWAYS
    if len(a) * len(b) <= 9:
        return tuple(dict.fromkeys(c for c in (x | y for x in a for y in b) if not any(~literal in c for literal in c)))
    return None


def subjects(condition: Condition) -> list[Subject]:
    """The subjects that a condition tests, in order."""
    return list(dict.fromkeys(x.subject for c in condition for x in sorted(c, key=lambda x: x.subject.text)))


def _domains(conditions: Iterable[Condition]) -> dict[Subject, list[object]]:
    domains: dict[Subject, list[object]] = {}
    for condition in conditions:
        for literal in (x for c in condition for x in c):
            known = domains.setdefault(literal.subject, [OTHER_TRUE, OTHER_FALSE])
            if isinstance(literal.test, Among):
                known.extend(v for v in literal.test.values if not any(_same(v, k) for k in known))
    for subject, known in domains.items():
        if subject.default and not any(_same(subject.default[0], k) for k in known):
            known.insert(0, subject.default[0])
    return domains


def _true(condition: Condition, values: dict[Subject, object]) -> bool:
    return all(any(x.holds(values[x.subject]) for x in clause) for clause in condition)


def _assignments(condition: Condition, domains: dict[Subject, list[object]]) -> Iterator[dict[Subject, object]]:
    """Assignments to the condition's subjects that make it true, at most MAX_ASSIGNMENTS of them tried."""
    mine = subjects(condition)
    narrowed = []
    for s in mine:
        units = [next(iter(c)) for c in condition if len(c) == 1 and next(iter(c)).subject is s]
        narrowed.append([v for v in domains[s] if all(u.holds(v) for u in units)])
    for values in itertools.islice(itertools.product(*narrowed), MAX_ASSIGNMENTS):
        assignment = dict(zip(mine, values, strict=True))
        if _true(condition, assignment):
            yield assignment


def satisfiable(condition: Condition) -> bool:
    """Whether some run can meet the condition."""
    if not condition:
        return True
    if frozenset() in condition:
        return False
    return next(_assignments(condition, _domains([condition])), None) is not None


def compatible(a: Condition, b: Condition) -> bool:
    """Whether both can hold in one run."""
    return satisfiable(both(a, b))


def implies(a: Condition, b: Condition) -> bool:
    """Whether every run that meets ``a`` meets ``b``."""
    if set(b) <= set(a):
        return True
    mine = set(subjects(a))
    if any(s not in mine for s in subjects(b)):
        for clause in b:
            if clause not in a and all(x.subject not in mine for x in clause):
                return False
    inverse = negate(b)
    if inverse is not None:
        return not satisfiable(both(a, inverse))
    return all(not satisfiable(both(a, negate((clause,)) or ALWAYS)) for clause in b)


@dataclass(frozen=True)
class Case:
    """A way in which a fault surely happens: the values that the user must choose, and whether the defaults already do."""

    by_default: bool
    text: str
    certain: bool = field(default=True)


def escape(happens: Condition, cures: Iterable[Condition]) -> Case | None:
    """A choice of the values that ``happens`` speaks of under which none of the cures can have happened, or ``None``.

    A cure that depends on anything else may have happened, and then there is no such choice: where the analysis cannot know, it is silent.
    Subjects that the script does not declare as settings are not for the user to choose: a fault that needs one of them is not certain.
    """
    cures = list(cures)
    if frozenset() in happens:
        return None
    domains = _domains([happens, *cures])
    mine = subjects(happens)
    found: Case | None = None
    for values in _assignments(happens, domains):
        if any(_may_hold(cure, values) for cure in cures):
            continue
        by_default = all(s.default and _same(s.default[0], values[s]) for s in mine)
        case = Case(by_default, describe(happens, values), all(s.declared for s in mine))
        if by_default:
            return case
        found = found or case
    return found


def _may_hold(condition: Condition, values: dict[Subject, object]) -> bool:
    rest: list[Clause] = []
    for clause in condition:
        if any(x.subject in values and x.holds(values[x.subject]) for x in clause):
            continue
        rest.append(frozenset(x for x in clause if x.subject not in values))
    return satisfiable(tuple(rest))


def describe(condition: Condition, values: dict[Subject, object] | None = None) -> str:
    """The condition in words for a message: ``args.qlora and bits == 4``."""
    parts: list[str] = []
    for clause in condition:
        literals = sorted((x for x in clause if values is None or x.holds(values[x.subject])), key=str)
        if literals:
            literal = literals[0]
            if values is not None and isinstance(literal.test, Among) and not isinstance(values[literal.subject], _Other):
                literal = Literal(literal.subject, Among(frozenset((values[literal.subject],))))
            if str(literal) not in parts:
                parts.append(str(literal))
    return " and ".join(parts)
