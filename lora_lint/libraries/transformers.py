"""Summaries of transformers: loading, quantizing, checkpointing, moving, the Trainer and what it does by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lora_lint.libraries import python, tokenizers, torch
from lora_lint.libraries.registry import METHODS, attribute, function, harmless, method, recorded
from lora_lint.recipe.conditions import ALWAYS, Condition, both
from lora_lint.recipe.events import BadKeyword, ModelLife
from lora_lint.recipe.values import (
    ABSENT,
    CPU,
    FALSE,
    NONE,
    SOMEWHERE,
    TRUE,
    Bound,
    Cls,
    Const,
    Cut,
    Device,
    Dict,
    Func,
    Inst,
    Model,
    Obj,
    Phi,
    Ref,
    Seq,
    Sym,
    Tensor,
    Value,
    options,
    phi,
    unknown,
)

if TYPE_CHECKING:
    import libcst as cst

    from lora_lint.recipe.interpreter import Call, Interpreter

harmless("transformers.set_seed", "transformers.logging", "transformers.utils", "transformers.is_torch_tpu_available", "transformers.TextStreamer",
         "transformers.TextIteratorStreamer", "transformers.DataCollatorForSeq2Seq", "transformers.GenerationConfig")  # fmt: skip
TOKENIZERS = ("Tokenizer", "TokenizerFast", "Processor", "FeatureExtractor", "ImageProcessor", "ImageProcessorFast")
KBIT_FLAGS = ("load_in_4bit", "load_in_8bit")
DISTRIBUTED_ARGUMENTS = ("deepspeed", "fsdp", "ddp_find_unused_parameters", "ddp_static_graph", "save_strategy")
MODULE_METHODS = frozenset(
    "parameters named_parameters to cuda cpu train eval requires_grad_ half float bfloat16 zero_grad state_dict load_state_dict register_buffer "
    "register_parameter add_module manual_backward log log_dict apply modules named_modules children".split()
)
SUBMODULES = frozenset(
    "model base_model transformer encoder decoder lm_head embed_tokens wte bert roberta deberta electra distilbert vit llama backbone classifier "
    "score head vision_tower vision_model text_model language_model visual projector pooler embeddings word_embeddings shared layers h blocks module "
    "pretrained_model unet text_encoder vae albert xlnet gpt_neox esm longformer segformer dinov2 whisper".split()
)


def is_tokenizer(leaf: str) -> bool:
    return leaf.endswith(TOKENIZERS)


def is_model_class(name: str) -> bool:
    """Whether a transformers class is a model by its name."""
    leaf = name.rpartition(".")[2]
    return (
        leaf[:1].isupper()
        and ("For" in leaf or leaf.endswith(("Model", "PreTrainedModel", "ModelWithHead", "Encoder", "Decoder")))
        and not leaf.endswith(("Config", "Output", "Trainer", "Collator", "Arguments"))
        and not leaf.startswith("DataCollator")
    )


# -------------------------------------------------------------------- loading
@function("transformers.*.from_pretrained")
def _from_pretrained(call: Call) -> Value:
    cls = call.name.split(".")[-2]
    if is_tokenizer(cls):
        return tokenizers.made(call, cls)
    if not is_model_class(cls):
        return unknown(f"{cls}.from_pretrained(…)")
    return load(call, "transformers", cls)


@function("transformers.*.from_config", "transformers.*._from_config")
def _from_config(call: Call) -> Value:
    cls = call.name.split(".")[-2]
    return Model(call.m.life("config", call.node, library="transformers", cls=cls)) if is_model_class(cls) else unknown(cls)


@function("transformers.*")
def _construct(call: Call) -> Value:
    """A class of transformers that is instantiated, or a function without a summary."""
    leaf = call.name.rpartition(".")[2]
    if leaf.endswith("Trainer") and leaf[:1].isupper():
        return make_trainer(call, call.name)
    if leaf.endswith("TrainingArguments"):
        return training_arguments(call)
    if leaf.startswith("DataCollator") or leaf == "default_data_collator":
        keywords = {"mlm": call.get("mlm", 1), "tokenizer": call.get("tokenizer", 0)}
        return Obj("collator", {}, call.site, leaf, {**keywords, "open": call.open})
    if (
        leaf.endswith("Config")
        and leaf != "PretrainedConfig"
        and any(k in leaf for k in ("Gptq", "GPTQ", "Awq", "AWQ", "Hqq", "HQQ", "Aqlm", "Torch", "Quanto", "Fp8", "EETQ", "Eetq", "VPTQ"))
    ):
        return Obj("quantization", {"bits": Const(0)}, call.site, leaf)
    if is_tokenizer(leaf):
        return Obj("tokenizer", {}, call.site, leaf)
    if is_model_class(call.name):
        return Model(call.m.life("config", call.node, library="transformers", cls=leaf))
    from lora_lint import libraries

    if leaf[:1].isupper():
        return unknown(leaf)
    tensor = torch.combine_unknown(call, call.values())
    if tensor is None and any(call.m.models_in(v) for v in call.values()):
        libraries.escape(call)
    return tensor or unknown(f"{leaf}(…)")


@function("transformers.BatchEncoding", "transformers.BatchFeature")
def _batch_encoding(call: Call) -> Value:
    return torch.batch(call.m, CPU, call.node)


def load(call: Call, library: str, cls: str) -> Model:
    """A model loaded from a checkpoint, with what the keywords of the loader do to it."""
    m = call.m
    checkpoint = call.get("pretrained_model_name_or_path", 0)
    life = m.life("pretrained", call.node, library=library, cls=cls, checkpoint=checkpoint)
    m.event(
        life,
        "loaded",
        call.node,
        device_map=call.get("device_map"),
        device_map_site=call.site_of("device_map"),
        open=call.open,
        keywords=dict(call.kwargs),
        sites={k: call.site_of(k) for k in call.kwargs},
        loop=m.loop,
        dtype=call.get("torch_dtype") if "torch_dtype" in call.kwargs else call.get("dtype"),
        grad=m.modes[-1].mode if m.modes else "on",
        grad_site=m.modes[-1].site if m.modes else None,
    )
    quantize(call, life)
    return Model(life)


def quantize(call: Call, life: ModelLife) -> None:
    """Record whether the loader quantizes, by which keyword, and the keywords that newer releases refuse."""
    m = call.m
    config = call.get("quantization_config")
    for condition, value in options(config):
        if isinstance(value, Obj) and value.kind == "quantization":
            for bits, true in quantization_bits(m, value):
                if frozenset() not in true:
                    m.event(life, "quantized", call.node, when=both(condition, true), bits=bits, config=value, site=value.site)
        elif isinstance(value, Dict):
            for bits, key in ((4, "load_in_4bit"), (8, "load_in_8bit")):
                true, _ = m.truth(value.slots.get(key, ABSENT))
                if frozenset() not in true:
                    m.event(life, "quantized", call.node, when=both(condition, true), bits=bits, config=None, site=call.site)
        elif isinstance(value, Sym):
            m.event(life, "quantized", call.node, when=both(condition, m.truth(value)[0]), bits=0, config=value, site=call.site)
    for keyword in KBIT_FLAGS:
        given = call.get(keyword)
        if given is ABSENT:
            continue
        for condition, value in options(given):
            if value is ABSENT:
                continue
            true, _ = m.truth(value)
            if frozenset() not in true:
                bits = 4 if keyword == "load_in_4bit" else 8
                m.event(life, "quantized", call.node, when=both(condition, true), bits=bits, config=None, site=call.site_of(keyword))
            others = {k: v for k, v in call.kwargs.items() if k == "quantization_config" or k.startswith(("bnb_4bit", "llm_int8", "load_in"))}
            m.recipe.keywords.append(
                BadKeyword(keyword, value, call.site_of(keyword), call.site, both(m.pc, condition), m.tick(), call.holders.get(keyword), others)
            )
    checkpoint = life.checkpoint
    text = checkpoint.value if isinstance(checkpoint, Const) and isinstance(checkpoint.value, str) else ""
    if any(word in text.lower() for word in ("gptq", "awq", "-4bit", "-8bit", "_4bit", "bnb-")) and not any(True for _ in life.all("quantized")):
        bits = 4 if "4bit" in text.lower() else 8 if "8bit" in text.lower() else 0
        m.event(life, "quantized", call.node, bits=bits if "bnb" in text.lower() else 0, config=None, site=call.site)
    if call.open and config is ABSENT:
        hidden = m.derive(("hidden", id(call.node), "quantized"), "a keyword in **", declared=False)
        m.event(life, "quantized", call.node, when=m.truth(hidden)[0], bits=0, config=None, site=call.site)


def quantization_bits(m: Interpreter, config: Obj) -> list[tuple[int, Condition]]:
    """Under which conditions a BitsAndBytesConfig means 4 and 8 bits (0 for other methods)."""
    if "bits" in config.slots:
        return [(0, ALWAYS)]
    four, eight = config.slots.get("load_in_4bit", ABSENT), config.slots.get("load_in_8bit", ABSENT)
    found = [(4, m.truth(four)[0]), (8, m.truth(eight)[0])]
    if config.info.get("open"):
        hidden = m.derive(("hidden", id(config)), "a keyword in **", declared=False)
        found.append((0, m.truth(hidden)[0]))
    return found


@function("transformers.pipeline")
def _pipeline(call: Call) -> Value:
    return Obj("pipeline", {}, call.site)


@method("pipeline", "*")
def _pipeline_method(call: Call) -> Value:
    return unknown("pipeline output")


# -------------------------------------------------------------------- models
@method("model", "gradient_checkpointing_enable", "activation_checkpointing_enable", "enable_gradient_checkpointing")
def _checkpointing(call: Call) -> Value:
    m = call.m
    given = call.get("gradient_checkpointing_kwargs", 0)
    owner = call.owner
    assert isinstance(owner, Model)
    m.event(owner, "checkpointing", call.node, by="method", reentrant=reentrant_of(given), reentrant_site=call.site, keywords=given, part=owner.part)
    return NONE


def reentrant_of(keywords: Value) -> Value:
    """The value of use_reentrant in checkpointing keywords; ABSENT where the library's default decides."""
    found: list[tuple[Condition, Value]] = []
    for condition, value in options(keywords):
        if isinstance(value, Dict):
            held = value.slots.get("use_reentrant", ABSENT)
            found.append((condition, unknown("use_reentrant", declared=False) if held is ABSENT and "**" in value.slots else held))
        elif value is ABSENT or value is NONE:
            found.append((condition, ABSENT))
        else:
            found.append((condition, unknown("use_reentrant", declared=False)))
    return phi(found)


@method("model", "gradient_checkpointing_disable", "disable_gradient_checkpointing")
def _no_checkpointing(call: Call) -> Value:
    assert isinstance(call.owner, Model)
    call.m.event(call.owner, "checkpointing_off", call.node)
    return NONE


@method("model", "enable_input_require_grads")
def _input_grads(call: Call) -> Value:
    assert isinstance(call.owner, Model)
    call.m.event(call.owner, "input_grads", call.node)
    return NONE


@method("model", "register_forward_hook", "register_forward_pre_hook", "register_full_backward_hook")
def _hook(call: Call) -> Value:
    """A hook on the embeddings (or anywhere) may make the inputs require grad by hand."""
    assert isinstance(call.owner, Model)
    call.m.event(call.owner, "input_grads", call.node, by_hook=call.name)
    return Obj("handle", {}, call.site)


@method("handle", "*")
def _handle(call: Call) -> Value:
    return NONE


@method("model", "get_input_embeddings", "get_output_embeddings", "get_decoder", "get_encoder")
def _embeddings(call: Call) -> Value:
    assert isinstance(call.owner, Model)
    return Model(call.owner.life, call.owner.peft, "embeddings" if "embeddings" in call.name else call.name)


@method("model", "train", "eval")
def _mode(call: Call) -> Value:
    m = call.m
    owner = call.owner
    assert isinstance(owner, Model)
    given = call.get("mode", 0)
    if call.name == "eval":
        m.event(owner, "mode", call.node, train=False)
    elif given is ABSENT:
        m.event(owner, "mode", call.node, train=True)
    else:
        true, false = m.truth(given)
        for condition, train in ((true, True), (false, False)):
            if frozenset() not in condition:
                m.event(owner, "mode", call.node, when=condition, train=train)
    return owner


@method("model", "requires_grad_")
def _requires_grad(call: Call) -> Value:
    m = call.m
    owner = call.owner
    assert isinstance(owner, Model)
    given = call.get("requires_grad", 0)
    true, false = m.truth(TRUE if given is ABSENT else given)
    partial = bool(owner.part)
    if frozenset() not in true:
        m.event(owner, "unfrozen", call.node, when=true, partial=partial, part=owner.part)
    if frozenset() not in false:
        m.event(owner, "frozen", call.node, when=false, partial=partial, part=owner.part)
    return owner


@method("model", "to", "cuda", "cpu", "half", "float", "bfloat16", "double", "type", "to_empty", "xpu")
def _move(call: Call) -> Value:
    m = call.m
    owner = call.owner
    assert isinstance(owner, Model)
    device = torch.moved_to(call)
    casts = call.name in ("half", "float", "bfloat16", "double", "type") or any(torch.is_dtype(v) for v in call.values())
    if call.open and device is None and not casts:
        device = SOMEWHERE
    if device is not None or casts:
        m.event(owner, "moved", call.node, device=device, method=call.name, cast=casts, part=owner.part, arguments=call.values())
    return owner


@method("model", "resize_token_embeddings")
def _resize(call: Call) -> Value:
    assert isinstance(call.owner, Model)
    call.m.event(call.owner, "embeddings_resized", call.node)
    return Model(call.owner.life, call.owner.peft, "embeddings")


@method("model", "__call__", "forward")
def _forward(call: Call) -> Value:
    m = call.m
    owner = call.owner
    assert isinstance(owner, Model)
    segment = owner.part.rpartition(".")[2]
    tensors = torch.combine_unknown(call, call.values()) is not None
    if owner.part and segment not in SUBMODULES and not tensors and "[]" not in owner.part and segment != "module":
        call.name = segment
        return _model_method(call)
    if (
        owner.part
        and segment not in SUBMODULES
        and "[]" not in owner.part
        and call.name not in ("forward",)
        and segment not in ("module", "embeddings")
    ):
        made = m.combine(call.values(), call.node)
        sealed = owner.life.library in ("transformers", "diffusers", "peft")
        out = m.result(
            Tensor(
                made.attached | {owner.life}, made.cuts, made.device, made.opaque or not sealed, through=made.through | {owner.life}, site=call.site
            )
        )
        return m.weigh(out)
    mode = m.modes[-1].mode if m.modes else "on"
    m.event(owner, "forward", call.node, inputs=inputs_of(call), grad=mode, grad_site=m.modes[-1].site if m.modes else None, part=owner.part)
    if not owner.part and owner.life.kind in ("pretrained", "config"):
        m.entered.update(x for _, t in inputs_of(call) for x in t.attached | t.through if x.kind == "input")
    out = torch.apply_weights(call, [owner.life], owner)
    return Tensor(out.attached, out.cuts, SOMEWHERE, out.opaque, through=out.through, site=out.site)


def inputs_of(call: Call) -> list[tuple[str, Tensor]]:
    """The tensors that a forward or generate call gets, by parameter name (``*`` for the first positional, ``**`` for unpacked ones)."""
    found: list[tuple[str, Tensor]] = []
    for i, value in enumerate(call.args):
        found.extend(("*" if i == 0 else f"*{i}", t) for t in _tensors(call.m, value))
    for name, value in call.kwargs.items():
        found.extend((name, t) for t in _tensors(call.m, value))
    for value in call.extra:
        found.extend(("**", t) for t in _tensors(call.m, value))
    return found


def _tensors(m: Interpreter, value: Value) -> list[Tensor]:
    made: list[Tensor] = []
    for condition, v in options(value):
        if condition and isinstance(v, Dict):
            made.extend(x for x in v.slots.values() if isinstance(x, Tensor))
        if isinstance(v, Tensor):
            made.append(v)
        elif isinstance(v, Obj) and v.kind == "encoding":
            whole = torch.entry_of(m, v)
            named = v.slots.get("input_ids", whole)
            made.extend(x for x in (named,) if isinstance(x, Tensor))
    if len({t.device.kind for t in made}) > 1:
        return []
    return made


@method("model", "generate", "greedy_search", "sample", "beam_search")
def _generate(call: Call) -> Value:
    m = call.m
    owner = call.owner
    assert isinstance(owner, Model)
    m.event(owner, "generate", call.node, inputs=inputs_of(call))
    cut = Cut("generate", call.site, frozenset((owner.life,)), False, False, m.tick())
    return Tensor(frozenset(), (cut,), SOMEWHERE, False, through=frozenset((owner.life,)), site=call.site)


@method("model", "save_pretrained", "save_checkpoint", "push_to_hub")
def _save(call: Call) -> Value:
    assert isinstance(call.owner, Model)
    m = call.m
    path = call.get("save_directory", 0) if call.name == "save_pretrained" else ABSENT
    tuner = f".base_model.{call.name}(" in m.text(call.node)  # what stands below the PeftModel: it saves itself, not the adapter
    m.event(call.owner, "saved", call.node, method=call.name, explicit="state_dict" in call.kwargs, path=path, tuner=tuner)
    return NONE


@method("model", "named_modules", "modules", "named_children", "children")
def _modules(call: Call) -> Value:
    owner = call.owner
    assert isinstance(owner, Model)
    return Obj("modules", {}, call.site, info={"life": owner.life, "peft": owner.peft, "named": call.name.startswith("named")})


@method("model", "apply")
def _apply(call: Call) -> Value:
    assert call.owner is not None
    return call.owner


@method("model", "state_dict")
def _state_dict(call: Call) -> Value:
    owner = call.owner
    assert isinstance(owner, Model)
    return Obj("state_dict", {}, call.site, info={"life": owner.life, "adapters": owner.peft and not owner.part})


@method("model", "backward")
def _engine_backward(call: Call) -> Value:
    """``engine.backward(loss)`` of a DeepSpeed engine."""
    return torch.backward(call.m, call.get("loss", 0), call.node, "engine.backward()")


@method("model", "*")
def _model_method(call: Call) -> Value:
    """A method without a summary: one that is given modules, or that a library out of sight defines, may change what trains."""
    m = call.m
    owner = call.owner
    assert isinstance(owner, Model)
    if call.name.startswith("get_") and not call.args:
        return Model(owner.life, owner.peft, call.name)
    if any(m.models_in(v) for v in call.values()) or call.name.startswith(("set_", "inject", "replace", "load_", "add_")):
        m.event(owner, "surgery", call.node, lives=[], part=call.name)
    return unknown(f"model.{call.name}(…)")


@attribute("model", "*")
def _model_attribute(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    assert isinstance(owner, Model)
    if ("model", name) in METHODS and name != "module":
        return Bound(owner, name)
    if name == "device":
        return torch.device_object(m, Device("follows", f"{owner.life.name}.device", owner), node)
    if name == "training":
        return TRUE  # what concerns us is the training run
    if name == "hf_device_map":
        return m.derive((".", owner.life.number, name), f"model.{name}", declared=False)
    if name in ("config", "generation_config", "peft_config", "dtype", "name_or_path", "main_input_name", "vocab_size"):
        return m.derive((".", owner.life.number, name), f"model.{name}")
    if name in ("is_loaded_in_4bit", "is_loaded_in_8bit", "is_quantized"):
        return quantized_flag(m, owner.life, name)
    if name in ("is_peft_model",):
        return TRUE if owner.peft else FALSE
    if name == "module":
        return owner
    if name == "base_model" and owner.peft and not owner.part:
        return owner  # the tuner: the same parameters, adapters included
    if name == "model" and owner.peft and not owner.part:
        return Model(owner.life)  # PeftModel hands it down to the tuner, whose model is the whole base
    if name == "weight" and "embed" in owner.part:
        return Obj("param", {}, m.site(node), info={"lives": [owner.life], "order": m.tick(), "pc": m.pc, "part": owner.part, "named": False})
    if name in ("weight", "bias"):
        return Tensor(frozenset((owner.life,)), through=frozenset((owner.life,)), site=m.site(node))
    return Model(owner.life, owner.peft, f"{owner.part}.{name}" if owner.part else name)


def quantized_flag(m: Interpreter, life: ModelLife, name: str) -> Value:
    """``model.is_loaded_in_4bit`` and the like, from what the recipe knows of the load."""
    from lora_lint.recipe.values import Bool

    bits = {"is_loaded_in_4bit": (4,), "is_loaded_in_8bit": (8,)}.get(name, (0, 4, 8))
    events = [e for e in life.all("quantized") if e.bits in bits or e.bits == 0]
    if not events:
        return FALSE
    base = set(life.when)
    when = tuple(c for c in events[0].when if c not in base and c not in m.pc)
    if len(events) > 1:
        return m.derive((".", life.number, name), f"model.{name}")
    if when == ALWAYS:
        return TRUE
    from lora_lint.recipe.conditions import negate

    return Bool(when, negate(when) or m.opaque(f"{name}{life.number}", name)[1])


# -------------------------------------------------------------------- collators
@method("collator", "__call__", "torch_call")
def _collate(call: Call) -> Value:
    return torch.batch(call.m, CPU, call.node)


# -------------------------------------------------------------------- arguments
def training_arguments(call: Call) -> Obj:
    """A TrainingArguments object, with the place of each argument."""
    m = call.m
    m.recipe.sets_device = True
    for condition, value in options(call.get("deepspeed")):
        if isinstance(value, Dict) or (isinstance(value, Const) and isinstance(value.value, str) and value.value):
            m.distributed("deepspeed", "the training arguments ask for DeepSpeed", call.site_of("deepspeed").node, condition, value, True)
    for condition, value in options(call.get("fsdp")):
        if value is not ABSENT and (isinstance(value, Seq) or (isinstance(value, Const) and value.value)):
            m.distributed("fsdp", "the training arguments ask for FSDP", call.site_of("fsdp").node, condition)
    return Obj(
        "training_args",
        dict(call.kwargs),
        call.site,
        call.name,
        {"sites": {k: call.site_of(k) for k in call.kwargs}, "open": call.open, "by_parser": False},
    )


@function("transformers.HfDeepSpeedConfig", "transformers.deepspeed.HfDeepSpeedConfig", "transformers.integrations.HfDeepSpeedConfig")
def _deepspeed_config(call: Call) -> Value:
    given = call.get("config_file_or_dict", 0)
    for condition, value in options(given):
        call.m.distributed("deepspeed", "a DeepSpeed configuration is made active", call.node, condition, value, True)
    return Obj("deepspeed_config", {}, call.site)


@attribute("training_args", "*")
def _argument(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    assert isinstance(owner, Obj)
    if name in ("device", "local_rank", "process_index", "world_size", "n_gpu", "distributed_state"):
        if name == "device":
            return torch.device_object(m, Device("follows", "args.device"), node)
        return m.derive((".", id(owner), name), f"args.{name}")
    if name in ("to_dict", "set_save", "set_training", "get_process_log_level", "main_process_first", "to_json_string"):
        return Bound(owner, name)
    return argument(m, owner, name, declared=True)


@method("training_args", "*")
def _argument_method(call: Call) -> Value:
    return unknown(call.name)


def argument(m: Interpreter, args: Value, name: str, *, declared: bool = False) -> Value:
    """An argument of the trainer: as given, ABSENT where the default holds, unknown where the command line decides."""
    if isinstance(args, Phi):
        return phi([(c, argument(m, v, name, declared=declared)) for c, v in args.options])
    if isinstance(args, Inst):
        held = args.slots.get(name)
        if held is not None:
            return held
        default = args.cls.lookup(name)
        if default is not None:
            return python.declared_field(name, "args", default)
        return m.derive((".", id(args), name), f"args.{name}", declared=declared)
    if isinstance(args, Obj):
        held = args.slots.get(name)
        if held is not None:
            return held
        if args.info.get("open") or args.info.get("by_parser"):
            return m.derive((".", id(args), name), f"args.{name}", declared=declared)
        return ABSENT if not declared else m.derive((".", id(args), name), f"args.{name}", (False,))
    if isinstance(args, Sym):
        return m.derive((".", id(args.subject), name), f"{args.text}.{name}", declared=declared)
    return ABSENT


@function("transformers.HfArgumentParser", "trl.TrlParser")
def _hf_parser(call: Call) -> Value:
    given = call.get("dataclass_types", 0)
    classes = list(given.items) if isinstance(given, Seq) else [given] if given is not ABSENT else []
    return Obj("hf_parser", dict(enumerate(classes)), call.site)


@method("hf_parser", "parse_args_into_dataclasses", "parse_json_file", "parse_dict", "parse_yaml_file", "parse_args_and_config")
def _hf_parse(call: Call) -> Value:
    m = call.m
    owner = call.owner
    assert isinstance(owner, Obj)
    made: list[Value] = []
    for cls in owner.slots.values():
        if isinstance(cls, Cls):
            inst = Inst(cls, site=call.site)
            if any(b.endswith("TrainingArguments") for b in cls.library_bases()):
                m.recipe.arguments_parsed = m.tick()
            for name in cls.fields:
                default = cls.lookup(name)
                inst.slots[name] = python.declared_field(name, cls.name, default)
            made.append(inst)
        elif isinstance(cls, Ref) and cls.leaf.endswith(("Arguments", "Config")):
            name = cls.name
            m.recipe.sets_device = m.recipe.sets_device or "Training" in name
            if "Training" in name or cls.root == "trl":
                m.recipe.arguments_parsed = m.tick()
            kind = "training_args" if "Training" in name or (cls.root == "trl" and name.endswith("Config") and "Model" not in name) else "settings"
            made.append(Obj(kind, {}, call.site, name, {"sites": {}, "open": True, "by_parser": True}))
        else:
            made.append(unknown("arguments"))
    extra = call.get("return_remaining_strings")
    if extra is TRUE:
        made.append(unknown("strings"))
    return Seq.of(made, "tuple")


@attribute("settings", "*")
def _setting(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    return argument(m, owner, name, declared=True)


@attribute("namespace", "*")
def _option(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    assert isinstance(owner, Obj)
    return python.option(m, owner, name)


@method("hf_parser", "*")
def _parser_method(call: Call) -> Value:
    return NONE


# -------------------------------------------------------------------- trainers
def make_trainer(call: Call, name: str, inst: Inst | None = None) -> Value:
    """Build a trainer: what it does to its model follows when it trains."""
    m = call.m
    trl = name.startswith("trl.")
    referred = name == "trl.DPOTrainer"  # takes the reference model before the arguments
    args = call.get("args", 2 if referred else 1)
    model = call.get("model", 0)
    factory = call.get("model_init")
    if model in (ABSENT, NONE) and factory is not ABSENT:
        inner = type(call)(m, call.node, "model_init")
        model = m.call(factory, inner)
    if isinstance(model, Const) and isinstance(model.value, str):
        life = m.life("pretrained", call.node, library=name.partition(".")[0], cls="AutoModelForCausalLM", checkpoint=model)
        keywords = call.get("model_init_kwargs")
        if keywords is ABSENT:
            keywords = argument(m, args, "model_init_kwargs")
        loading = type(call)(m, call.node, "from_pretrained")
        if isinstance(keywords, Dict):
            loading.kwargs = {str(k): v for k, v in keywords.slots.items() if k != "**"}
        m.event(life, "loaded", call.node, device_map=ABSENT, device_map_site=call.site, open=False, keywords=loading.kwargs, dtype=ABSENT)
        quantize(loading, life)
        model = Model(life)
    made = Obj(
        "trainer",
        {
            "model": model,
            "args": args,
            "peft_config": call.get("peft_config"),
            "optimizers": call.get("optimizers"),
            "ref_model": call.get("ref_model", 1 if referred else None),
            "callbacks": call.get("callbacks"),
        },
        call.site,
        name,
        {
            "site_of": call.site_of,
            "trl": trl,
            "open": call.open,
            "inst": inst,
            "collator": call.get("data_collator", 2),
            "rows": call.get("train_dataset", 3),
            "tokenizer": call.kwargs.get("processing_class", call.get("tokenizer")),
            "keywords": dict(call.kwargs),
            "config_site": call.site_of("peft_config"),
            "ref_site": call.site_of("ref_model", 1),
            "forced": call.get("force_use_ref_model") if "force_use_ref_model" in call.kwargs else argument(m, args, "force_use_ref_model"),
        },
    )
    given = call.get("peft_config")
    for condition, config in options(given):
        if config is ABSENT or config is NONE:
            continue
        for chosen, one in m.alternatives(model):
            true, _ = m.truth(config)
            m.event(one, "wrapped", call.node, when=both(chosen, both(condition, true)), by="trainer", config=config, library=name, trainer=made)
    for one in m.models_in(model):
        m.event(one, "given_to_trainer", call.node, trainer=made)
    return made


@method("trainer", "train", "fit")
def _train(call: Call) -> Value:
    owner = call.owner
    assert isinstance(owner, Obj)
    return train(call.m, owner, call)


def train(m: Interpreter, trainer: Obj, call: Call) -> Value:
    """``trainer.train()``: the trainer switches checkpointing on as its arguments say, then trains."""
    args = trainer.slots.get("args", ABSENT)
    on = argument(m, args, "gradient_checkpointing")
    if on is ABSENT:
        on = argument(m, args, "activation_checkpointing")
    keywords = argument(m, args, "gradient_checkpointing_kwargs")
    if isinstance(keywords, Sym) and not keywords.subject.declared:
        keywords = ABSENT  # the script does not speak of it: None, unless the command line says otherwise
    mode = m.modes[-1] if m.modes else None
    column = trainer.info.get("keywords", {}).get("dataset_text_field", ABSENT)
    data = tokenizers.training_data(m, trainer, argument(m, args, "dataset_text_field") if column is ABSENT else column, call)
    models = m.alternatives(trainer.slots.get("model", NONE)) or [(ALWAYS, Model(m.life("outside", call.node)))]
    for chosen, model in models:
        for condition, value in options(on):
            true, _ = m.truth(value) if value is not ABSENT else ((frozenset(),), ALWAYS)
            if frozenset() in true:
                continue
            site = argument_site(args, "gradient_checkpointing") or trainer.site
            made = m.event(
                model,
                "checkpointing",
                site.node if site is not None else call.node,
                when=both(chosen, both(condition, true)),
                by="trainer",
                reentrant=reentrant_of(keywords),
                reentrant_site=site,
                keywords=keywords,
                part="",
                arguments=args,
                started_by=call.node,
                calls=tuple(m.calls),
            )
            if site is not None:
                object.__setattr__(made, "site", site)
        m.event(
            model,
            "trained",
            call.node,
            when=chosen,
            how="trainer",
            trainer=trainer,
            data=data,
            grad=mode.mode if mode is not None else "on",
            grad_site=mode.site if mode else None,
            arguments={name: argument(m, args, name) for name in DISTRIBUTED_ARGUMENTS},
        )
    inst = trainer.info.get("inst")
    if isinstance(inst, Inst):
        _run_hook(m, inst, call)
    return unknown("training output")


def argument_site(args: Value, name: str):  # type: ignore[no-untyped-def]
    """Where an argument of the trainer was written."""
    for _, value in options(args):
        if isinstance(value, Obj) and name in value.info.get("sites", {}):
            return value.info["sites"][name]
        if isinstance(value, (Obj, Inst)) and value.site is not None and name in value.slots:
            return value.site
    return None


@method("trainer", "save_model")
def _save_trained(call: Call) -> Value:
    """``trainer.save_model()``: saves the trainer's model, into the output directory where no other is given."""
    owner = call.owner
    assert isinstance(owner, Obj)
    path = call.get("output_dir", 0)
    if path is ABSENT:
        path = argument(call.m, owner.slots.get("args", ABSENT), "output_dir")
    for model in call.m.models_in(owner.slots.get("model", NONE)):
        call.m.event(model, "saved", call.node, method="save_model", explicit=False, path=path, tuner=False)
    return NONE


@method("trainer", "*")
def _trainer_method(call: Call) -> Value:
    owner = call.owner
    assert isinstance(owner, Obj)
    if call.name in ("compute_loss",):
        return _loss(call.m, owner, call)
    if call.name.startswith("get_") and "dataloader" in call.name:
        return Obj("loader", {"dataset": ABSENT, "collate": ABSENT}, call.site, info={"open": True, "prepared": True})
    return unknown(f"trainer.{call.name}(…)")


def _loss(m: Interpreter, trainer: Obj, call: Call) -> Value:
    """``super().compute_loss(model, inputs)``: the loss of the model that is passed."""
    lives = frozenset(x.life for v in call.values() for x in m.models_in(v))
    loss = m.result(Tensor(lives, opaque=not lives, through=lives, site=call.site))
    wants = call.get("return_outputs", 2)
    return Seq.of([loss, loss], "tuple") if wants is TRUE else loss


@attribute("trainer", "model", "model_wrapped", "*")
def _trainer_attribute(m: Interpreter, owner: Value, name: str, node: cst.CSTNode) -> Value:
    assert isinstance(owner, Obj)
    if name == "is_in_train":
        return TRUE
    if name in ("model", "model_wrapped"):
        return owner.slots.get("model", unknown("model"))
    if name in ("args", "ref_model") and owner.slots.get(name, ABSENT) is not ABSENT:
        return owner.slots[name]
    if name == "accelerator":
        return Obj("accelerator", {}, m.site(node), info={"placement": True})
    if name in ("processing_class", "tokenizer"):
        held = owner.info.get("tokenizer")
        return held if isinstance(held, Obj) else Obj("tokenizer", {}, m.site(node))
    if ("trainer", name) in METHODS or name in (
        "evaluate", "predict", "save_model", "save_state", "log_metrics", "save_metrics", "add_callback", "log", "push_to_hub", "create_model_card",
        "create_optimizer", "create_scheduler", "get_train_dataloader", "compute_loss", "remove_callback", "is_world_process_zero",
        "hyperparameter_search", "create_optimizer_and_scheduler", "get_eval_dataloader", "deepspeed", "save_pretrained",
    ):  # fmt: skip
        return Bound(owner, name)
    return m.derive((".", id(owner), name), f"trainer.{name}")


def trainer_base(cls: Cls) -> str:
    """The library trainer that a project class derives from, or an empty string."""
    return next(
        (
            b
            for b in cls.library_bases()
            if b.rpartition(".")[2].endswith("Trainer") and b.partition(".")[0] in ("transformers", "trl", "sentence_transformers")
        ),
        "",
    )


# -------------------------------------------------------------------- classes of the project over library bases
def instantiate(m: Interpreter, cls: Cls, call: Call) -> Value | None:
    """Make an object of a project class that derives from a trainer, training arguments or a transformers model."""
    base = trainer_base(cls)
    if base:
        inst = Inst(cls, site=m.site(call.node))
        m.instances[id(cls)] = inst
        init = cls.lookup("__init__")
        if isinstance(init, Func):
            m.invoke(init, call, inst)
        if "__trainer__" not in inst.slots:
            inst.slots["__trainer__"] = make_trainer(call, base, inst)
        return inst
    bases = cls.library_bases()
    if any(is_model_class(b) and b.startswith("transformers.") for b in bases):
        life = m.life("config", call.node, library="transformers", cls=cls.name)
        return Model(life)
    return None


def base_method(receiver: Inst, name: str, call: Call) -> Value:
    """``super().name(…)`` where the base is a library class."""
    m = call.m
    base = trainer_base(receiver.cls)
    if base:
        if name == "__init__":
            m.store(receiver.slots, "__trainer__", make_trainer(call, base, receiver))
            return NONE
        trainer = receiver.slots.get("__trainer__")
        if name == "compute_loss":
            return _loss(m, trainer if isinstance(trainer, Obj) else Obj("trainer"), call)
        if isinstance(trainer, Obj):
            call.owner = trainer
            from lora_lint import libraries

            return libraries.method(trainer, name, call)
        return unknown(name)
    if name == "__init__":
        if any(b.endswith(("TrainingArguments", "Config")) for b in receiver.cls.library_bases()):
            for k, v in call.kwargs.items():
                m.store(receiver.slots, k, v)
        return NONE
    return instance_method(receiver, name, call)


def instance_method(owner: Value, name: str, call: Call) -> Value:
    """A method of a project object or class that only a library base defines: module methods apply to all models it holds."""
    m = call.m
    from lora_lint import libraries

    if isinstance(owner, Cls):
        if name == "from_pretrained" and any(b.startswith("transformers.") for b in owner.library_bases()):
            return load(call, "transformers", owner.name)
        if name in ("from_pretrained", "load_from_checkpoint", "from_config"):
            return Model(m.life("outside", call.node, library="", cls=owner.name))
        libraries.escape(call)
        return torch.combine_unknown(call, call.values()) or unknown(f"{owner.name}.{name}(…)")
    if isinstance(owner, Inst):
        trainer = owner.slots.get("__trainer__")
        if isinstance(trainer, Obj):
            return libraries.method(trainer, name, call)
        if name in ("parameters", "named_parameters"):
            return torch.parameters_of(m, owner, name.startswith("named"), call.node)
        if name in (
            "to",
            "cuda",
            "cpu",
            "train",
            "eval",
            "requires_grad_",
            "half",
            "float",
            "bfloat16",
            "zero_grad",
            "state_dict",
            "load_state_dict",
            "apply",
        ):
            handler = METHODS.get(("model", name))
            for model in m.models_in(owner):
                if handler is not None:
                    call.owner, call.name = Model(model.life, True, model.part), name  # the guards of PreTrainedModel are not on the way
                    handler(call)
            return owner
        if name in ("register_buffer", "register_parameter", "add_module"):
            key = call.args[0] if call.args else NONE
            if len(call.args) > 1 and isinstance(key, Const):
                held = call.args[1]
                if (
                    name == "register_buffer"
                    and isinstance(held, Tensor)
                    and any(w in str(key.value) for w in ("weight", "base", "kernel", "frozen"))
                ):
                    held = m.weigh(held)
                m.store(owner.slots, key.value, held)
            return NONE
        if name == "forward" and any(b.startswith("torch.nn.") and not b.endswith(".Module") for b in owner.cls.library_bases()):
            return m.weigh(m.combine(call.values(), call.node))
        if name == "manual_backward":
            return torch.backward(m, call.get("loss", 0), call.node, "manual_backward()")
        libraries.escape(call)
        return torch.combine_unknown(call, call.values()) or unknown(f"self.{name}(…)")
    return unknown(name)


def inherited_attribute(m: Interpreter, owner: Inst, name: str, node: cst.CSTNode) -> Value:
    """An attribute of a project object that only a library base defines."""
    trainer = owner.slots.get("__trainer__")
    base = trainer_base(owner.cls)
    if base:
        if not isinstance(trainer, Obj):
            trainer = Obj("trainer", {"model": unknown("model")}, owner.site, base, {"inst": owner, "trl": False})
        return _trainer_attribute(m, trainer, name, node)
    if any(b.endswith(("TrainingArguments",)) for b in owner.cls.library_bases()):
        return m.derive((".", id(owner), name), f"args.{name}")
    if name == "training" and torch.is_module(owner.cls):
        return TRUE  # what concerns us is the training run
    if name in ("weight", "bias") and any(b.startswith("torch.nn.") and not b.endswith(".Module") for b in owner.cls.library_bases()):
        return Tensor(through=frozenset((m.frozen_weights,)), site=m.site(node))
    if name == "device" and torch.is_module(owner.cls):
        return torch.device_object(m, Device("follows", "self.device"), node)
    if name in MODULE_METHODS and (torch.is_module(owner.cls) or owner.cls.library_bases()):
        return Bound(owner, name)
    return m.derive((".", id(owner), name), f"self.{name}")


def _run_hook(m: Interpreter, inst: Inst, call: Call) -> None:
    """Execute the trainer's overridden compute_loss with its own model."""
    func = inst.cls.lookup("compute_loss")
    if isinstance(func, Func):
        inner = type(call)(m, call.node, "compute_loss")
        returned = entry_hook(m, func, inst, inner)
        value = m.invoke(func, inner, inst)
        if returned is not None:
            returned(value)


def entry_hook(m: Interpreter, func: Func, owner: Inst | None, call: Call) -> Callable[[Value], None] | None:
    """``compute_loss`` of a Trainer: the library passes the model and a batch that it moved, and backpropagates what is returned."""
    if owner is None or func.name != "compute_loss" or not trainer_base(owner.cls):
        return None
    names = [n for n, _ in m.parameters(func)]
    if names[:1] == ["self"]:
        names = names[1:]
    trainer = owner.slots.get("__trainer__")
    model = trainer.slots.get("model", ABSENT) if isinstance(trainer, Obj) else ABSENT
    if model is ABSENT or not m.models_in(model):
        life = m.life("outside", func.node)
        model = Model(life)
    if names:
        call.kwargs[names[0]] = model
    if len(names) > 1:
        call.kwargs[names[1]] = torch.batch(m, Device("follows", "args.device"), func.node)
    if "return_outputs" in names:
        call.kwargs["return_outputs"] = FALSE

    def returned(value: Value) -> None:
        torch.backward(m, value, func.node, "the value that compute_loss returns")

    return returned


_HOOK = [f"def compute_loss & import {library}" for library in ("transformers", "trl", "sentence_transformers")]
recorded("backwards", *_HOOK)
recorded("trained", "train & Trainer*", "fit & Trainer*", *_HOOK)
recorded("wrapped", "peft_config")
recorded("checkpointing", "gradient_checkpointing*", "activation_checkpointing*")
recorded("keywords", "load_in_*")
recorded("loaded", "from_pretrained", "from_config", "_from_config", "For*", "Model*", "Encoder*", "Decoder*", "Trainer*")
recorded("placed", "device_map")
