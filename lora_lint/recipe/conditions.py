"""Path conditions: under what an event happens, as formulas over what the source cannot decide.

A *subject* is a value that only a run can know (``args.qlora``, an environment variable, a function's unknown parameter). A *literal* tests one
subject; a *clause* is a disjunction of literals; a *condition* is a conjunction of clauses. Two guards that test the same value in two places
use the same subject, so ``if args.qlora:`` around the load and around the preparation are known to go together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

MAX_CHOICES = 2000
MAX_SAID = 3


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


Domains = dict[Subject, list[object]]
Assignment = dict[Subject, object]


def _domains(conditions: Iterable[Condition]) -> Domains:
    """For each subject the values that tell its tests apart: those named, its default, and any other true and false one."""
    domains: Domains = {}
    for condition in conditions:
        for literal in (x for c in condition for x in c):
            known = domains.get(literal.subject)
            if known is None:
                known = domains[literal.subject] = [*literal.subject.default, OTHER_TRUE, OTHER_FALSE]
            if isinstance(literal.test, Among):
                known.extend(v for v in literal.test.values if not any(_same(v, k) for k in known))
    return domains


def _solve(clauses: Iterable[Clause], domains: Domains, budget: list[int]) -> Assignment | None:
    """Values that make every clause true, by unit propagation and search; ``None`` where there are none (or the budget is used up)."""
    open_clauses = list(clauses)
    domains = dict(domains)
    changed = True
    while changed:
        changed = False
        rest: list[Clause] = []
        for clause in open_clauses:
            alive: list[Literal] = []
            satisfied = False
            for literal in clause:
                hits = [literal.holds(v) for v in domains[literal.subject]]
                if all(hits):
                    satisfied = True
                    break
                if any(hits):
                    alive.append(literal)
            if satisfied:
                continue
            if not alive:
                return None
            if len(alive) == 1:
                one = alive[0]
                domains[one.subject] = [v for v in domains[one.subject] if one.holds(v)]
                changed = True
                continue
            rest.append(frozenset(alive))
        open_clauses = rest
    if not open_clauses:
        return {s: values[0] for s, values in domains.items()}
    subject = next(iter(open_clauses[0])).subject
    for value in domains[subject]:
        budget[0] -= 1
        if budget[0] < 0:
            return None
        found = _solve(open_clauses, {**domains, subject: [value]}, budget)
        if found is not None:
            return found
    return None


def satisfiable(condition: Condition) -> bool:
    """Whether some run can meet the condition."""
    if not condition:
        return True
    if frozenset() in condition:
        return False
    return _solve(condition, _domains([condition]), [MAX_CHOICES]) is not None


def compatible(a: Condition, b: Condition) -> bool:
    """Whether both can hold in one run."""
    return satisfiable(both(a, b))


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
    if frozenset() in happens:
        return None
    mine = set(subjects(happens))
    domains = _domains([happens])
    possible = []
    for cure in dict.fromkeys(cures):
        if not compatible(happens, cure):
            continue
        # a clause over our own subjects alone is the only lever by which this cure can be ruled out
        levers = [c for c in cure if all(x.subject in mine for x in c) and c not in happens]
        if not levers:
            return None
        possible.append(levers)
        domains |= _domains([happens, *((c,) for c in levers), *((c,) for known in possible for c in known)])
    certain = all(s.declared for s in mine)
    defaults: Assignment = {s: s.default[0] for s in mine if s.default}
    if len(defaults) == len(mine) and _true(happens, defaults) and all(any(not _holds(c, defaults) for c in levers) for levers in possible):
        return Case(True, describe(happens, defaults), certain)
    budget = [MAX_CHOICES]
    chosen = _rule_out(list(happens), possible, domains, budget)
    return Case(not mine, describe(happens, chosen), certain) if chosen is not None else None


def _rule_out(clauses: list[Clause], possible: list[list[Clause]], domains: Domains, budget: list[int]) -> Assignment | None:
    found = _solve(clauses, domains, budget)
    if found is None or not possible:
        return found
    for lever in possible[0]:
        made = _rule_out([*clauses, *(frozenset((~x,)) for x in lever)], possible[1:], domains, budget)
        if made is not None:
            return made
    return None


def _holds(clause: Clause, values: Assignment) -> bool:
    return any(x.holds(values[x.subject]) for x in clause)


def _true(condition: Condition, values: Assignment) -> bool:
    return all(_holds(clause, values) for clause in condition)


def describe(condition: Condition, values: Assignment | None = None) -> str:
    """The condition in words for a message: ``args.qlora and bits == 4``."""
    parts: list[str] = []
    for clause in condition:
        literals = sorted((x for x in clause if values is None or x.holds(values[x.subject])), key=str)
        if literals:
            literal = literals[0]
            usual = literal.subject.default
            if values is not None and usual and _same(usual[0], values[literal.subject]):
                continue
            if values is not None and isinstance(literal.test, Among) and not isinstance(values[literal.subject], _Other):
                literal = Literal(literal.subject, Among(frozenset((values[literal.subject],))))
            if str(literal) not in parts:
                parts.append(str(literal))
    return " and ".join(parts[:MAX_SAID]) + (" and …" if len(parts) > MAX_SAID else "")
