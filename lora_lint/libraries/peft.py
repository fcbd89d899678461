"""Summaries of PEFT: configurations, wrapping, loading adapters, preparing quantized bases, merging."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lora_lint.libraries.registry import function, harmless, method, recorded
from lora_lint.libraries.transformers import load
from lora_lint.recipe.values import ABSENT, NONE, TRUE, Const, Model, Obj, Sym, Value, unknown

if TYPE_CHECKING:
    from lora_lint.recipe.interpreter import Call

harmless("peft.initialize_lora_eva_weights", "peft.PeftModel.save_pretrained", "peft.TaskType")


@function("peft.*Config", "peft.LoraRuntimeConfig")
def _config(call: Call) -> Value:
    leaf = call.name.rpartition(".")[2]
    return Obj(
        "adapter_config", dict(call.kwargs), call.site, leaf, {"open": call.open, "sites": {k: call.site_of(k) for k in call.kwargs}, "stored": False}
    )


@function("peft.*Config.from_pretrained")
def _stored_config(call: Call) -> Value:
    leaf = call.name.split(".")[-2]
    path = call.get("pretrained_model_name_or_path", 0)
    text = path.text if isinstance(path, Sym) else str(path.value) if isinstance(path, Const) else _written(call)
    return Obj("adapter_config", {}, call.site, leaf, {"open": True, "sites": {}, "stored": True, "path": text.lower()})


def _written(call: Call) -> str:
    """The first argument as the script spells it."""
    node = call.nodes.get("pretrained_model_name_or_path") or call.nodes.get(0)
    return call.m.text(node.value) if node is not None else ""


@function("peft.get_peft_config")
def _config_from_dict(call: Call) -> Value:
    return Obj("adapter_config", {}, call.site, "PeftConfig", {"open": True, "sites": {}, "stored": False})


@function("peft.get_peft_model")
def _wrap(call: Call) -> Value:
    m = call.m
    config, model = call.get("peft_config", 1), call.get("model", 0)

    def wrap(value: Value) -> Value:
        if isinstance(value, Model):
            life = value.life
        else:
            models = m.models_in(value)
            life = models[0].life if len(models) == 1 and models[0].life.kind != "layer" else m.life("outside", call.node)
        m.event(
            Model(life, isinstance(value, Model) and value.peft),
            "wrapped",
            call.node,
            by="get_peft_model",
            config=config,
            library="peft",
            compiled=isinstance(value, Model) and value.compiled,
            adapter_name=call.get("adapter_name", 2),
            adapter_name_site=call.site_of("adapter_name", 2),
            part=value.part if isinstance(value, Model) else "",
            autocast=call.get("autocast_adapter_dtype", 4),
            open=call.open,
        )
        return Model(life, True)

    return m.each(model, wrap) if model is not ABSENT else unknown("model")


@function("peft.PeftModel", "peft.PeftModelFor*", "peft.LoraModel")
def _construct(call: Call) -> Value:
    if "." in call.name.partition(".")[2]:
        return unknown(call.name)
    call.kwargs.setdefault("peft_config", call.get("config", 1))
    return _wrap(call)


@function("peft.inject_adapter_in_model")
def _inject(call: Call) -> Value:
    m = call.m
    model = call.get("model", 1)

    def wrap(value: Value) -> Value:
        if isinstance(value, Model):
            m.event(value, "wrapped", call.node, by="inject_adapter_in_model", config=call.get("peft_config", 0), library="peft")
        return value

    return m.each(model, wrap)


@method("model", "add_adapter")
def _add_adapter(call: Call) -> Value:
    m = call.m
    owner = call.owner
    assert isinstance(owner, Model)
    first, second = call.get("adapter_config", 0), call.get("peft_config", 1)
    config = second if owner.peft and second is not ABSENT else first
    if isinstance(config, Const):
        config = second
    name = call.get("adapter_name", 0) if owner.peft else ABSENT
    m.event(
        owner,
        "wrapped",
        call.node,
        by="PeftModel.add_adapter" if owner.peft else "add_adapter",
        config=config,
        library="transformers",
        adapter_name=name,
        adapter_name_site=call.site_of("adapter_name", 0),
        open=call.open,
    )
    return NONE


@function("peft.PeftModel.from_pretrained", "peft.PeftModelFor*.from_pretrained", "peft.PeftMixedModel.from_pretrained")
def _load_adapter(call: Call) -> Value:
    m = call.m
    trainable = call.get("is_trainable", 3)

    def wrap(value: Value) -> Value:
        models = m.models_in(value)
        known = value if isinstance(value, Model) else models[0] if len(models) == 1 else Model(m.life("outside", call.node))
        m.event(
            known,
            "adapter_loaded",
            call.node,
            trainable=trainable,
            open=call.open,
            by="PeftModel.from_pretrained",
            config=call.get("config", 4),
            call=call.site,
            path=call.get("model_id", 1),
            base=value,
            loop=m.loop,
        )
        return Model(known.life, True)

    return m.each(call.get("model", 0), wrap)


@function("peft.AutoPeft*.from_pretrained")
def _auto_peft(call: Call) -> Value:
    m = call.m
    model = load(call, "peft", call.name.split(".")[-2])
    by = f"{call.name.split('.')[-2]}.from_pretrained"
    m.event(model, "adapter_loaded", call.node, trainable=call.get("is_trainable", 2), open=call.open, by=by, config=ABSENT, call=call.site)
    return Model(model.life, True)


@method("model", "load_adapter")
def _load_more(call: Call) -> Value:
    owner = call.owner
    assert isinstance(owner, Model)
    by = "PeftModel.load_adapter" if owner.peft else "load_adapter"
    call.m.event(owner, "adapter_loaded", call.node, trainable=call.get("is_trainable", 2), open=call.open, by=by, config=ABSENT, call=call.site)
    return NONE


@method("model", "set_adapter", "enable_adapters", "enable_adapter_layers")
def _set_adapter(call: Call) -> Value:
    assert isinstance(call.owner, Model)
    call.m.event(call.owner, "set_adapter", call.node, method=call.name)
    return NONE


@method("model", "disable_adapter")
def _disable(call: Call) -> Value:
    assert call.owner is not None
    return Obj("disabled_adapters", {"model": call.owner}, call.site)


@method("model", "disable_adapter_layers", "disable_adapters")
def _disable_layers(call: Call) -> Value:
    assert isinstance(call.owner, Model)
    call.m.event(call.owner, "disabled", call.node, scope="rest")
    return NONE


@method("model", "merge_and_unload", "unload")
def _merge(call: Call) -> Value:
    assert isinstance(call.owner, Model)
    call.m.event(call.owner, "merged", call.node, method=call.name, dropped=call.m.drops(call.node), loop=call.m.loop)
    return Model(call.owner.life)


@method("model", "merge_adapter", "unmerge_adapter")
def _merge_in_place(call: Call) -> Value:
    assert isinstance(call.owner, Model)
    call.m.event(call.owner, "merged_in_place" if call.name == "merge_adapter" else "unmerged", call.node)
    return NONE


@method("model", "get_base_model")
def _base(call: Call) -> Value:
    assert isinstance(call.owner, Model)
    return Model(call.owner.life)


@method("model", "print_trainable_parameters", "get_nb_trainable_parameters", "get_model_status", "get_layer_status", "delete_adapter",
         "tie_weights", "zero_grad", "num_parameters", "get_memory_footprint", "step", "get_submodule")  # fmt: skip
def _harmless_method(call: Call) -> Value:
    if call.name == "get_submodule" and isinstance(call.owner, Model):
        return Model(call.owner.life, call.owner.peft, "module")
    return unknown(f"model.{call.name}(…)")


@method("model", "load_state_dict")
def _load_state(call: Call) -> Value:
    assert isinstance(call.owner, Model)
    call.m.event(call.owner, "weights_set", call.node, state=call.get("state_dict", 0), strict=call.get("strict", 1), whole=not call.owner.part)
    return NONE


@function("peft.get_peft_model_state_dict")
def _adapter_state(call: Call) -> Value:
    models = call.m.models_in(call.get("model", 0))
    return Obj("state_dict", {}, call.site, info={"life": models[0].life, "adapters": True} if models else {})


@function("peft.set_peft_model_state_dict")
def _set_state(call: Call) -> Value:
    for model in call.m.models_in(call.get("model", 0)):
        call.m.event(model, "weights_set", call.node)
    return NONE


@function("peft.prepare_model_for_kbit_training", "peft.prepare_model_for_int8_training", "peft.prepare_model_for_training")
def _prepare(call: Call) -> Value:
    m = call.m
    given = call.get("use_gradient_checkpointing", 1)
    keywords = call.get("gradient_checkpointing_kwargs", 2)
    if call.name.endswith("int8_training"):
        given = call.get("use_gradient_checkpointing", 3)
    flag = TRUE if given is ABSENT else given

    def prepare(value: Value) -> Value:
        for model in [value] if isinstance(value, Model) else m.models_in(value):
            m.event(model, "prepared", call.node, checkpointing=m.truth(flag)[0], keywords=keywords, open=call.open)
        return value

    return m.each(call.get("model", 0), prepare)


@function("peft.cast_mixed_precision_params", "peft.utils.*")
def _utility(call: Call) -> Value:
    return unknown(call.name)


recorded("wrapped", "get_peft_model", "add_adapter", "inject_adapter_in_model", "PeftModel*", "LoraModel")
recorded("adapter_loaded", "load_adapter", "PeftModel*", "PeftMixedModel", "AutoPeft*")
recorded("prepared", "prepare_model_for*")
recorded("checkpointing", "prepare_model_for*")
recorded("frozen", "merge_and_unload", "unload", "merge_adapter", "disable_adapter*")
