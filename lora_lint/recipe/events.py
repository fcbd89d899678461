"""The recipe's records: what happened to each model, in order, and under what conditions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lora_lint.recipe.conditions import ALWAYS, Condition

if TYPE_CHECKING:
    import libcst as cst

    from lora_lint.recipe.values import Cls, Dict, Obj, Tensor, Value
    from lora_lint.source import Source


@dataclass(frozen=True, eq=False)
class Site:
    """A place in a source file: the node itself and the whole statement around it.

    ``block`` identifies the statement list that holds the statement, ``calls`` are the call statements through which the interpreter came
    here (outermost first), so that a finding in a helper can be explained, and two sites be compared for standing in one block. ``guarded``: it
    stands where a missing name or keyword is provided for.
    """

    node: cst.CSTNode
    stmt: cst.CSTNode | None
    source: Source
    block: int = 0
    function: int = 0
    calls: tuple[Site, ...] = ()
    guarded: bool = False


@dataclass(frozen=True, eq=False)
class Event:
    """One thing that happened to a model.

    Kinds: loaded, quantized, prepared, checkpointing, checkpointing_off, input_grads, wrapped, adapter_loaded, set_adapter, weights_set, frozen,
    unfrozen, surgery, moved, dispatched, accelerated, parallel, mode, forward, generate, given_to_trainer, trained, optimized,
    param_group_added, unscaled, merged, merged_in_place, unmerged, disabled, enabled, embeddings_resized, state_dict_replaced, saved, escaped.
    """

    kind: str
    site: Site
    when: Condition
    order: int
    peft: bool = False
    data: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.data[name]
        except KeyError:
            raise AttributeError(name) from None


@dataclass(eq=False)
class ModelLife:
    """The life of one model object: where it came from and all that happened to it, in program order.

    ``kind``: ``pretrained`` (from_pretrained), ``config`` (built from a configuration), ``layer`` (a torch layer or parameter of the script),
    ``module`` (own parameters of a module class), ``input`` (what enters a module's forward), ``outside`` (came in from code that we cannot
    see, so its past is unknown).
    """

    number: int
    kind: str
    site: Site
    library: str = ""
    cls: str = ""
    checkpoint: Value | None = None
    when: Condition = ALWAYS
    events: list[Event] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    trainable: bool = True

    def all(self, *kinds: str, before: int | None = None, after: int | None = None) -> Iterator[Event]:
        """Events of these kinds in order, optionally only those before and after a point in program order."""
        for e in self.events:
            if e.kind in kinds and (before is None or e.order < before) and (after is None or e.order > after):
                yield e

    @property
    def name(self) -> str:
        """The variable that it was last known by."""
        return self.names[-1] if self.names else "model"


@dataclass(frozen=True, eq=False)
class Backward:
    """A value that is backpropagated: ``.backward()``, ``accelerator.backward(…)``, or what compute_loss / training_step returns."""

    tensor: Tensor
    site: Site
    when: Condition
    order: int
    how: str


@dataclass(frozen=True)
class Loop:
    """A loop that may take more turns than the one that was interpreted: what lies in it comes after itself."""

    start: int
    end: int


@dataclass(frozen=True, eq=False)
class OptimizerLife:
    """An optimizer and the models whose parameters it was given; ``all`` where the whole of ``parameters()`` went in."""

    site: Site
    when: Condition
    order: int
    lives: tuple[ModelLife, ...]
    cls: str


@dataclass(frozen=True, eq=False)
class BadKeyword:
    """A keyword that reached a loader, with the dictionary entry or argument that set it."""

    keyword: str
    value: Value
    site: Site
    call: Site
    when: Condition
    order: int
    holder: Dict | None = None
    others: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Distributed:
    """What shows that a script runs in several processes.

    ``kind``: ``processes`` (it joins a group, or reads its rank without a default), ``ddp``, ``fsdp``, or ``deepspeed`` with its ``config``
    as the script gives it; ``active`` where models loaded from then on know of it. ``text`` says it in words; ``site`` is ``None`` where it
    stands in another file (a launch line).
    """

    kind: str
    text: str
    site: Site | None
    when: Condition = ALWAYS
    order: int = 0
    config: Value | None = None
    active: bool = False


@dataclass(frozen=True, eq=False)
class FileRead:
    """A file of weights that was read by ``torch.load`` or safetensors: its path as a value and as the script spells it."""

    path: Value
    text: str
    site: Site


@dataclass(frozen=True, eq=False)
class FileWritten:
    """A model's state dict that was written with ``torch.save``; ``adapters`` where a PeftModel gave it."""

    path: Value
    life: ModelLife
    adapters: bool
    site: Site


@dataclass(frozen=True, eq=False)
class Import:
    """An import that ran: the full name of a module, or of a name in one (then ``module`` is the part before it).

    ``guarded``: an exception is caught around it, or it is for type checkers.
    """

    name: str
    module: str
    site: Site
    when: Condition
    guarded: bool


@dataclass(frozen=True, eq=False)
class LibraryCall:
    """A call of a library's function, class or method, under its full name.

    ``positional`` is the number of positional arguments, ``None`` where a star hides it. ``places`` has the place of each keyword: in the call, or
    the dictionary entry that brought it; ``holders`` the dictionary. ``through`` is the project's class over it that was called instead.
    """

    name: str
    site: Site
    when: Condition
    order: int
    positional: int | None
    keywords: dict[str, Value]
    places: dict[str, Site]
    holders: dict[str, Dict]
    guarded: bool
    through: Cls | None = None


@dataclass(frozen=True, eq=False)
class Branch:
    """A frozen branch of a module's forward whose gradient with respect to the module's input was dropped."""

    site: Site
    kind: str
    cls: str
    when: Condition
    joined: Site | None = None


@dataclass(frozen=True)
class Family:
    """What the tokenizers of a family of checkpoints do by themselves; ``None`` where they differ or it is not known.

    ``bos``: they put a BOS in front, and so does their chat template, where they have one. ``pad``: they have a padding token. ``side``: where
    they pad. ``eos``: their chat template ends a turn with the EOS.
    """

    bos: bool | None = None
    pad: bool | None = None
    side: str = ""
    eos: bool = False


@dataclass(frozen=True, eq=False)
class Tokens:
    """One call of a tokenizer on texts: with what it was called, and how the tokenizer was set up then.

    ``padding`` and ``special`` are the keywords ``padding`` and ``add_special_tokens``, ``side`` is where the padding goes; ABSENT where the
    default decides. ``shaped``: it returns tensors, a row for each text. ``open``: more keywords may hide in a ``**``.
    """

    tokenizer: Obj
    text: Value
    padding: Value
    side: Value
    special: Value
    shaped: bool
    open: bool
    site: Site
    when: Condition
    order: int


@dataclass(frozen=True, eq=False)
class Data:
    """What a trainer trains on: a row of its dataset, the text in it that the trainer tokenizes itself, the batch that the script's own collator

    makes of such rows, and how the tokenizer of the library's collator was set up then. ABSENT where there is no such thing.
    """

    row: Value
    text: Value
    batch: Value
    tokenizer: Obj | None
    pad: Value
    template: Value


@dataclass(frozen=True, eq=False)
class LabelWrite:
    """``labels[key] = value`` on a tensor with the ids that a tokenizer made; ``pad`` is what the tokenizer pads with then."""

    tensor: Tensor
    key: Value
    value: Value
    pad: Value
    site: Site
    when: Condition
    order: int
