"""Shrinks the configuration of any architecture, by the names of its attributes, so that a random model of it has a few hundred thousand numbers.

Names of modules depend on the kind of the architecture and on switches, never on sizes: only sizes change here.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from typing import Any

WIDTH, INNER, LAYERS, HEADS, KEY_HEADS, HEAD, VOCABULARY, POSITIONS = 64, 128, 2, 4, 2, 16, 1024, 2048
EXPERTS, CHOSEN = 4, 2

_Rule = Callable[[Any, dict[str, Any]], Any]
_LAYER_COUNTS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "decoder_layers", "num_blocks")
_HEAD_COUNTS = ("num_attention_heads", "n_head", "num_heads", "n_heads", "decoder_attention_heads")
_DROPPED = ("transformers_version", "_name_or_path", "architectures", "dtype", "torch_dtype", "quantization_config", "auto_map", "model_type")


def _fixed(size: int) -> _Rule:
    return lambda value, config: size if value else value


def _at_most(size: int) -> _Rule:
    return lambda value, config: min(value, size) if value and value > 0 else value


def _key_heads(value: int, config: dict[str, Any]) -> int:
    heads = next((config[name] for name in _HEAD_COUNTS if isinstance(config.get(name), int)), None)
    return KEY_HEADS if value and (heads is None or value < heads) else HEADS


_RULES: list[tuple[re.Pattern[str], _Rule]] = [
    (re.compile(pattern), rule)
    for pattern, rule in (
        # State space models, whose names would match the rules below.
        (r"^(mamba_n_heads|n_mamba_heads|mamba_num_heads)$", _fixed(HEADS)),
        (r"^(mamba_d_head|mamba_head_dim|mamba_d_state|ssm_state_size|state_size)$", _fixed(HEAD)),
        (r"^(expand|mamba_expand)$", lambda value, config: 1),
        (r"^(mamba_d_ssm|mamba_intermediate_size)$", _fixed(WIDTH)),
        (r"^(mamba_dt_rank|time_step_rank)$", _at_most(4)),
        (r"^(n_groups|mamba_n_groups|mamba_ngroups)$", lambda value, config: 1),
        (r"^rotary_dim$", _at_most(HEAD)),
        # Counts.
        (
            r"^(num_key_value_heads|num_kv_heads|n_head_kv|multi_query_group_num|num_key_value_groups|num_global_key_value_heads"
            r"|decoder_num_key_value_heads)$",
            _key_heads,
        ),
        (r"^(num_)?(hidden_|decoder_|encoder_|text_|n_)?(layers?|num_layers|n_layers?|num_hidden_layers|num_blocks|n_block)$", _at_most(LAYERS)),
        (r"(num|n).*(hidden_layers|decoder_layers|encoder_layers|num_layers|_layers)$", _at_most(LAYERS)),
        (r"(attention_heads|num_heads|n_heads?|_heads|n_head)$", lambda value, config: HEADS if value > 1 else value),
        (r"^(num_local_experts|num_experts|n_routed_experts|moe_num_experts)$", _at_most(EXPERTS)),
        (r"^(num_experts_per_tok|num_experts_per_token|moe_topk|moe_k|top_k_experts|num_selected_experts|moe_top_k)$", _at_most(CHOSEN)),
        (r"^depth$", _at_most(LAYERS)),
        (r"^num_kv_shared_layers$", lambda value, config: 0),
        (r"^(n_group|topk_group)$", lambda value, config: 1),
        (r"^(attn_layer_period|expert_layer_period)$", lambda value, config: 2),
        (r"^(attn_layer_offset|expert_layer_offset)$", lambda value, config: 1),
        # Widths.
        (
            r"^(head_dim|d_kv|attention_head_size|kv_channels|global_head_dim|swa_head_dim|head_size|key_length|v_head_dim|value_head_dim"
            r"|qk_head_dim|attention_head_dim|attn_head_dim|linear_(key|value)_head_dim)$",
            _fixed(HEAD),
        ),
        (r"^(qk_nope_head_dim|qk_rope_head_dim)$", _fixed(HEAD // 2)),
        (r"^(q_lora_rank|kv_lora_rank|o_lora_rank|index_head_dim|index_topk)$", _fixed(HEAD)),
        (
            r"(intermediate_size|ffn_dim|d_ff|d_inner|n_inner|ffn_hidden_size|intermediate_dim|mlp_dim|inner_dim|feed_forward_dim"
            r"|feed_forward_proj_dim|dim_feedforward|block_ff_dim)$",
            _fixed(INNER),
        ),
        (r"^(hidden_size_per_layer_input|embedding_size|ln_hidden_size|emb_dim|word_embed_proj_dim)$", _fixed(WIDTH)),
        (
            r"^(hidden_size|d_model|n_embd|dim|embed_dim|hidden_dim|encoder_hidden_size|decoder_hidden_size|model_dim|d_embed|embedding_dim|d_hidden"
            r"|out_hidden_size|attention_hidden_size|lru_width|output_hidden_size|mm_hidden_size|audio_hidden_size|width|projection_dim|output_dim"
            r"|conv_dim|dim_in|backbone_hidden_size|codec_embed_dim|rnn_hidden_size|time_mix_hidden_size)$",
            _fixed(WIDTH),
        ),
        (r"pooler_hidden_size$", _fixed(WIDTH)),
        (r"^d_head$", _fixed(HEAD)),
        (r"^coordinate_size$", _fixed(WIDTH // 8)),
        (r"^shape_size$", _fixed(WIDTH // 4)),
        # Lengths.
        (r"vocab_size_per_layer_input$", _fixed(VOCABULARY)),
        (r"vocab_size$", _at_most(VOCABULARY)),
        (
            r"(max_position_embeddings|n_positions|max_seq_len|seq_length|n_ctx|max_sequence_length|model_max_length|max_source_positions"
            r"|max_target_positions)$",
            _at_most(POSITIONS),
        ),
        (r"^(sliding_window|attention_window|window_size)$", _at_most(64)),
        (r"^image_size$", _fixed(32)),
        (r"^patch_size$", _fixed(8)),
    )
]


def shrunk(config: Any) -> Any:
    """A small configuration of the same class; one that is small already comes out equal."""
    whole = copy.deepcopy(config.to_dict())
    values = {name: value for name, value in whole.items() if name not in _DROPPED and not _computed(type(config), name)}
    return type(config).from_dict(_shrink(values))


def _computed(cls: type, name: str) -> bool:
    """Whether an entry of a configuration follows from others, and cannot be set."""
    found = getattr(cls, name, None)
    return isinstance(found, property) and found.fset is None


def shrink_in_place(config: Any) -> None:
    """Make a configuration small where it is, for whoever else holds it."""
    small = shrunk(config)
    for name, value in vars(small).items():
        if name not in ("_name_or_path", "name_or_path", "architectures", "transformers_version", "dtype", "_attn_implementation_internal"):
            vars(config)[name] = value


def is_big(config: Any, limit: float = 6e7) -> bool:
    """Whether a model of this configuration has more than about ``limit`` parameters."""
    return _parameters(config.to_dict()) > limit


def _parameters(values: dict[str, Any]) -> float:
    """About how many parameters a model has, by its widths and depths."""

    def largest(pattern: str) -> int:
        return max((value for name, value in values.items() if re.search(pattern, name) and type(value) is int), default=0)

    width = largest(r"^(hidden_size|d_model|n_embd|dim|embed_dim|hidden_dim)$")
    layers = largest(r"^(num_hidden_layers|n_layers?|num_layers|decoder_layers|num_decoder_layers)$")
    experts = max(1, largest(r"^(num_local_experts|num_experts|n_routed_experts)$"))
    own = 12.0 * layers * width * width * experts + largest(r"^vocab_size$") * width
    return own + sum(_parameters(value) for name, value in values.items() if isinstance(value, dict) and name.endswith("_config"))


def _shrink(values: dict[str, Any]) -> dict[str, Any]:
    layers = next((values[name] for name in _LAYER_COUNTS if isinstance(values.get(name), int)), None)
    small: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict) and value and all(str(key).isdigit() for key in value):  # an entry for each layer
            small[name] = {key: item for key, item in value.items() if int(key) < LAYERS}
        elif isinstance(value, dict) and ("model_type" in value or name.endswith("_config")):
            small[name] = _shrink(value)
        elif isinstance(value, list) and layers and layers > LAYERS and len(value) == layers:
            small[name] = _one_of_each(value)
        elif type(value) is int:
            small[name] = next((rule(value, values) for pattern, rule in _RULES if pattern.search(name)), value)
        elif name == "attn_layer_indices" or (name == "deepstack_visual_indexes" and value):  # positions of layers
            small[name] = [LAYERS - 1]
        elif name == "block_types" and isinstance(value, list):  # repeated over the layers
            small[name] = list(dict.fromkeys(value))
        else:
            small[name] = value
    _fit_heads(small, values)
    _fit_tokens(small)
    for name in ("rope_parameters", "rope_scaling"):
        if isinstance(small.get(name), dict):
            _fit_rope(small[name])
    return small


def _one_of_each(kinds: list[Any]) -> list[Any]:
    """Of a list with an entry for each layer, the first of each kind, ``LAYERS`` in all."""
    texts = [str(kind) for kind in kinds]
    chosen = [texts.index(text) for text in list(dict.fromkeys(texts))[:LAYERS]]
    chosen += [chosen[-1]] * (LAYERS - len(chosen))
    if set(texts) == {"linear_attention"}:  # a default: the models of this kind have others as well
        return [*kinds[: LAYERS - 1], "full_attention"]
    return [kinds[index] for index in sorted(chosen)]


def _fit_heads(small: dict[str, Any], values: dict[str, Any]) -> None:
    if isinstance(small.get("qk_rope_head_dim"), int) and "head_dim" in small:
        small["head_dim"] = small["qk_rope_head_dim"]
    if values.get("num_key_value_heads", 0) is None:
        small["num_key_value_heads"] = HEADS
    if "num_key_value_heads" in values and values.get("head_dim", 0) is None:
        small["head_dim"] = HEAD
    if "topk_method" in values and values.get("num_experts_per_tok", 0) is None:
        small["num_experts_per_tok"] = CHOSEN


def _fit_tokens(small: dict[str, Any]) -> None:
    if small.get("is_encoder_decoder") and small.get("decoder_start_token_id") is None:
        small["decoder_start_token_id"] = small.get("pad_token_id") or 0
    size = small.get("vocab_size")
    if not isinstance(size, int):
        return
    for name, value in list(small.items()):
        if name.endswith(("token_id", "token_ids", "_token_index")):
            if type(value) is int and value >= size:
                small[name] = size - 1
            elif isinstance(value, list):
                small[name] = [min(item, size - 1) if type(item) is int else item for item in value]


def _fit_rope(values: dict[str, Any]) -> None:
    for name, value in list(values.items()):
        if isinstance(value, dict):
            _fit_rope(value)
        elif name == "mrope_section" and isinstance(value, list):
            values[name] = [HEAD // 2 - 2 * (HEAD // 8), HEAD // 8, HEAD // 8]
        elif name in ("long_factor", "short_factor") and isinstance(value, list):
            values[name] = [1.0] * (HEAD // 2)
        elif name == "original_max_position_embeddings":
            values[name] = POSITIONS
