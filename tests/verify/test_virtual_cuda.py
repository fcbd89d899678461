"""Virtual CUDA: tensors on devices that are not there, and the errors that mixing them gives."""

from __future__ import annotations

import copy
import io
import pickle
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from lora_lint.verify.step import virtual_cuda  # noqa: E402

F = torch.nn.functional
TWO_DEVICES = "Expected all tensors to be on the same device"


@pytest.fixture
def devices(request: pytest.FixtureRequest) -> Iterator[int]:
    """One virtual device, or as many as the test asks for."""
    count = getattr(request, "param", 1)
    undo = virtual_cuda.install(count)
    yield count
    undo()


@pytest.fixture
def libraries(tmp_path: Path) -> Iterator[Any]:
    """transformers and its friends over virtual devices: a function that installs ``count`` of them and gives a tiny checkpoint's folder."""
    transformers = pytest.importorskip("transformers")
    for name in ("accelerate", "peft", "datasets", "bitsandbytes", "trl"):
        pytest.importorskip(name)
    from accelerate.state import AcceleratorState, GradientState, PartialState

    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    config = transformers.LlamaConfig(
        vocab_size=300, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
        max_position_embeddings=128,
    )  # fmt: skip
    torch.manual_seed(0)
    transformers.LlamaForCausalLM(config).save_pretrained(tmp_path / "model")
    undos: list[Callable[[], None]] = []

    def start(count: int = 1) -> Path:
        undos.append(virtual_cuda.install(count))
        return tmp_path / "model"

    yield start
    for undo in undos:
        undo()
    for state in (AcceleratorState, GradientState, PartialState):
        state._reset_state()


def lora(model: Any, **options: Any) -> Any:
    from peft import LoraConfig, get_peft_model

    return get_peft_model(model, LoraConfig(r=2, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM", **options))


def load(folder: Path, **options: Any) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(folder, **options)


def gradients(model: Any) -> int:
    return sum(parameter.grad is not None for parameter in model.parameters())


def rows() -> Any:
    from datasets import Dataset

    ids = [[5, 6, 7, 8, 9, 10]] * 8
    return Dataset.from_dict({"input_ids": ids, "labels": ids})


def arguments(folder: Path, **options: Any) -> Any:
    from transformers import TrainingArguments

    return TrainingArguments(str(folder), max_steps=1, report_to=[], save_strategy="no", per_device_train_batch_size=2, disable_tqdm=True, **options)


# ---- operands on two devices


def test_an_operator_over_two_devices_raises_as_cuda_does_at_the_users_line(devices: int) -> None:
    here = torch.ones(3, device="cuda")
    with pytest.raises(RuntimeError) as raised:
        here + torch.ones(3)
    assert str(raised.value) == f"{TWO_DEVICES}, but found at least two devices, cuda:0 and cpu!"
    assert type(raised.value) is RuntimeError
    frames = [frame for frame in traceback.extract_tb(raised.value.__traceback__) if "virtual_cuda" not in Path(frame.filename).parent.name]
    assert frames[-1].line == "here + torch.ones(3)"


def test_the_text_names_the_argument_of_a_kernel(devices: int) -> None:
    with pytest.raises(RuntimeError, match=r"index is on cpu, different from other tensors on cuda:0 .*wrapper_CUDA__index_select"):
        torch.nn.Embedding(4, 2).cuda()(torch.tensor([1]))
    with pytest.raises(RuntimeError, match=r"mat1 is on cpu, .*wrapper_CUDA_addmm"):
        torch.nn.Linear(3, 3).cuda()(torch.ones(2, 3))
    with pytest.raises(RuntimeError, match=r"^Input type \(torch.FloatTensor\) and weight type \(torch.cuda.FloatTensor\) should be the same$"):
        torch.nn.Conv1d(1, 1, 1).cuda()(torch.ones(1, 1, 3))


@pytest.mark.parametrize(
    "mix",
    [
        lambda x, c: torch.where(c > 0, x, x),
        lambda x, c: torch.cat([x, c]),
        lambda x, c: x.masked_fill(c > 0, 0.0),
        lambda x, c: x.gather(0, c.long()),
        lambda x, c: F.cross_entropy(x[None], c.long()[:1]),
        lambda x, c: c.add_(x),
        lambda x, c: torch.zeros(()).add_(x.sum()),
        lambda x, c: torch.stack([x.sum(), c.sum()]),
        lambda x, c: x * c.double(),
        lambda x, c: x * torch.from_numpy(c.numpy()),
        lambda x, c: x * torch.arange(3),
        lambda x, c: x * torch.LongTensor([1, 2, 3]),
        lambda x, c: x * torch.nn.utils.rnn.pad_sequence([c, c])[:, 0],
        lambda x, c: x * F.one_hot(torch.tensor(1), 3),
        lambda x, c: x.index_put((torch.tensor([0, 1, 2]),), c),
    ],
)
def test_a_cpu_tensor_among_others_raises(devices: int, mix: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(RuntimeError, match=TWO_DEVICES):
        mix(torch.ones(3, device="cuda"), torch.ones(3))


@pytest.mark.parametrize(
    "use",
    [
        lambda x, c: x * torch.tensor(2.0),
        lambda x, c: torch.tensor(2.0) + x,
        lambda x, c: x[c.long()],
        lambda x, c: x[c > 0],
        lambda x, c: x.copy_(c),
        lambda x, c: x.clone().index_put_((c.long(),), torch.tensor(3.0)),
        lambda x, c: torch.zeros_like(x) + x.new_ones(3) + x.new_tensor([1.0, 2.0, 3.0]),
        lambda x, c: x + c.to(x) + c.to(x.device) + c.cuda(),
        lambda x, c: torch.tensor(x) + torch.as_tensor(c, device=0) + torch.full((3,), 1.0, device=x.device),
    ],
)
def test_what_cuda_allows_is_allowed_and_stays_on_the_device(devices: int, use: Callable[[Any, Any], Any]) -> None:
    x = torch.ones(3, device="cuda")
    assert use(x, torch.ones(3)).device == torch.device("cuda:0")


def test_slices_take_cpu_values(devices: int) -> None:
    x = torch.zeros(2, 3, device="cuda")
    x[:, 0] = torch.ones(2)
    assert x.sum().item() == 2.0
    assert x.is_cuda


def test_a_cpu_tensor_is_not_indexed_from_a_device(devices: int) -> None:
    with pytest.raises(RuntimeError, match=r"indices should be either on cpu or on the same device as the indexed tensor \(cpu\)"):
        torch.ones(3)[torch.tensor([0], device="cuda")]


@pytest.mark.parametrize("devices", [2], indirect=True)
def test_two_cuda_devices_do_not_mix_and_gradients_find_their_way(devices: int) -> None:
    one = torch.ones(3, device="cuda:0", requires_grad=True)
    with pytest.raises(RuntimeError, match="cuda:0 and cuda:1!"):
        one + torch.ones(3, device=1)
    weight = torch.ones(3, device="cuda:1", requires_grad=True)
    on_cpu = torch.ones(3, requires_grad=True)
    loss = ((one * 2).to("cuda:1") * weight).cpu() * on_cpu
    loss.sum().backward()
    assert [str(tensor.grad.device) for tensor in (one, weight, on_cpu)] == ["cuda:0", "cuda:1", "cpu"]


def test_what_torch_makes_inside_is_on_the_device(devices: int) -> None:
    """Masks and zeros of composite functions: their C++ code asks for the tensor's real device."""
    q = torch.randn(1, 2, 4, 8, device="cuda", requires_grad=True)
    attended = F.scaled_dot_product_attention(q, q, q, dropout_p=0.1, is_causal=True)
    attended.sum().backward()
    assert attended.is_cuda
    assert q.grad.is_cuda
    x = torch.randn(2, 3, device="cuda")
    target = torch.tensor([0, 1], device="cuda")
    assert F.one_hot(target, 3).mul(x).is_cuda
    assert torch.nn.utils.rnn.pad_sequence([target, target]).is_cuda
    assert F.cross_entropy(x, target, label_smoothing=0.1).is_cuda
    assert torch.nn.LSTM(3, 4, batch_first=True).cuda()(x[None])[0].is_cuda
    attention = torch.nn.MultiheadAttention(4, 2, add_zero_attn=True, dropout=0.1).cuda()
    assert attention(*[torch.randn(2, 1, 4, device="cuda")] * 3)[0].is_cuda
    assert torch.func.vmap(lambda row: row * torch.ones(3, device=row.device))(x).is_cuda


# ---- making, moving, asking


def test_factories_and_the_default_device(devices: int) -> None:
    assert torch.ones(2).device.type == "cpu"
    with torch.device("cuda"):
        assert torch.tensor([1.0]).is_cuda
        assert torch.nn.Linear(2, 2).weight.is_cuda
    torch.set_default_device("cuda")
    try:
        assert torch.arange(3).is_cuda
    finally:
        torch.set_default_device(None)
    assert not torch.arange(3).is_cuda
    assert not torch.zeros_like(torch.ones(2, device="cuda"), device="cpu").is_cuda
    assert torch.empty(2, device="meta").device.type == "meta"
    generator = torch.Generator("cuda").manual_seed(1)
    assert torch.randn(2, device="cuda", generator=generator).is_cuda
    with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'cuda'"):
        torch.randn(2, generator=generator)


def test_moving_copies_and_leaves_the_original(devices: int) -> None:
    x = torch.ones(2)
    moved = x.to("cuda", dtype=torch.float64)
    moved.add_(1)
    assert (x.tolist(), x.device.type, moved.dtype) == ([1.0, 1.0], "cpu", torch.float64)
    assert moved.to(0) is moved
    assert moved.view(2, 1).detach().device == moved.device
    module = torch.nn.Linear(2, 2)
    weight = module.weight
    module.to(torch.device(0))
    assert weight is module.weight
    assert (weight.is_cuda, weight.get_device(), repr(weight.detach()).endswith("device='cuda:0')")) == (True, 0, True)
    assert not module.cpu().weight.is_cuda


def test_numpy_and_a_missing_device_raise_as_on_cuda(devices: int) -> None:
    with pytest.raises(TypeError, match="can't convert cuda:0 device type tensor to numpy"):
        torch.ones(1, device="cuda").numpy()
    with pytest.raises(RuntimeError, match="CUDA error: invalid device ordinal"):
        torch.ones(1).to("cuda:1")
    assert torch.ones(2, device="cuda").cpu().numpy().sum() == 2
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        torch.ones(2, device="meta").cuda()


@pytest.mark.parametrize("devices", [2], indirect=True)
def test_torch_cuda_answers(devices: int) -> None:
    cuda = torch.cuda
    assert (cuda.is_available(), cuda.device_count(), cuda.current_device(), cuda.is_bf16_supported()) == (True, 2, 0, True)
    assert cuda.get_device_properties(1).total_memory == cuda.mem_get_info()[1] == 80 << 30
    with cuda.device(1):
        assert torch.ones(1).cuda().device == torch.device("cuda", 1)
    event, stream = cuda.Event(enable_timing=True), cuda.Stream()
    with cuda.stream(stream):
        event.record()
    cuda.synchronize()
    cuda.empty_cache()
    assert event.elapsed_time(event) == 0
    assert cuda.max_memory_allocated() == 0
    if hasattr(torch, "accelerator"):
        assert torch.accelerator.current_accelerator().type == "cuda"


def test_files_and_copies_keep_the_device(devices: int) -> None:
    x = torch.ones(2, device="cuda")

    def through_file(**options: Any) -> str:
        stream = io.BytesIO()
        torch.save({"x": options.pop("of", x)}, stream)
        stream.seek(0)
        return str(torch.load(stream, **options)["x"].device)

    assert through_file() == "cuda:0"
    assert through_file(map_location="cpu") == through_file(map_location=lambda storage, place: storage) == "cpu"
    assert through_file(of=x.cpu(), map_location="cuda") == through_file(of=x.cpu(), map_location={"cpu": "cuda:0"}) == "cuda:0"
    assert pickle.loads(pickle.dumps(x)).is_cuda
    assert pickle.loads(pickle.dumps(x.device)) == copy.deepcopy(x.device) == torch.device("cuda:0")
    assert copy.deepcopy(x).is_cuda
    assert copy.deepcopy(torch.nn.Linear(1, 1).cuda()).weight.is_cuda
    assert isinstance(x.device, torch.device)


def test_other_threads_have_the_devices_too(devices: int) -> None:
    seen: list[object] = []

    def work() -> None:
        x = torch.ones(2, device="cuda") * 2
        seen.append(x.is_cuda)
        try:
            seen.append(x + torch.ones(2))
        except RuntimeError as error:
            seen.append(TWO_DEVICES in str(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [True, True]


def test_pinned_batches(devices: int) -> None:
    batch = next(iter(torch.utils.data.DataLoader([torch.ones(2)] * 2, batch_size=2, pin_memory=True)))
    assert (batch.is_pinned(), batch.is_cuda, batch.to("cuda", non_blocking=True).is_cuda) == (True, False, True)


# ---- training


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_autocast_and_the_scaler_of_cuda_work(devices: int, dtype: Any) -> None:
    model = torch.nn.Linear(4, 4).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda", init_scale=128.0)
    before = model.weight.detach().clone()
    with torch.autocast("cuda", dtype=dtype):
        output = model(torch.ones(2, 4, device="cuda"))
        assert torch.is_autocast_enabled()
    assert output.dtype is dtype
    assert model(torch.ones(2, 4, device="cuda")).dtype is torch.float32
    scaler.scale(output.float().sum()).backward()
    scaler.unscale_(optimizer)
    assert torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0).is_cuda
    scaler.step(optimizer)
    scaler.update()
    assert scaler.is_enabled()
    assert not torch.equal(before, model.weight)


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_drops_the_same_values_again(devices: int, reentrant: bool) -> None:
    from torch.utils.checkpoint import checkpoint

    torch.manual_seed(0)
    layer = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Dropout(0.5)).cuda()
    x = torch.ones(2, 16, device="cuda", requires_grad=True)
    output = checkpoint(lambda value: layer(value) + torch.ones(16, device="cuda"), x, use_reentrant=reentrant)
    kept = (output.detach() != 1).sum(0).float()
    output.sum().backward()
    assert torch.equal(layer[0].bias.grad, kept * 2)
    assert layer[0].bias.grad.is_cuda


def test_products_into_another_type_are_computed(devices: int) -> None:
    a = torch.ones(2, 2, device="cuda", dtype=torch.bfloat16)
    try:
        product = torch.mm(a, a, out_dtype=torch.float32)
    except TypeError:
        pytest.skip("this torch has no out_dtype")
    assert (product.dtype, product.is_cuda, product.sum().item()) == (torch.float32, True, 8.0)


def test_whole_numbers_are_counted_as_only_cuda_can(devices: int) -> None:
    experts = torch.tensor([0, 1, 1], device="cuda", dtype=torch.int32)
    counts = torch.histc(experts, bins=2, min=0, max=1)
    assert (counts.tolist(), counts.dtype, counts.is_cuda) == ([1, 2], torch.int32, True)


@pytest.mark.parametrize("devices", [2], indirect=True)
def test_data_parallel_trains(devices: int) -> None:
    model = torch.nn.DataParallel(torch.nn.Linear(4, 1).cuda())
    model(torch.ones(4, 4, device="cuda")).sum().backward()
    assert model.module.weight.grad.tolist() == [[4.0] * 4]


def test_a_step_takes_about_as_long_as_without() -> None:
    def median(device: str) -> float:
        model = torch.nn.TransformerEncoderLayer(64, 4, 64, batch_first=True).to(device)
        optimizer = torch.optim.AdamW(model.parameters())
        x = torch.ones(2, 16, 64, device=device)
        times = []
        for _ in range(15):
            began = time.perf_counter()
            model(x).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            times.append(time.perf_counter() - began)
        return sorted(times)[7]

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # their waiting for each other says nothing
    without = median("cpu")
    undo = virtual_cuda.install()
    try:
        assert median("cuda") < 5 * without + 0.02
    finally:
        undo()
        torch.set_num_threads(threads)


def test_taking_the_devices_away_leaves_torch_as_it_was() -> None:
    watched = (torch, torch.cuda, torch.Tensor, torch._C, torch.UntypedStorage, threading.Thread, torch.version)
    before = [dict(vars(owner)) for owner in watched]
    virtual_cuda.install()()
    for owner, names in zip(watched, before, strict=True):
        assert dict(vars(owner)) == names, owner
    assert not torch.cuda.is_available()


# ---- the libraries, unmodified


def test_models_on_one_device(libraries: Any) -> None:
    folder = libraries()
    ids = torch.tensor([[5, 6, 7, 8]])
    model = load(folder, device_map="auto")
    assert str(model.device) == "cuda:0"
    with pytest.raises(RuntimeError, match="wrapper_CUDA__index_select"):
        model(input_ids=ids)
    there = ids.cuda()
    assert model(input_ids=there, attention_mask=torch.ones_like(ids), labels=ids).loss.is_cuda
    assert model.generate(there, max_new_tokens=2, do_sample=True).is_cuda
    for reentrant in (True, False):
        model = lora(load(folder, device_map={"": 0}), lora_dropout=0.1)
        model.enable_input_require_grads()
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": reentrant})
        model.train()(input_ids=there, labels=there).loss.backward()
        assert gradients(model) == 8
        assert {str(parameter.grad.device) for parameter in model.parameters() if parameter.grad is not None} == {"cuda:0"}


def test_models_on_two_devices_and_partly_on_the_cpu(libraries: Any) -> None:
    folder = libraries(2)
    ids = torch.tensor([[5, 6, 7, 8]])
    places = {"model.embed_tokens": 0, "model.rotary_emb": 0, "model.layers.0": 0, "model.layers.1": 1, "model.norm": 1, "lm_head": 1}
    model = lora(load(folder, device_map=places)).train()
    model(input_ids=ids, labels=ids).loss.backward()
    placed = [(parameter.device, parameter.grad.device) for parameter in model.parameters() if parameter.grad is not None]
    assert {str(device) for device, _ in placed} == {"cuda:0", "cuda:1"}
    assert all(device == grad for device, grad in placed)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    torch.optim.AdamW(model.parameters()).step()
    for value in (1, "cpu"):
        places["model.layers.1"] = value
        output = load(folder, device_map=places)(input_ids=ids, labels=ids)
        assert output.logits.shape[:2] == (1, 4)


@pytest.mark.parametrize("bits", [4, 8])
def test_quantized_models_train(libraries: Any, bits: int) -> None:
    from peft import prepare_model_for_kbit_training
    from transformers import BitsAndBytesConfig

    folder = libraries()
    model = load(folder, quantization_config=BitsAndBytesConfig(**{f"load_in_{bits}bit": True}), device_map="auto")
    model = lora(prepare_model_for_kbit_training(model)).train()
    ids = torch.tensor([[5, 6, 7, 8]], device="cuda")
    model(input_ids=ids, labels=ids).loss.backward()
    assert gradients(model) == 8
    assert {str(parameter.device) for parameter in model.parameters()} == {"cuda:0"}


def test_trainer_and_accelerator_train(libraries: Any, tmp_path: Path) -> None:
    from accelerate import Accelerator
    from transformers import Trainer

    folder = libraries()
    trainer = Trainer(lora(load(folder)), arguments(tmp_path, bf16=True), train_dataset=rows())
    trainer.train()
    assert (str(trainer.args.device), trainer.state.global_step, trainer.args.n_gpu) == ("cuda:0", 1, 1)
    accelerator = Accelerator(mixed_precision="bf16")
    model = lora(load(folder))
    loader = torch.utils.data.DataLoader(rows().with_format("torch"), batch_size=2)
    model, optimizer, loader = accelerator.prepare(model, torch.optim.AdamW(model.parameters()), loader)
    loss = model(**next(iter(loader))).loss
    accelerator.backward(loss)
    optimizer.step()
    assert loss.is_cuda
    assert gradients(model) == 8


def test_sft_of_a_quantized_model_trains(libraries: Any, tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BitsAndBytesConfig, PreTrainedTokenizerFast
    from trl import SFTConfig, SFTTrainer

    folder = libraries()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bytes_ = Tokenizer(models.BPE({name: number for number, name in enumerate(["<s>", "</s>", *alphabet])}, []))
    bytes_.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bytes_, bos_token="<s>", eos_token="</s>", pad_token="</s>")
    from datasets import Dataset
    from peft import LoraConfig

    options = SFTConfig(
        str(tmp_path / "out"), max_steps=1, report_to=[], save_strategy="no", per_device_train_batch_size=2, disable_tqdm=True,
        optim="paged_adamw_8bit",
    )  # fmt: skip
    trainer = SFTTrainer(
        load(folder, quantization_config=BitsAndBytesConfig(load_in_4bit=True), device_map="auto"), args=options,
        train_dataset=Dataset.from_dict({"text": ["hello there"] * 4}), processing_class=tokenizer,
        peft_config=LoraConfig(r=2, target_modules="all-linear", task_type="CAUSAL_LM"),
    )  # fmt: skip
    trainer.train()
    assert trainer.state.global_step == 1
    assert str(trainer.model.device) == "cuda:0"
