"""The state of abstract execution: variables with a journal for branches, path conditions, events, the step budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from lora_lint.recipe.conditions import (
    ALWAYS,
    NEVER,
    Condition,
    Literal,
    Subject,
    Truthy,
    both,
    either,
    negate,
    satisfiable,
    unit,
)
from lora_lint.recipe.events import (
    Backward,
    BadKeyword,
    Branch,
    Distributed,
    Event,
    FileRead,
    FileWritten,
    Import,
    LabelWrite,
    LibraryCall,
    Loop,
    ModelLife,
    OptimizerLife,
    Site,
    Tokens,
)
from lora_lint.recipe.values import (
    ABSENT,
    Bool,
    Cls,
    Const,
    Cut,
    Dict,
    Model,
    Module,
    Phi,
    Seq,
    Slots,
    Sym,
    Tensor,
    Value,
    options,
    phi,
    unknown,
    walk,
)

if TYPE_CHECKING:
    import libcst as cst

    from lora_lint.project import Project
    from lora_lint.source import Source

STEPS_PER_LINE = 10
STEPS_PER_FILE = 20_000
STEPS_PER_ENTRY = 5_000
MAX_DEPTH = 24


@dataclass(eq=False)
class Recipe:
    """What the interpreter understood of one script."""

    source: Source
    models: list[ModelLife] = field(default_factory=list)
    optimizers: list[OptimizerLife] = field(default_factory=list)
    backwards: list[Backward] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    keywords: list[BadKeyword] = field(default_factory=list)
    branches: list[Branch] = field(default_factory=list)
    tokens: list[Tokens] = field(default_factory=list)
    label_writes: list[LabelWrite] = field(default_factory=list)
    viewed: set[Tensor] = field(default_factory=set)
    handed: list[Value] = field(default_factory=list)
    distributed: list[Distributed] = field(default_factory=list)
    entries: list[int] = field(default_factory=list)
    environment: set[str] = field(default_factory=set)
    arguments_parsed: int | None = None
    gathers: bool = False
    project: Project | None = None
    read: dict[int, FileRead] = field(default_factory=dict)
    written: list[FileWritten] = field(default_factory=list)
    imports: list[Import] = field(default_factory=list)
    calls: list[LibraryCall] = field(default_factory=list)
    classes: list[Cls] = field(default_factory=list)
    steps: int = 0
    budget: int = 0
    gave_up: str = ""
    sets_device: bool = False
    default_device: bool = False
    precision: bool = False
    gradients_read: set[int] = field(default_factory=set)
    consumers: dict[int, Site] = field(default_factory=dict)
    cuda: Condition = ALWAYS


@dataclass(eq=False)
class Frame:
    """One active call of a project function."""

    function: int
    returns: list[tuple[Condition, Value]] = field(default_factory=list)
    yields: list[Value] = field(default_factory=list)
    entered: int = 0
    modes: list[GradMode] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class GradMode:
    """A grad mode in force: ``off``, ``inference``, ``on``, or ``maybe`` where a value decides; with the expression that set it."""

    mode: str
    site: Site


class BudgetError(Exception):
    """The step budget is used up."""


class Machine:
    """Primitive operations on the abstract state; what a statement or expression means is the interpreter's business."""

    def __init__(self, source: Source) -> None:
        self.recipe = Recipe(source)
        self.pc: Condition = ALWAYS
        self.dead = ""
        self.order = 0
        self.depth = 0
        self.journals: list[dict[tuple[int, Any], tuple[Slots, Any, Value | None]]] = []
        self.frames: list[Frame] = []
        self.modes: list[GradMode] = []
        self.calls: list[Site] = []
        self.stmt: cst.CSTNode | None = None
        self.block = 0
        self.loop: cst.CSTNode | None = None
        self.guards = 0
        self.caught = 0
        self.module = Module("__main__", source)
        self.derived: dict[Any, Sym] = {}
        self.weights: set[int] = set()
        self.consumers = self.recipe.consumers
        # Stand-ins: the value went through weights that are not trained; it did so on a way that still carries gradient.
        self.frozen_path = ModelLife(-2, "layer", cast(Site, None), cls="frozen path", trainable=False)
        self.fed: dict[int, bool] = {}
        self.entered: set[ModelLife] = set()
        self.frozen_weights = ModelLife(-1, "layer", cast(Site, None), cls="frozen weights", trainable=False)
        self.budget = self.recipe.budget = STEPS_PER_FILE + STEPS_PER_LINE * source.text.count("\n")

    # ---------------------------------------------------------------- budget
    def step(self) -> None:
        """Count one step; raise BudgetError at the end of the budget, so that no input can hang the analysis."""
        self.recipe.steps += 1
        if self.recipe.steps > self.budget:
            raise BudgetError

    # ---------------------------------------------------------------- variables
    def store(self, slots: Slots, key: Any, value: Value) -> None:
        """Set a variable, attribute or entry, in a way that a branch can take back."""
        if self.journals:
            self.journals[-1].setdefault((id(slots), key), (slots, key, slots.get(key)))
        slots[key] = value

    def branch(self, alternatives: Sequence[tuple[Condition, Callable[[], Value]]]) -> Value:
        """Execute alternatives that exclude each other, each from the same state, and join what they leave behind."""
        base, dead_before = self.pc, self.dead
        results: list[tuple[Condition, Value, str, Condition, dict[tuple[int, Any], tuple[Slots, Any, Value]]]] = []
        for condition, thunk in alternatives:
            pc = both(base, condition)
            if frozenset() in pc or not self.feasible(base, condition):
                continue
            self.pc, self.dead = pc, ""
            self.journals.append({})
            try:
                value = thunk()
            finally:
                journal = self.journals.pop()
                changes = {}
                for k, (slots, key, old) in journal.items():
                    if key in slots:
                        changes[k] = (slots, key, slots[key])
                    if old is None:
                        slots.pop(key, None)
                    else:
                        slots[key] = old
            results.append((condition, value, self.dead, self.pc, changes))
        self.pc, self.dead = base, dead_before
        alive = [r for r in results if not r[2]]
        if not results:
            return unknown("unreachable")
        if not alive:
            kinds = {r[2] for r in results}
            self.dead = "loop" if "loop" in kinds else "return" if "return" in kinds else "raise"
            return unknown("unreachable")
        if len(alive) == 1:
            for slots, key, new in alive[0][4].values():
                self.store(slots, key, new)
            if any(r[2] != "raise" for r in results if r[2]):
                self.pc = alive[0][3]
            return alive[0][1]
        for condition, _, dead, _, _ in results:
            inverse = negate(condition) if dead and dead != "raise" else None
            if inverse is not None:
                self.pc = both(self.pc, inverse)
        touched: dict[tuple[int, Any], tuple[Slots, Any]] = {}
        for r in alive:
            touched.update({k: (slots, key) for k, (slots, key, _) in r[4].items()})
        for k, (slots, key) in touched.items():
            before = slots.get(key, ABSENT)
            self.store(slots, key, phi([(r[0], r[4][k][2] if k in r[4] else before) for r in alive]))
        return phi([(r[0], r[1]) for r in alive])

    @staticmethod
    def feasible(base: Condition, condition: Condition) -> bool:
        """Whether a condition can hold on a path: only the path's clauses about the same subjects can speak against it."""
        mine = {x.subject for c in condition for x in c}
        related = tuple(c for c in base if any(x.subject in mine for x in c))
        return not related or satisfiable((*related, *condition))

    def each(self, value: Value, function: Callable[[Value], Value]) -> Value:
        """Apply a function to each alternative of a value, under the alternative's condition."""
        if not isinstance(value, Phi):
            return function(value)
        return self.branch([(c, lambda v=v: function(v)) for c, v in value.options])  # type: ignore[misc]

    # ---------------------------------------------------------------- conditions
    def derive(self, key: tuple[Any, ...], text: str, default: tuple[object, ...] = (), *, declared: bool = True, tensor: bool = False) -> Sym:
        """The unknown value for an expression over unknown values; the same expression gives the same value."""
        found = self.derived.get(key)
        if found is None:
            found = self.derived[key] = Sym(Subject(text, declared=declared, default=default), tensor)
        return found

    def truth(self, value: Value) -> tuple[Condition, Condition]:
        """The conditions under which a value is true and false."""
        if isinstance(value, Const):
            return (ALWAYS, NEVER) if value.value else (NEVER, ALWAYS)
        if value is ABSENT:
            return NEVER, ALWAYS
        if isinstance(value, Bool):
            return value.true, value.false
        if isinstance(value, Sym):
            literal = Literal(value.subject, Truthy())
            return unit(literal), unit(~literal)
        if isinstance(value, Phi):
            parts = [(c, *self.truth(v)) for c, v in value.options]
            true = self._any([both(c, t) for c, t, _ in parts])
            false = self._any([both(c, f) for c, _, f in parts])
            if true is not None and false is not None:
                return true, false
            declared = all(x.subject.declared for _, t, _ in parts for c in t for x in c)
            return self.opaque(value, "the value", declared=declared)
        if isinstance(value, Seq) and value.rest is None:
            return (ALWAYS, NEVER) if value.items else (NEVER, ALWAYS)
        if isinstance(value, (Dict, Seq, Tensor)):
            if isinstance(value, Dict) and any(v is not ABSENT and not isinstance(v, Phi) and k != "**" for k, v in value.slots.items()):
                return ALWAYS, NEVER
            if isinstance(value, Dict) and not value.slots:
                return NEVER, ALWAYS
            return self.opaque(value, "the value")
        return ALWAYS, NEVER

    def opaque(self, key: object, text: str, *, declared: bool = True) -> tuple[Condition, Condition]:
        """A condition that cannot be expressed: an unknown truth of its own."""
        literal = Literal(self.derive(("opaque", key if isinstance(key, str) else id(key)), text, declared=declared).subject, Truthy())
        return unit(literal), unit(~literal)

    @staticmethod
    def _any(parts: list[Condition]) -> Condition | None:
        parts = [p for p in parts if frozenset() not in p]
        if not parts:
            return NEVER
        joined: Condition | None = parts[0]
        for p in parts[1:]:
            joined = None if joined is None else either(joined, p)
        return joined

    # ---------------------------------------------------------------- recording
    def site(self, node: cst.CSTNode) -> Site:
        """The place of a node that is being executed now."""
        function = self.frames[-1].function if self.frames else 0
        return Site(node, self.stmt, self.module.source, self.block, function, tuple(self.calls), bool(self.guards))

    def tick(self) -> int:
        """The next point in program order."""
        self.order += 1
        return self.order

    def life(self, kind: str, node: cst.CSTNode, **known: Any) -> ModelLife:
        """Begin the life of a new model."""
        made = ModelLife(len(self.recipe.models), kind, self.site(node), when=self.pc, **known)
        self.recipe.models.append(made)
        return made

    def event(self, model: Model | ModelLife, kind: str, node: cst.CSTNode, when: Condition = ALWAYS, **data: Any) -> Event:
        """Record that something happens to a model here, under the current path condition and ``when``."""
        life = model.life if isinstance(model, Model) else model
        made = Event(kind, self.site(node), both(self.pc, when), self.tick(), isinstance(model, Model) and model.peft, data)
        life.events.append(made)
        if kind in ("frozen", "unfrozen") and not data.get("partial") and life.kind == "layer":
            life.trainable = kind == "unfrozen"
        return made

    def distributed(
        self, kind: str, text: str, node: cst.CSTNode, when: Condition = ALWAYS, config: Value | None = None, active: bool = False
    ) -> None:
        """Record what shows that the script runs in several processes; not where an exception of it is caught, since then it may run in one."""
        if not self.caught:
            self.recipe.distributed.append(Distributed(kind, text, self.site(node), both(self.pc, when), self.tick(), config, active))

    def weighed(self, cut: Cut) -> bool:
        """Whether a cut value went through weights that the module does not train."""
        return id(cut) in self.weights

    def alternatives(self, value: Value) -> list[tuple[Condition, Model]]:
        """All models that a value holds, each under the condition of its alternative."""
        return [(c, model) for c, v in options(value) for model in self.models_in(v)]

    def models_in(self, value: Value) -> list[Model]:
        """All models that a value holds, one entry a life."""
        found: dict[int, Model] = {}
        for v in walk(value):
            if isinstance(v, Model):
                found.setdefault(v.life.number, v)
        return list(found.values())
