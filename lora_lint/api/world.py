"""One release of each library, and what its source says: where names lead, what classes inherit, which keywords a callable takes.

Nothing is guessed: where the way leads out of the data (another library, a decorator that may change a signature, a class that is only known by
name) the answer is ``OUTSIDE``, or that any keyword may be taken.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from lora_lint.api.store import LIBRARIES, Record, store


class Lead(enum.Enum):
    """Where a name leads, if not to a definition: to a module, or out of what is known."""

    MODULE = "module"
    OUTSIDE = "outside"


MODULE, OUTSIDE = Lead.MODULE, Lead.OUTSIDE


@dataclass(frozen=True, eq=False)
class Definition:
    """A function or class (``name`` empty for none), with its record."""

    module: str
    name: str
    record: Record

    @property
    def key(self) -> tuple[str, str]:
        return self.module, self.name

    @property
    def is_class(self) -> bool:
        return isinstance(self.record, dict) and "c" in self.record


@dataclass(frozen=True)
class Signature:
    """A signature: (name, has a default, positional only) in order, the name of ``*args``, keyword-only names, the name of ``**kwargs``."""

    positional: tuple[tuple[str, bool, bool], ...]
    star: str | None
    keyword_only: Mapping[str, bool]
    double_star: str | None

    @classmethod
    def parse(cls, text: str) -> Signature:
        """From ``self,a,b=,/,*,c=,**kw``."""
        positional: list[tuple[str, bool, bool]] = []
        only: dict[str, bool] = {}
        star = double = None
        behind = False
        for part in text.split(",") if text else []:
            if part == "/":
                positional = [(name, default, True) for name, default, _ in positional]
            elif part == "*":
                behind = True
            elif part.startswith("**"):
                double = part[2:]
            elif part.startswith("*"):
                star, behind = part[1:], True
            elif behind:
                only[part.rstrip("=")] = part.endswith("=")
            else:
                positional.append((part.rstrip("="), part.endswith("="), False))
        return cls(tuple(positional), star, only, double)

    @property
    def keywords(self) -> set[str]:
        """The names that can be given by keyword."""
        return {name for name, _, only in self.positional if not only} | set(self.keyword_only)


@dataclass
class Accepted:
    """The keywords that a callable takes.

    ``open``: others may be taken too. ``swallowed``: others are taken and do nothing. ``positional``: how many positional arguments there is room
    for, without the receiver (``None``: any number). ``renamed``: old names that are still taken, to the new one where it is told. ``texts``:
    announcements of its removals.
    """

    names: set[str]
    open: bool = False
    swallowed: bool = False
    positional: int | None = None
    renamed: dict[str, str | None] = field(default_factory=dict)
    texts: list[tuple[str, list[str]]] = field(default_factory=list)


Member = tuple[Definition, Record]
"""A method: the class that defines it, and its record."""

# Bases that bring no constructor parameters and no methods that concern us.
_PLAIN = frozenset(("object", "ABC", "abc.ABC", "Generic", "typing.Generic", "Protocol", "str", "dict", "list", "Exception", "OrderedDict"))
_MODULE_BASES = frozenset(("nn.Module", "torch.nn.Module", "Module"))
_DEPTH = 12
# Decorators that leave a signature as it is.
_KEEPING = frozenset(
    "classmethod staticmethod property wraps no_grad inference_mode deprecated replace_return_docstrings add_start_docstrings add_end_docstrings "
    "add_start_docstrings_to_model_forward restore_default_torch_dtype restore_default_dtype can_return_tuple auto_docstring contextmanager requires "
    "torch_required requires_backends lru_cache cache cached_property find_executable_batch_size profiling_decorator on_main_process "
    "on_local_main_process check_peft_version setter export is_remote_dataset tf_required jax_required experimental require_torch "
    "require_torchdynamo".split()
)
_FROM = ".from_pretrained"
_MODEL_LOADERS = [
    "transformers.modeling_utils.PreTrainedModel.from_pretrained",
    "transformers.configuration_utils.PretrainedConfig.from_pretrained",
    "transformers.configuration_utils.PretrainedConfig.get_config_dict",
    "transformers.configuration_utils.PreTrainedConfig.from_pretrained",
    "transformers.configuration_utils.PreTrainedConfig.get_config_dict",
]
# Classes that choose the real callee when they run: what they hand their keywords to.
_CHOSEN_AT_RUN_TIME: dict[str, list[tuple[str, list[str]]]] = {
    "from_pretrained": [
        ("_BaseAutoModelClass", _MODEL_LOADERS),
        ("_BaseAutoPeftModel", _MODEL_LOADERS),
        ("PreTrainedModelWrapper", _MODEL_LOADERS),
        ("PreTrainedModel", _MODEL_LOADERS[1:]),
        ("AutoConfig", _MODEL_LOADERS[1:]),
        ("AutoTokenizer", ["transformers.tokenization_utils_base.PreTrainedTokenizerBase.from_pretrained"]),
    ],
    "from_config": [("_BaseAutoModelClass", ["transformers.modeling_utils.PreTrainedModel._from_config"])],
}
NN_MODULE = frozenset(
    "__init__ __call__ __getattr__ __setattr__ __delattr__ add_module append apply bfloat16 buffers children compile cpu cuda double eval extra_repr "
    "float forward get_buffer get_extra_state get_parameter get_submodule half ipu load_state_dict modules mtia named_buffers named_children "
    "named_modules named_parameters parameters register_backward_hook register_buffer register_forward_hook register_forward_pre_hook "
    "register_full_backward_hook register_full_backward_pre_hook register_load_state_dict_post_hook register_load_state_dict_pre_hook "
    "register_module register_parameter register_state_dict_post_hook register_state_dict_pre_hook requires_grad_ set_extra_state set_submodule "
    "share_memory state_dict to to_empty train training type xpu zero_grad device dtype".split()
)


class World:
    """One release of each of some libraries, by its number in :class:`~lora_lint.api.store.Store`.

    ``until`` says how long the answers given so far stay the same: for each library that was asked, the first later release in which something
    changes that they rest on.
    """

    def __init__(self, indexes: Mapping[str, int]) -> None:
        self.indexes = dict(indexes)
        self.until: dict[str, int] = {}
        self._orders: dict[tuple[str, str], list[Definition | Lead]] = {}

    # ------------------------------------------------------------ names
    def _at(self, module: str, kind: str, cls: str, name: str) -> Record:
        library = module.partition(".")[0]
        index = self.indexes.get(library)
        if index is None:
            return None
        record, until = store(library).at(module, kind, cls, name, index)
        self.until[library] = min(until, self.until.get(library, until))
        return record

    def has_module(self, module: str) -> bool:
        """Whether a module is there."""
        return self._at(module, "n", "", "") is not None

    def resolve(self, module: str, name: str, depth: int = 0) -> Definition | Lead | None:
        """What a name of a module stands for; ``None`` where it is not there."""
        library = module.partition(".")[0]
        if library not in self.indexes or depth > _DEPTH:
            return OUTSIDE
        record = self._at(module, "n", "", name) if name else None
        if record is None:
            if self.has_module(f"{module}.{name}"):
                return MODULE
            if self._at(module, "n", "", "*") is not None or (module.startswith("transformers.models.") and self._never(module, name)):
                return OUTSIDE
            if library == "transformers" and self._falls_back():
                if name.endswith("ImageProcessorFast"):
                    return self.resolve(module, name[:-4], depth + 1)
                if name.endswith(("Tokenizer", "TokenizerFast")) and not self._never(module, name):
                    return OUTSIDE
            return None
        if isinstance(record, str):
            source, _, original = record.partition(":")
            if not original:
                return MODULE if source.partition(".")[0] in self.indexes else OUTSIDE
            found = self.resolve(source, original, depth + 1)
            return OUTSIDE if found is None else found  # imported where a condition holds
        return Definition(module, name, record)

    @staticmethod
    def _never(module: str, name: str) -> bool:
        """Whether no release of a module has a name; a model's module, of which only its own definitions are known, may still import it."""
        return name not in store("transformers").module(module).get("n", {})

    def _falls_back(self) -> bool:
        """Whether transformers makes up for old names of tokenizers and image processors: from 5.0.0 on (``_LazyModule.__getattr__``)."""
        return store("transformers").releases[self.indexes["transformers"]].major >= 5

    def path(self, dotted: str) -> tuple[Definition | Lead | None, list[str]]:
        """The definition that a full name begins with, and the attributes behind it."""
        parts = dotted.split(".")
        module, place = parts[0], 1
        while place < len(parts):
            inner = f"{module}.{parts[place]}"
            if self._at(module, "n", "", parts[place]) is not None or not self.has_module(inner):
                break
            module, place = inner, place + 1
        if place == len(parts):
            return (MODULE if self.has_module(module) else None), []
        return self.resolve(module, parts[place]), parts[place + 1 :]

    def exists(self, dotted: str) -> bool | None:
        """Whether a full name of a module, a function, a class, or a member of a class is there; ``None`` where that cannot be known."""
        found, rest = self.path(dotted)
        if found is None:
            return False
        if not rest:
            return True
        if not isinstance(found, Definition) or not found.is_class or len(rest) > 1:
            return None
        return self.has_member(found, rest[0])

    # ------------------------------------------------------------ classes
    def _base(self, module: str, dotted: str) -> Definition | Lead | None:
        """A name as it is written in a module, such as a base class."""
        first, *rest = dotted.split(".")
        found = self.resolve(module, first)
        if not rest:
            return found
        record = self._at(module, "n", "", first)
        if found is MODULE or isinstance(record, str):
            full = record.replace(":", ".").rstrip(".") if isinstance(record, str) else f"{module}.{first}"
            if full.partition(".")[0] in self.indexes:
                found, more = self.path(".".join([full, *rest]))
                return OUTSIDE if more else found
        return OUTSIDE

    def order(self, cls: Definition) -> list[Definition | Lead]:
        """The class and its bases in the order in which members are looked up; ``OUTSIDE`` where something unknown stands between."""
        known = self._orders.get(cls.key)
        if known is not None:
            return known
        self._orders[cls.key] = [cls]  # a class that derives from itself ends here
        found: list[Definition | Lead] = [cls]
        for base in cls.record.get("c", []) if isinstance(cls.record, dict) else []:
            if base in _PLAIN or base.rpartition(".")[2] in ("Enum", "ExplicitEnum", "StrEnum"):
                continue
            if base in _MODULE_BASES:
                found.append(Definition("torch", "nn.Module", {"c": []}))
                continue
            made = self._base(cls.module, base) if base != "?" else OUTSIDE
            found.extend(self.order(made) if isinstance(made, Definition) and made.is_class else [OUTSIDE])
        kept: list[Definition | Lead] = []
        seen: set[object] = set()
        for one in reversed(found):
            key = one.key if isinstance(one, Definition) else one
            if key not in seen:
                seen.add(key)
                kept.append(one)
        self._orders[cls.key] = kept[::-1]
        return self._orders[cls.key]

    def member(self, cls: Definition, name: str, behind: Definition | None = None) -> Member | Lead | None:
        """A method of a class, looked up behind one of its bases if that is given (``super()``)."""
        past = behind is None
        for one in self.order(cls):
            if not past:
                past = isinstance(one, Definition) and behind is not None and one.key == behind.key
                continue
            if not isinstance(one, Definition):
                return OUTSIDE
            if one.module == "torch":
                if name in NN_MODULE:
                    return OUTSIDE
                continue
            record = self._at(one.module, "m", one.name, name)
            if isinstance(record, str):
                source, _, original = record.partition(":")
                made = self.resolve(source, original)
                return (made, made.record) if isinstance(made, Definition) and "s" in (made.record or ()) else OUTSIDE
            if record is not None:
                return one, record
        return None

    def has_member(self, cls: Definition, name: str) -> bool | None:
        """Whether a class has a method or attribute; ``None`` where that cannot be known."""
        for one in self.order(cls):
            if not isinstance(one, Definition) or not isinstance(one.record, dict):
                return None
            if one.module == "torch":
                if name in NN_MODULE:
                    return True
                continue
            if self._at(one.module, "m", one.name, name) is not None or name in one.record.get("a", "").split():
                return True
            if any(field.rstrip("=!") == name for field in one.record.get("f", ())):
                return True
            if self._at(one.module, "m", one.name, "__getattr__") is not None:
                return None
        return False

    def derives(self, cls: Definition, name: str) -> bool:
        """Whether a class is, or derives from, a class of that name."""
        return any(isinstance(one, Definition) and one.name == name for one in self.order(cls))

    def shapes(self, cls: Definition, method: str) -> list[tuple[int, bool, tuple[str, ...], bool]] | None:
        """How the library calls a method on its own objects: (positional count, starred, keywords, double-starred), without repetition.

        ``None`` where it looks at the method's signature first.
        """
        found = set()
        for one in self.order(cls):
            if isinstance(one, Definition) and one.module != "torch" and isinstance(one.record, dict):
                if method in one.record.get("sig", ()):
                    return None
                for count, starred, names, double in self._at(one.module, "k", one.name, method) or ():
                    found.add((count, bool(starred), tuple(name for name in names.split(",") if name), bool(double)))
        return sorted(found)

    # ------------------------------------------------------------ fields and constructors
    def fields(self, cls: Definition) -> dict[str, tuple[bool, bool]] | None:
        """The fields of a dataclass in order: name to (has a default, keyword-only); ``None`` where a base is unknown."""
        found: dict[str, tuple[bool, bool]] = {}
        for one in reversed(self.order(cls)):
            if not isinstance(one, Definition):
                return None
            for text in one.record.get("f", []) if one.record.get("dc") else []:
                found[text.rstrip("=").rstrip("!")] = (text.endswith("="), "!" in text or one.record["dc"] == 2)
        return found

    def constructor(self, cls: Definition) -> Member | dict[str, tuple[bool, bool]] | Lead | None:
        """The ``__init__`` of a class, or the fields of a dataclass; ``None`` for one that takes nothing."""
        for one in self.order(cls):
            if not isinstance(one, Definition) or one.module == "torch" or not isinstance(one.record, dict):
                return OUTSIDE
            record = self._at(one.module, "m", one.name, "__init__") or self._at(one.module, "m", one.name, "__new__")
            if isinstance(record, dict):
                return one, record
            if record is not None:
                return OUTSIDE
            if one.record.get("dc"):
                made = self.fields(cls)
                return OUTSIDE if made is None else made
        return None

    # ------------------------------------------------------------ keywords
    def accepted(self, dotted: str) -> Accepted | None:
        """The keywords that a function, a class's constructor or a method takes; ``None`` where that cannot be known."""
        found, rest = self.path(dotted)
        if not isinstance(found, Definition) or not isinstance(found.record, dict):
            return self._skimmed(found, rest)
        if "s" in found.record and not rest:
            return self._function(found, found.record, None, receiver=False)
        if not found.is_class or len(rest) > 1 or self._is_enumeration(found):
            return None
        if not rest:
            return self._construction(found)
        method = self.member(found, rest[0])
        if not isinstance(method, tuple):
            return None
        decorators = method[1].get("deco", [])
        if "property" in decorators or "cached_property" in decorators:
            return None
        made = self._function(method[0], method[1], found, receiver="staticmethod" not in decorators)
        return self._chosen(found, rest[0], made)

    def _skimmed(self, found: Definition | Lead | None, rest: list[str]) -> Accepted | None:
        """A model class, of which only the name is known: its loader is that of all models."""
        is_model = isinstance(found, Definition) and found.module.rpartition(".")[2].startswith("modeling_") and found.name[:1].isupper()
        return self.accepted("transformers.PreTrainedModel.from_pretrained") if is_model and rest == ["from_pretrained"] else None

    def _is_enumeration(self, cls: Definition) -> bool:
        return any(isinstance(one, Definition) and isinstance(one.record, dict) and "e" in one.record for one in self.order(cls))

    def _construction(self, cls: Definition) -> Accepted | None:
        made = self.constructor(cls)
        if made is OUTSIDE or isinstance(made, Lead):
            return None
        if made is None:
            return Accepted(set(), positional=0)
        if isinstance(made, dict):
            room = sum(not only for _, only in made.values())
            found = Accepted(set(made), positional=room)
            self._announced(found, cls)
            return found
        return self._function(made[0], made[1], cls, receiver=True)

    def _announced(self, found: Accepted, cls: Definition) -> None:
        """Add what a dataclass says when it is made."""
        for one in self.order(cls):
            if isinstance(one, Definition) and one.module != "torch":
                record = self._at(one.module, "m", one.name, "__post_init__")
                if isinstance(record, dict):
                    found.texts.extend((text, words) for text, words in record.get("msg", ()))

    def _function(self, owner: Definition, record: Record, cls: Definition | None, *, receiver: bool) -> Accepted:
        signature = Signature.parse(record["s"])
        names, is_open = self._taken(owner, record, cls, ())
        keywords = record.get("kw")
        swallowed = bool(keywords is not None and not is_open and not keywords.get("w") and not keywords.get("r") and not keywords.get("t"))
        return Accepted(
            names - ({"self", "cls"} if receiver else set()),
            is_open,
            swallowed,
            None if signature.star else len(signature.positional) - receiver,
            {old: new for old, new in record.get("ren", ()) if old},
            [(text, words) for text, words in record.get("msg", ())],
        )

    def _taken(self, owner: Definition, record: Record, cls: Definition | None, seen: tuple[int, ...]) -> tuple[set[str], bool]:
        """The keywords that a function takes by name, directly or by what it forwards them to, and whether it may take others."""
        signature = Signature.parse(record["s"])
        names = signature.keywords | {old for old, _ in record.get("ren", ()) if old}
        if signature.double_star is None:
            return names, any(name not in _KEEPING for name in record.get("deco", ()) if name not in ("deprecate_kwarg", "_deprecate_arguments"))
        keywords = record.get("kw") or {}
        names |= set(keywords.get("p", ()))
        # What is handed to a method that does nothing with it is for the methods that override that one.
        is_open = bool(keywords.get("o")) or (not keywords and bool(seen))
        if "t" in keywords:
            described = self._base(owner.module, keywords["t"])
            if isinstance(described, Definition) and described.is_class:
                for one in self.order(described):
                    if isinstance(one, Definition):
                        names |= {text.rstrip("=").rstrip("!") for text in one.record.get("f", ())}
            else:
                is_open = True
        if id(record) in seen or len(seen) > 8:
            return names, is_open
        for target in keywords.get("w", ()):
            more, opened = self._target(owner, cls or owner, target, (*seen, id(record)))
            names |= more
            is_open |= opened
        return names, is_open

    def _target(self, owner: Definition, cls: Definition, target: str, seen: tuple[int, ...]) -> tuple[set[str], bool]:
        """What a callable takes to which ``**kwargs`` are forwarded, as it is written there."""
        head, _, rest = target.partition(".")
        if head == "logger":
            return set(), False
        if head == "super":
            method = self.member(cls, rest, behind=owner)
            return self._of(method, cls, seen)
        if head in ("self", "cls") and owner.is_class:
            if not rest:
                return self._made(cls, seen)
            return self._of(self.member(cls, rest) if "." not in rest else OUTSIDE, cls, seen, missing=True)
        if target == "?" or head == "dict":
            return set(), True
        found = self._base(owner.module, target) if not rest else self.resolve(owner.module, head)
        if not isinstance(found, Definition) or not isinstance(found.record, dict):
            return set(), True
        if rest:
            return self._of(self.member(found, rest) if found.is_class and "." not in rest else OUTSIDE, found, seen, missing=True)
        return self._made(found, seen) if found.is_class else self._taken(found, found.record, None, seen)

    def _of(self, method: Member | Lead | None, cls: Definition, seen: tuple[int, ...], *, missing: bool = False) -> tuple[set[str], bool]:
        if isinstance(method, tuple):
            return self._taken(method[0], method[1], cls, seen)
        return set(), missing or method is not None

    def _made(self, cls: Definition, seen: tuple[int, ...]) -> tuple[set[str], bool]:
        made = self.constructor(cls)
        if isinstance(made, dict):
            return set(made), False
        return self._of(made, cls, seen)

    def _chosen(self, cls: Definition, method: str, found: Accepted) -> Accepted:
        """Add what the callee takes that a class chooses when it runs; such a call takes any setting of a model's configuration, too."""
        for base, targets in _CHOSEN_AT_RUN_TIME.get(method, ()):
            if self.derives(cls, base):
                for target in targets:
                    owner, rest = self.path(target)
                    inner = self.member(owner, rest[0]) if isinstance(owner, Definition) and owner.is_class and len(rest) == 1 else None
                    if isinstance(inner, tuple):
                        names, _ = self._taken(inner[0], inner[1], owner if isinstance(owner, Definition) else None, ())
                        found.names |= names
                        found.open = True
        return found


def newest() -> World:
    """The newest release of each library."""
    return World({library: len(store(library).releases) - 1 for library in LIBRARIES})


def walk_names(world: World, module: str) -> Iterator[str]:
    """The names that a module exports."""
    library = module.partition(".")[0]
    for name in store(library).module(module).get("n", {}):
        if name not in ("", "*") and not name.startswith("_") and world.resolve(module, name) is not None:
            yield name
