"""Abstract values: what a name in the script can stand for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lora_lint.recipe.conditions import ALWAYS, NEVER, Condition, Subject, both, either

if TYPE_CHECKING:
    import libcst as cst

    from lora_lint.recipe.events import ModelLife, Site, Tokens

Slots = dict[Any, "Value"]


class Value:
    """Base of all abstract values; compared by identity unless a subclass says otherwise."""

    __slots__ = ()


@dataclass(frozen=True)
class Const(Value):
    """A Python literal: str, bytes, int, float, bool, None or Ellipsis."""

    value: Any

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Const) and type(self.value) is type(other.value) and self.value == other.value


NONE, TRUE, FALSE = Const(None), Const(True), Const(False)


@dataclass(frozen=True, eq=False)
class Sym(Value):
    """A value known only at run time; its subject keeps two uses of it together.

    ``tensor`` marks what code out of sight computed: it may be a tensor that carries a gradient.
    """

    subject: Subject
    tensor: bool = False

    @property
    def text(self) -> str:
        return self.subject.text


@dataclass(frozen=True, eq=False)
class Ids(Sym):
    """The token ids that a tokenizer made, as lists, or (``length``) how many they are: known to be that, and no more."""

    tokens: Tokens | None = None
    length: bool = False


def unknown(text: str = "?", *, declared: bool = True, tensor: bool = False) -> Sym:
    """A fresh unknown value, described by the expression it came from."""
    return Sym(Subject(text, declared=declared), tensor)


@dataclass(frozen=True, eq=False)
class Bool(Value):
    """The result of a test: the conditions under which it is true and false."""

    true: Condition
    false: Condition


class _Absent(Value):
    """A dictionary entry or attribute that is not there."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = _Absent()


def is_eos(value: Value) -> bool:
    """Whether a value is some tokenizer's EOS, as a token or as an id."""
    return isinstance(value, Sym) and value.text.rpartition(".")[2] in ("eos_token", "eos_token_id")


@dataclass(frozen=True, eq=False)
class Slice(Value):
    """``lower:upper`` between brackets; a bound that is not written is ABSENT."""

    lower: Value
    upper: Value


@dataclass(frozen=True)
class Ref(Value):
    """A name of an imported library or a builtin, by its full dotted path."""

    name: str

    @property
    def root(self) -> str:
        return self.name.partition(".")[0]

    @property
    def leaf(self) -> str:
        return self.name.rpartition(".")[2]


@dataclass(frozen=True, eq=False)
class Phi(Value):
    """One of several values, each under a condition; the conditions exclude each other."""

    options: tuple[tuple[Condition, Value], ...]


MAX_OPTIONS = 8


def phi(options: list[tuple[Condition, Value]]) -> Value:
    """Join values: nested joins are flattened, equal values merged where their conditions allow it."""
    flat: list[tuple[Condition, Value]] = []
    for condition, value in options:
        inner = value.options if isinstance(value, Phi) else ((ALWAYS, value),)
        for c, v in inner:
            both_hold = both(condition, c)
            if both_hold == NEVER or frozenset() in both_hold:
                continue
            for i, (other_condition, other) in enumerate(flat):
                if other is v or (isinstance(v, (Const, Ref)) and other == v):
                    joined = either(other_condition, both_hold)
                    if joined is not None:
                        flat[i] = (joined, other)
                        break
            else:
                flat.append((both_hold, v))
    if not flat:
        return unknown("unreachable")
    if len(flat) == 1:
        return flat[0][1]
    if all(v is flat[0][1] or (isinstance(v, (Const, Ref)) and v == flat[0][1]) for _, v in flat):
        return flat[0][1]
    if len(flat) > MAX_OPTIONS:
        flat = flat[:MAX_OPTIONS]
    return Phi(tuple(flat))


def options(value: Value) -> tuple[tuple[Condition, Value], ...]:
    """The alternatives of a value; a plain value is its own only one."""
    return value.options if isinstance(value, Phi) else ((ALWAYS, value),)


@dataclass(eq=False)
class Seq(Value):
    """A list, tuple or set. ``rest`` stands for further elements of unknown number."""

    kind: str
    slots: Slots = field(default_factory=dict)

    @classmethod
    def of(cls, items: list[Value], kind: str = "list", rest: Value | None = None) -> Seq:
        made = cls(kind, {"items": Items(tuple(items))})
        if rest is not None:
            made.slots["rest"] = rest
        return made

    @property
    def items(self) -> tuple[Value, ...]:
        held = self.slots["items"]
        if isinstance(held, Items):
            return held.items
        return max((v.items for _, v in options(held) if isinstance(v, Items)), key=len, default=())

    @property
    def rest(self) -> Value | None:
        if not isinstance(self.slots["items"], Items):
            return self.slots.get("rest") or unknown("element")
        return self.slots.get("rest")

    def elements(self) -> list[Value]:
        """All that is known of what it holds."""
        return [*self.items, *([self.rest] if self.rest is not None else [])]


@dataclass(frozen=True, eq=False)
class Items(Value):
    """The known elements of a sequence, as one immutable slot value."""

    items: tuple[Value, ...]


REST = "**"


@dataclass(eq=False)
class Dict(Value):
    """A dictionary by its known keys; ``slots[REST]`` stands for entries under keys that are not known."""

    slots: Slots = field(default_factory=dict)
    sites: dict[Any, Site] = field(default_factory=dict)


@dataclass(eq=False)
class Scope:
    """The variables of a module, function or class body."""

    parent: Scope | None = None
    slots: Slots = field(default_factory=dict)
    kind: str = "function"
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    module: Module | None = None

    def find(self, name: str) -> Slots | None:
        """The innermost scope's variables that hold the name; class bodies are invisible from inside."""
        scope: Scope | None = self
        if name in self.globals and self.module is not None:
            return self.module.scope.slots
        first = True
        while scope is not None:
            if name in scope.slots and (first or scope.kind != "class"):
                return scope.slots
            first = False
            scope = scope.parent
        return None


@dataclass(eq=False)
class Module(Value):
    """A module of the same project."""

    name: str
    source: Any
    scope: Scope = field(default_factory=lambda: Scope(kind="module"))


@dataclass(eq=False)
class Func(Value):
    """A function or lambda of the project, with the scope it closes over."""

    name: str
    node: cst.FunctionDef | cst.Lambda
    scope: Scope
    module: Module
    owner: Cls | None = None
    decorators: list[tuple[Value, cst.Decorator]] = field(default_factory=list)
    defaults: dict[str, Value] = field(default_factory=dict)

    def decorated(self, *names: str) -> bool:
        """Whether a decorator bears one of the names (``property``, ``app.command`` …)."""
        return any(isinstance(d, Ref) and (d.name in names or d.leaf in names) for d, _ in self.decorators)


@dataclass(eq=False)
class Cls(Value):
    """A class of the project."""

    name: str
    node: cst.ClassDef
    module: Module
    bases: list[Value] = field(default_factory=list)
    slots: Slots = field(default_factory=dict)
    dataclass: bool = False
    fields: list[str] = field(default_factory=list)

    def mro(self) -> Iterator[Cls]:
        """The class and its bases within the project, nearest first."""
        yield self
        for base in self.bases:
            if isinstance(base, Cls) and base is not self:
                yield from base.mro()

    def library_bases(self) -> set[str]:
        """Full names of the library classes it derives from."""
        return {b.name for c in self.mro() for b in c.bases if isinstance(b, Ref)}

    def library_base(self) -> str:
        """The full name of the library class that it derives from, where nothing else is among its bases; else an empty string."""
        cls: Cls = self
        for _ in range(20):
            if len(cls.bases) != 1:
                return ""
            base = cls.bases[0]
            if isinstance(base, Ref):
                return base.name
            if not isinstance(base, Cls):
                return ""
            cls = base
        return ""

    def lookup(self, name: str) -> Value | None:
        """The class attribute of that name, through the bases within the project."""
        return next((c.slots[name] for c in self.mro() if name in c.slots), None)


@dataclass(eq=False)
class Inst(Value):
    """An object of a class of the project."""

    cls: Cls
    slots: Slots = field(default_factory=dict)
    site: Site | None = None


@dataclass(frozen=True, eq=False)
class Bound(Value):
    """A method (or an attribute known only by name) of an object."""

    owner: Value
    name: str


@dataclass(frozen=True, eq=False)
class Method(Value):
    """A function of the project bound to its first argument."""

    func: Func
    owner: Value


@dataclass(eq=False)
class Obj(Value):
    """A library object: its kind selects the summaries of its methods, its slots hold what they need to know."""

    kind: str
    slots: Slots = field(default_factory=dict)
    site: Site | None = None
    name: str = ""
    info: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Model(Value):
    """A model as seen through one receiver: the base, its PEFT wrapper, a part of it, or what ``torch.compile`` made of it. All share one life."""

    life: ModelLife
    peft: bool = False
    part: str = ""
    compiled: bool = False


@dataclass(frozen=True)
class Device:
    """Where a tensor lies: ``cpu``, ``cuda`` (written as a literal), ``follows`` (a model, an accelerator, a variable) or ``unknown``."""

    kind: str
    text: str = ""
    value: Value | None = field(default=None, compare=False)
    site: Site | None = field(default=None, compare=False)


CPU, SOMEWHERE = Device("cpu"), Device("unknown")


@dataclass(frozen=True, eq=False)
class Cut(Value):
    """An expression that ended the gradient's way: what was lost there."""

    kind: str
    site: Site
    lost: frozenset[ModelLife]
    opaque: bool = False
    removable: bool = False
    order: int = 0


@dataclass(frozen=True, eq=False)
class Tensor(Value):
    """A tensor, or a number taken from one.

    ``attached`` holds the lives that it depends on with gradient, ``cuts`` where others were lost; ``opaque`` means that code which we cannot
    see may have put a gradient in. ``through`` holds the lives that it went through, cut or not. ``forced`` is the site that set
    ``requires_grad`` by hand after which ``attached`` is what it was before. ``tokens`` is the tokenization whose ids it holds, in their shape.
    """

    attached: frozenset[ModelLife] = frozenset()
    cuts: tuple[Cut, ...] = ()
    device: Device = SOMEWHERE
    opaque: bool = False
    number: bool = False
    through: frozenset[ModelLife] = frozenset()
    forced: Site | None = None
    leaf: bool = False
    site: Site | None = None
    tokens: Tokens | None = None

    @property
    def cut_off(self) -> bool:
        """Whether surely no gradient can flow back from it, though it came out of a model."""
        return not self.attached and not self.opaque and bool(self.cuts)


@dataclass(frozen=True, eq=False)
class Mask(Tensor):
    """Where a tensor stands in a relation to a value: ``labels == pad``."""

    operator: str = ""
    of: Value = ABSENT
    to: Value = ABSENT


def walk(value: Value, seen: set[int] | None = None, depth: int = 0) -> Iterator[Value]:
    """The value and all that it holds (elements, entries, attributes, joined alternatives), each once, to a bounded depth."""
    seen = set() if seen is None else seen
    if id(value) in seen or depth > 6:
        return
    seen.add(id(value))
    yield value
    held: list[Value] = []
    if isinstance(value, Phi):
        held = [v for _, v in value.options]
    elif isinstance(value, Seq):
        held = value.elements()
    elif isinstance(value, (Dict, Inst, Obj)):
        held = list(value.slots.values())
    elif isinstance(value, (Bound, Method)):
        held = [value.owner]
    for v in held:
        yield from walk(v, seen, depth + 1)
