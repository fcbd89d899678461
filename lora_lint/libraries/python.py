"""Summaries of the standard library and of small command-line libraries: argparse, os, functools, fire, typer, click, tqdm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lora_lint.libraries.registry import function, harmless, method
from lora_lint.recipe.conditions import ALWAYS, Subject, both, either
from lora_lint.recipe.machine import GradMode
from lora_lint.recipe.values import (
    ABSENT,
    FALSE,
    NONE,
    REST,
    TRUE,
    Bool,
    Cls,
    Const,
    Dict,
    Func,
    Ids,
    Inst,
    Items,
    Method,
    Model,
    Obj,
    Phi,
    Ref,
    Seq,
    Sym,
    Tensor,
    Value,
    is_eos,
    phi,
    unknown,
    walk,
)

if TYPE_CHECKING:
    import libcst as cst

    from lora_lint.recipe.interpreter import Call, Interpreter

harmless(
    "builtins", "argparse", "collections", "copy", "csv", "datetime", "functools", "gc", "glob", "hashlib", "itertools", "json", "logging", "math",
    "os", "pathlib", "pickle", "pprint", "psutil", "random", "re", "shutil", "string", "sys", "tempfile", "threading", "time", "traceback",
    "typing", "uuid", "warnings", "yaml", "types", "dataclasses", "contextlib", "inspect", "operator", "enum", "subprocess", "socket",
    "datasets", "evaluate", "fire", "huggingface_hub", "loguru", "matplotlib", "nltk", "numpy", "pandas", "rich", "rouge", "rouge_score", "sacrebleu",
    "safetensors", "scipy", "sklearn", "tensorboardX", "tqdm", "torchinfo", "torchsummary", "typer", "click", "wandb", "mlflow", "seaborn", "PIL",
    "tiktoken", "tokenizers", "sentencepiece", "omegaconf", "hydra", "neptune", "comet_ml", "swanlab", "clearml", "gradio", "streamlit", "dotenv",
    "torchvision", "torchaudio", "librosa", "soundfile", "absl", "regex", "requests", "jsonlines", "tabulate", "termcolor", "packaging",
)  # fmt: skip


RANKS = ("RANK", "LOCAL_RANK", "WORLD_SIZE")
PLAIN = frozenset(("dict", "str", "list", "tuple", "int", "float", "bool", "Tensor"))


# -------------------------------------------------------------------- builtins
@function("builtins.getattr")
def _getattr(call: Call) -> Value:
    name = call.get("name", 1)
    if isinstance(name, Const) and isinstance(name.value, str) and call.args:
        owner = call.args[0]
        if isinstance(owner, Sym) and len(call.args) > 2 and isinstance(call.args[2], Const):
            return call.m.derive((".", id(owner.subject), name.value), f"{owner.text}.{name.value}", (call.args[2].value,))
        if isinstance(owner, Inst) and len(call.args) > 2:
            held = call.m.instance_attribute(owner, name.value, call.node)
            return call.args[2] if isinstance(held, Sym) and held.text == "missing attribute" else held
        return call.m.each(owner, lambda o: call.m.attribute(o, name.value, call.node))
    return unknown("attribute")


@function("builtins.setattr")
def _setattr(call: Call) -> Value:
    if len(call.args) == 3:
        name = call.args[1]
        text = name.value if isinstance(name, Const) and isinstance(name.value, str) else "?"
        call.m.each(call.args[0], lambda o: call.m.set_attribute(o, text, call.args[2], call.node))
    return NONE


@function("builtins.hasattr")
def _hasattr(call: Call) -> Value:
    owner, name = call.get("obj", 0), call.get("name", 1)
    text = name.value if isinstance(name, Const) else "?"
    if isinstance(owner, Model) and text in (
        "enable_input_require_grads",
        "gradient_checkpointing_enable",
        "config",
        "get_input_embeddings",
        "parameters",
        "device",
    ):
        return TRUE
    if isinstance(owner, Inst) and isinstance(text, str) and (text in owner.slots or owner.cls.lookup(text) is not None):
        return TRUE
    if isinstance(owner, Model) and text == "hf_device_map":
        return call.m.attribute(owner, "hf_device_map", call.node)
    return call.m.derive(("hasattr", id(owner.subject) if isinstance(owner, Sym) else id(owner), text), f"hasattr(…, {text!r})")


@function("builtins.isinstance")
def _isinstance(call: Call) -> Value:
    value, of = call.get("obj", 0), call.get("class", 1)
    wanted = list(of.items) if isinstance(of, Seq) else [of]
    names = {w.name.rpartition(".")[2] for w in wanted if isinstance(w, Ref)}
    known = {str: {"str"}, bool: {"bool", "int"}, int: {"int"}, float: {"float"}}
    if isinstance(value, Const) and type(value.value) in known and all(isinstance(w, Ref) for w in wanted):
        return TRUE if names & known[type(value.value)] else FALSE
    if isinstance(value, Const) and value.value is None:
        return FALSE if "NoneType" not in names else TRUE
    if isinstance(value, Dict) and names <= PLAIN:
        return TRUE if "dict" in names else FALSE
    if isinstance(value, Seq) and names <= PLAIN:
        return TRUE if value.kind in names else FALSE
    if isinstance(value, Tensor) and not value.number and names <= PLAIN:
        return TRUE if "Tensor" in names else FALSE
    if isinstance(value, (Func, Cls)) and names <= {"str", "dict", "list", "tuple", "int"}:
        return FALSE
    if isinstance(value, Model) and names and names <= {"str", "dict", "list", "int", "float", "bool"}:
        return FALSE
    if isinstance(value, Model) and names == {"PeftModel"}:
        return TRUE if value.peft else FALSE
    key = id(value.subject) if isinstance(value, Sym) else id(value)
    return call.m.derive(("isinstance", key, tuple(sorted(names))), f"isinstance(…, {', '.join(sorted(names)) or 'class'})")


@function("builtins.bool")
def _bool(call: Call) -> Value:
    if not call.args:
        return FALSE
    true, false = call.m.truth(call.args[0])
    return TRUE if true == ALWAYS else FALSE if false == ALWAYS else Bool(true, false)


@function("builtins.int", "builtins.str", "builtins.float")
def _scalar(call: Call) -> Value:
    value = call.args[0] if call.args else Const(0)
    kind = call.name.rpartition(".")[2]
    if isinstance(value, Phi):
        return call.m.each(value, lambda v: _convert(call, kind, v))
    return _convert(call, kind, value)


def _convert(call: Call, kind: str, value: Value) -> Value:
    types: dict[str, Any] = {"int": int, "str": str, "float": float}
    if isinstance(value, Const):
        try:
            return Const(types[kind](value.value))
        except (TypeError, ValueError, OverflowError):
            return unknown(kind)
    if isinstance(value, Sym):
        default: tuple[object, ...] = ()
        if value.subject.default:
            try:
                default = (types[kind](value.subject.default[0]),)
            except (TypeError, ValueError, OverflowError):
                default = ()
        return call.m.derive((kind, id(value.subject)), value.text, default)
    if isinstance(value, Tensor) and kind != "str":
        return call.m.detached([value], f"{kind}()", call.node, number=True)
    return unknown(kind)


@function("builtins.dict", "collections.OrderedDict", "collections.defaultdict", "types.SimpleNamespace", "argparse.Namespace")
def _dict(call: Call) -> Value:
    made = Dict()
    for value in call.args[:1]:
        if isinstance(value, Seq):
            for item in value.elements():
                if isinstance(item, Seq) and len(item.items) == 2:
                    key = item.items[0]
                    made.slots[key.value if isinstance(key, Const) else REST] = item.items[1]
        else:
            call.m.update(made, value, call.node)
    for name, value in call.kwargs.items():
        made.slots[name] = value
        made.sites[name] = call.site_of(name)
    for extra in call.extra:
        made.slots[REST] = extra
    if call.name.endswith("Namespace"):
        return Obj("namespace", dict(made.slots), call.site)
    return made


@function("builtins.list", "builtins.tuple", "builtins.set", "builtins.sorted", "builtins.reversed", "builtins.frozenset", "itertools.chain")
def _list(call: Call) -> Value:
    if not call.args:
        return Seq.of([])
    if len(call.args) == 1 and isinstance(call.args[0], Seq):
        return Seq.of(list(call.args[0].items), "list", call.args[0].rest)
    if len(call.args) == 1 and isinstance(call.args[0], Phi):
        return call.m.each(call.args[0], lambda v: Seq.of([], "list", call.m.element(v, call.node)))
    elements = [call.m.element(v, call.node) for v in call.args]
    return Seq.of(elements[:-1], "list", elements[-1])


@function("builtins.filter", "builtins.map")
def _filter(call: Call) -> Value:
    if len(call.args) < 2:
        return Seq.of([])
    m = call.m
    element = m.element(call.args[1], call.node)
    made = _apply(call, call.args[0], [element])
    if call.name.endswith("filter"):
        made = element
    return Seq.of([], "list", made)


def _apply(call: Call, callee: Value, args: list[Value]) -> Value:
    from lora_lint.recipe.interpreter import Call as NewCall

    inner = NewCall(call.m, call.node, "")
    inner.args = args
    return call.m.call(callee, inner)


@function("builtins.enumerate")
def _enumerate(call: Call) -> Value:
    element = call.m.element(call.args[0], call.node) if call.args else unknown("element")
    return Seq.of([], "list", Seq.of([unknown("index"), element], "tuple"))


@function("builtins.zip")
def _zip(call: Call) -> Value:
    return Seq.of([], "list", Seq.of([call.m.element(a, call.node) for a in call.args], "tuple"))


@function("builtins.iter", "itertools.cycle", "tqdm.*", "itertools.islice", "rich.progress.track", "copy.copy")
def _same(call: Call) -> Value:
    if call.args:
        return call.args[0]
    return call.kwargs.get("iterable", unknown("iterable"))


@function("builtins.next")
def _next(call: Call) -> Value:
    return call.m.element(call.args[0], call.node) if call.args else unknown("element")


@function("builtins.sum", "builtins.max", "builtins.min", "builtins.abs", "builtins.round", "statistics.mean")
def _fold(call: Call) -> Value:
    values: list[Value] = list(call.args)
    if any(isinstance(a, (Seq, Obj, Tensor, Dict)) for a in values):
        held = [e for a in values for e in (a.elements() if isinstance(a, Seq) else [a])]
        if any(isinstance(v, (Tensor, Phi)) for v in held):
            return call.m.combine(held, call.node)
    if len(values) > 1 and all(isinstance(v, Const) for v in values) and call.name != "builtins.round":
        import builtins

        try:
            return Const(getattr(builtins, call.name.rpartition(".")[2])(*(v.value for v in values if isinstance(v, Const))))
        except (TypeError, ValueError):
            return unknown("number")
    return unknown("number")


@function("builtins.len")
def _len(call: Call) -> Value:
    value = call.args[0] if call.args else NONE
    if isinstance(value, Seq) and value.rest is None:
        return Const(len(value.items))
    if isinstance(value, Ids):
        return Ids(Subject("len(…)"), tokens=value.tokens, length=True)
    return unknown("len(…)")


@function("builtins.any", "builtins.all")
def _any(call: Call) -> Value:
    value = call.args[0] if call.args else NONE
    held = value.elements() if isinstance(value, Seq) else []
    if held and len(held) <= 8 and all(isinstance(v, (Bool, Sym, Const)) for v in held):
        tests = [call.m.truth(v) for v in held]
        disjunction = call.name.endswith("any")
        yes, no = tests[0]
        for true, false in tests[1:]:
            joined = either(yes, true) if disjunction else either(no, false)
            if joined is None:
                return unknown("any(…)")
            yes, no = (joined, both(no, false)) if disjunction else (both(yes, true), joined)
        return Bool(yes, no)
    return unknown(f"{call.name.rpartition('.')[2]}(…)")


@function("builtins.print", "builtins.id", "builtins.repr", "builtins.type", "builtins.dir", "builtins.format")
def _inert(call: Call) -> Value:
    return unknown(call.name.rpartition(".")[2])


@function("builtins.range")
def _range(call: Call) -> Value:
    return Seq.of([], "list", unknown("number"))


@function("builtins.vars")
def _vars(call: Call) -> Value:
    return call.args[0] if call.args else unknown("vars()")


@function("builtins.open")
def _open(call: Call) -> Value:
    return Obj("file", {}, call.site)


@function("builtins.exit", "builtins.quit", "sys.exit", "os._exit")
def _exit(call: Call) -> Value:
    call.m.dead = "raise"
    return NONE


@function("contextlib.ExitStack", "contextlib.AsyncExitStack")
def _exit_stack(call: Call) -> Value:
    return Obj("exit_stack", {}, call.site)


@method("exit_stack", "enter_context")
def _enter_context(call: Call) -> Value:
    value = call.args[0] if call.args else NONE
    if isinstance(value, Obj) and value.kind == "grad_mode":
        call.m.modes.append(GradMode(value.info["mode"], call.site))
    return value


@function("functools.partial")
def _partial(call: Call) -> Value:
    target = call.args[0] if call.args else NONE
    return Obj("partial", {"target": target, "args": Seq.of(call.args[1:]), "kwargs": Dict(dict(call.kwargs))}, call.site)


@method("partial", "__call__")
def _call_partial(call: Call) -> Value:
    owner = call.owner
    assert isinstance(owner, Obj)
    args, kwargs = owner.slots["args"], owner.slots["kwargs"]
    if isinstance(args, Seq) and isinstance(kwargs, Dict):
        call.args = [*args.items, *call.args]
        call.kwargs = {**{str(k): v for k, v in kwargs.slots.items()}, **call.kwargs}
    return call.m.call(owner.slots["target"], call)


@function("types.MethodType")
def _method_type(call: Call) -> Value:
    if len(call.args) == 2 and isinstance(call.args[0], Func):
        return Method(call.args[0], call.args[1])
    return unknown("method")


@method("func", "__get__")
def _bind(call: Call) -> Value:
    return Method(call.owner, call.args[0]) if isinstance(call.owner, Func) and call.args else unknown("method")


@function("copy.deepcopy")
def _deepcopy(call: Call) -> Value:
    """A copied model is a model of its own, with the same past."""
    m = call.m

    def copied(value: Value) -> Value:
        if isinstance(value, Model):
            life = m.life(value.life.kind, call.node, library=value.life.library, cls=value.life.cls, checkpoint=value.life.checkpoint)
            life.events.extend(value.life.events)
            return Model(life, value.peft, value.part)
        if isinstance(value, Dict):
            return Dict(dict(value.slots), dict(value.sites))
        if isinstance(value, Seq):
            return Seq(value.kind, dict(value.slots))
        return value

    return m.each(call.args[0], copied) if call.args else NONE


# -------------------------------------------------------------------- settings
@function("os.getenv", "os.environ.get")
def _getenv(call: Call) -> Value:
    name, default = call.get("key", 0), call.get("default", 1)
    text = name.value if isinstance(name, Const) else "?"
    known: tuple[object, ...] = (default.value,) if isinstance(default, Const) else (None,) if default is ABSENT else ()
    return call.m.derive(("env", text), str(text), known)


def environment(m: Interpreter, name: str, node: cst.CSTNode) -> Value:
    """A variable read without a default: one that only a launcher sets shows that there is a launcher."""
    if name in RANKS:
        m.distributed("processes", f"{name} is read without a default: a launcher sets it", node)
    return m.derive(("env", name), name)


def set_environment(m: Interpreter, holder: Ref, key: Const) -> None:
    """Remember which variables the script sets: one that sets its own rank is its own launcher, most often of one process."""
    if holder.name == "os.environ":
        m.recipe.environment.add(str(key.value))


@function("dataclasses.field", "attr.ib", "attrs.field", "pydantic.Field", "typer.Option", "typer.Argument")
def _field(call: Call) -> Value:
    default = call.get("default", 0 if not call.name.startswith("dataclasses") else None)
    factory = call.get("default_factory")
    if factory is not ABSENT:
        default = _apply(call, factory, [])
    if call.name.startswith("typer"):
        return default if default is not ABSENT and default != Const(...) else unknown("option")
    return Obj("field", {"default": default}, call.site)


def field_default(m: Interpreter, default: Value) -> Value:
    """The value that a dataclass field has when it is not given."""
    return default.slots["default"] if isinstance(default, Obj) and default.kind == "field" else default


def declared_field(name: str, owner: str, default: Value | None) -> Value:
    """The value of a field or option that the user may set: unknown, with the declared default."""
    if isinstance(default, Obj) and default.kind == "field":
        default = default.slots["default"]
    if isinstance(default, (Seq, Dict)):
        return default
    known: tuple[object, ...] = (default.value,) if isinstance(default, Const) and default.value is not ... else ()
    return Sym(Subject(f"{owner}.{name}", declared=True, default=known))


@function("argparse.ArgumentParser", "configargparse.ArgumentParser", "jsonargparse.ArgumentParser")
def _parser(call: Call) -> Value:
    return Obj("argparse", {}, call.site, info={"options": {}, "namespace": None})


@method("argparse", "add_argument_group", "add_mutually_exclusive_group", "add_subparsers", "add_parser")
def _group(call: Call) -> Value:
    assert call.owner is not None
    return call.owner


@method("argparse", "add_argument")
def _add_argument(call: Call) -> Value:
    owner = call.owner
    assert isinstance(owner, Obj)
    names = [a.value for a in call.args if isinstance(a, Const) and isinstance(a.value, str)]
    dest = call.get("dest")
    long = next((n for n in names if n.startswith("--")), names[0] if names else "?")
    name = dest.value if isinstance(dest, Const) else long.lstrip("-").replace("-", "_")
    default, action = call.get("default"), call.get("action")
    if default is ABSENT and isinstance(action, Const):
        default = {"store_true": FALSE, "store_false": TRUE}.get(str(action.value), ABSENT)
    if default is ABSENT and call.get("required") is not TRUE and long.startswith("-"):
        default = NONE
    owner.info["options"][name] = default
    return NONE


@method("argparse", "set_defaults")
def _set_defaults(call: Call) -> Value:
    owner = call.owner
    assert isinstance(owner, Obj)
    owner.info["options"].update(call.kwargs)
    return NONE


@method("argparse", "parse_args", "parse_known_args", "parse_intermixed_args", "parse_args_and_config")
def _parse(call: Call) -> Value:
    owner = call.owner
    assert isinstance(owner, Obj)
    if owner.info["namespace"] is None:
        owner.info["namespace"] = Obj("namespace", {}, call.site, info={"options": owner.info["options"]})
    space: Value = owner.info["namespace"]
    return Seq.of([space, unknown("arguments")], "tuple") if "known" in call.name or call.name.endswith("known_args") else space


def option(m: Interpreter, space: Obj, name: str) -> Value:
    """An attribute of a parsed namespace."""
    held = space.slots.get(name)
    if held is not None:
        return held
    default = space.info.get("options", {}).get(name, ABSENT)
    if isinstance(default, (Seq, Dict, Phi)):
        return default
    known: tuple[object, ...] = (default.value,) if isinstance(default, Const) else ()
    return m.derive((".", id(space), name), f"args.{name}", known)


@function("fire.Fire", "typer.run", "absl.app.run")
def _run(call: Call) -> Value:
    """A command line over a function or a class: its parameters are settings."""
    m = call.m
    target = call.get("component", 0)
    if isinstance(target, Func):
        return m.invoke(target, m.symbolic_call(target, call.node), None)
    return NONE


# -------------------------------------------------------------------- containers
def tells(*values: Value) -> bool:
    """Whether a text that is made of these has something in it that a tokenizer put there: a conversation's template, or its EOS."""
    return any(is_eos(v) or (isinstance(v, Obj) and v.kind == "text" and "chat" in v.info) for x in values for v in walk(x))


def container_method(owner: Value, name: str, call: Call) -> Value:
    """Methods of lists, dictionaries and strings."""
    m = call.m
    if isinstance(owner, Dict):
        return _dict_method(m, owner, name, call)
    if isinstance(owner, Seq):
        if name in ("append", "add", "appendleft") and call.args:
            m.store(owner.slots, "items", Items((*owner.items, call.args[0])[-64:]))
            if m.loops:
                m.store(owner.slots, "rest", call.args[0])
        elif name in ("extend", "update") and call.args:
            given = call.args[0]
            if isinstance(given, Seq):
                m.store(owner.slots, "items", Items((*owner.items, *given.items)[-64:]))
                if given.rest is not None:
                    m.store(owner.slots, "rest", given.rest)
            else:
                m.store(owner.slots, "rest", m.element(given, call.node))
        elif name == "copy":
            return Seq(owner.kind, dict(owner.slots))
        elif name in ("pop", "popleft"):
            return m.element(owner, call.node)
        elif name in ("remove", "clear", "insert"):
            m.store(owner.slots, "rest", call.args[-1] if call.args else unknown("element"))
        return NONE
    if isinstance(owner, Const) and isinstance(owner.value, str):
        if name in ("format", "join") and tells(*call.values()):
            return Obj("text", dict(enumerate(call.values())), info={"prefix": ""})
        plain = [a.value for a in call.args if isinstance(a, Const)]
        if (
            len(plain) == len(call.args)
            and not call.kwargs
            and name in ("lower", "upper", "strip", "startswith", "endswith", "replace", "split", "join")
        ):
            try:
                made = getattr(owner.value, name)(*plain)
            except (TypeError, ValueError):
                return unknown("text")
            return Seq.of([Const(x) for x in made]) if isinstance(made, list) else Const(made)
    return unknown("text")


def _dict_method(m: Interpreter, owner: Dict, name: str, call: Call) -> Value:
    key = call.args[0] if call.args else None
    if name in ("get", "pop", "setdefault") and key is not None:
        fallback = call.args[1] if len(call.args) > 1 else NONE
        held = m.item(owner, key, call.node) if not isinstance(key, Const) or key.value in owner.slots or REST in owner.slots else fallback
        if isinstance(key, Const):
            raw = owner.slots.get(key.value)
            if isinstance(raw, Phi) and any(v is ABSENT for _, v in raw.options):
                held = phi([(c, fallback if v is ABSENT else v) for c, v in raw.options])
            if name == "pop" and raw is not None:
                m.store(owner.slots, key.value, ABSENT)
            if name == "setdefault" and raw is None:
                m.store(owner.slots, key.value, fallback)
                owner.sites[key.value] = call.site
        return held
    if name == "update":
        for value in call.args:
            m.update(owner, value, call.node)
        for k, v in call.kwargs.items():
            m.store(owner.slots, k, v)
            owner.sites[k] = call.site_of(k)
        return NONE
    values = [v for v in owner.slots.values() if v is not ABSENT]
    if name == "items":
        pairs: list[Value] = [Seq.of([Const(k) if k != REST else unknown("key"), v], "tuple") for k, v in owner.slots.items() if v is not ABSENT]
        known = [p for p, k in zip(pairs, owner.slots, strict=False) if k != REST]
        rest = next((p for p, k in zip(pairs, owner.slots, strict=False) if k == REST), None)
        return Seq.of(known, "list", rest)
    if name == "values":
        return Seq.of(values, "list")
    if name == "keys":
        return Seq.of([Const(k) for k in owner.slots if k != REST], "list", unknown("key") if REST in owner.slots else None)
    if name == "copy":
        return Dict(dict(owner.slots), dict(owner.sites))
    if name == "to" and values:
        for k, v in list(owner.slots.items()):
            if isinstance(v, Tensor):
                inner = type(call)(m, call.node, "to")
                inner.args, inner.kwargs = call.args, call.kwargs
                from lora_lint import libraries

                m.store(owner.slots, k, libraries.method(v, "to", inner))
        return owner
    return unknown("entry")


def symbol_method(callee: Sym, name: str, call: Call) -> Value | None:
    """Methods of unknown values that still tell something: ``settings.get("x", default)``, ``x.lower()``, ``loss.item()``."""
    m = call.m
    if name == "map":
        from lora_lint.libraries import tokenizers

        return tokenizers.mapped(call, None)
    if name in ("with_format", "set_format") and "device" in call.kwargs:
        m.recipe.default_device = True
    if name == "get" and call.args and isinstance(call.args[0], Const):
        default = call.args[1] if len(call.args) > 1 else NONE
        owner = callee.text.rpartition(".")[0]
        known: tuple[object, ...] = (default.value,) if isinstance(default, Const) else ()
        if isinstance(default, (Seq, Dict)):
            return default
        return m.derive(("get", owner, call.args[0]), f"{owner}[{call.args[0].value!r}]", known)
    return None
