"""What is seen of models, forwards, backward, gradients and the optimizer step, with scripts run in this process."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref
from typing import Any

import pytest

from verify.verify_scripts import CHECKPOINTED, LOOP, line_of, replaced

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("peft")


def test_a_loop_that_trains_is_stopped_after_its_first_step(watched: Any) -> None:
    seen = watched(LOOP)
    assert seen["end"] == "step"
    assert seen["raised"] == "Stop"
    assert (seen["gradients"]["adapters"], seen["gradients"]["adapters_with_grad"]) == (8, 8)
    assert seen["gradients"]["none"] == seen["gradients"]["zero"] == []
    assert seen["optimizer"]["trainable_missing"] == 0
    assert seen["optimizer"]["line"] == line_of(LOOP, "opt.step()")
    assert seen["update"] == {"changed": 8, "unchanged_with_grad": 0, "base_changed": 0}
    assert seen["backward"]["grad_fn"] == "NllLossBackward0"
    assert seen["backward"]["line"] == line_of(LOOP, "loss.backward()")
    model = seen["models"][0]
    assert (model["class"], model["wrapped"]) == ("LlamaForCausalLM", "PeftModelForCausalLM")
    assert model["line"] == line_of(LOOP, "LlamaForCausalLM(")
    assert line_of(LOOP, "get_peft_model(") in model["lines"]
    assert "unseen" not in seen


def test_a_detached_loss_is_told_from_its_forward(watched: Any) -> None:
    seen = watched(replaced(LOOP, "loss = out.loss", "loss = out.loss.detach()"))
    assert seen["end"] == "exception"
    assert seen["exception"]["stage"] == "backward"
    assert "does not require grad" in seen["backward"]["error"]
    assert seen["backward"]["model"] == 1
    assert not seen["backward"]["loss_requires_grad"]
    assert seen["forwards"][0]["output_requires_grad"]


def test_a_loss_made_anew_from_its_number_leaves_all_gradients_none(watched: Any) -> None:
    seen = watched(replaced(LOOP, "loss = out.loss", "loss = torch.tensor(out.loss.item(), requires_grad=True)"))
    assert seen["end"] == "step"
    assert (seen["backward"]["leaf"], seen["backward"]["grad_fn"], seen["backward"]["model"]) == (True, None, 1)
    assert (seen["gradients"]["none_count"], seen["gradients"]["with_grad"]) == (8, 0)
    assert len(seen["gradients"]["none"]) == 5


def test_a_loss_that_is_a_number_ends_before_the_backward(watched: Any) -> None:
    seen = watched(replaced(LOOP, "loss = out.loss", "loss = out.loss.item()"))
    assert seen["exception"]["type"] == "AttributeError"
    assert seen["exception"]["lines"][-1][1] == line_of(LOOP, "loss.backward()")
    assert "backward" not in seen


def test_a_forward_under_no_grad_is_seen_as_such(watched: Any) -> None:
    seen = watched(replaced(LOOP, "    out = model(", "    with torch.no_grad():\n        out = model("))
    assert seen["forwards"][0]["grad_enabled"] is False
    assert seen["forwards"][0]["output_requires_grad"] is False
    assert seen["exception"]["stage"] == "backward"


def test_inference_mode_is_told_from_no_grad(watched: Any) -> None:
    seen = watched(replaced(LOOP, "    out = model(", "    with torch.inference_mode():\n        out = model("))
    assert (seen["forwards"][0]["inference_mode"], seen["forwards"][0]["grad_enabled"]) == (True, False)


def test_an_optimizer_made_before_the_adapters_does_not_hold_them(watched: Any) -> None:
    early = "opt = torch.optim.AdamW(model.parameters(), lr=1e-3)\nmodel = get_peft_model"
    seen = watched(replaced(replaced(LOOP, "opt = torch.optim.AdamW(model.parameters(), lr=1e-3)\n", ""), "model = get_peft_model", early))
    assert seen["end"] == "step"
    assert (seen["optimizer"]["trainable_missing"], seen["optimizer"]["adapters_held"]) == (8, 0)
    assert all("lora_" in name for name in seen["optimizer"]["missing"])
    assert seen["update"]["changed"] == 0
    assert seen["gradients"]["adapters_with_grad"] == 8


def test_frozen_adapters_are_counted(watched: Any) -> None:
    freeze = "model.train()\nfor parameter in model.parameters():\n    parameter.requires_grad_(False)\nmodel.enable_input_require_grads()"
    seen = watched(replaced(LOOP, "model.train()", freeze))
    assert seen["end"] == "step"
    assert (seen["gradients"]["trainable"], seen["gradients"]["adapters_frozen"]) == (0, 8)
    assert seen["models"][0]["frozen_adapters"] == 8
    assert seen["models"][0]["input_grads"] is True
    assert seen["update"]["changed"] == 0


def test_nothing_trainable_at_all_ends_in_the_backward(watched: Any) -> None:
    seen = watched(replaced(LOOP, "model.train()", "model.train()\nmodel.requires_grad_(False)"))
    assert seen["exception"]["stage"] == "backward"
    assert seen["models"][0]["trainable"] == 0


def test_a_trainable_base_is_counted_and_seen_to_change(watched: Any) -> None:
    seen = watched(replaced(LOOP, "model.train()", "model.train()\nmodel.requires_grad_(True)"))
    assert seen["gradients"]["base_trainable"] == 21
    assert seen["update"]["base_changed"] == 21


def test_adapters_that_are_switched_off_count_as_not_called(watched: Any) -> None:
    seen = watched(replaced(LOOP, "model.train()", "model.train()\nmodel.base_model.disable_adapter_layers()\nmodel.enable_input_require_grads()"))
    assert seen["gradients"]["adapters_with_grad"] == 0
    assert seen["gradients"]["none_count"] == 0


def test_a_model_in_evaluation_mode_is_seen_as_such_and_gets_no_false_zeros(watched: Any) -> None:
    seen = watched(replaced(LOOP, "model.train()", "model.eval()"))
    assert seen["forwards"][0]["training"] is False
    assert seen["gradients"]["zero_count"] == 0


def test_a_part_that_the_forward_does_not_call_is_no_missing_gradient(watched: Any) -> None:
    seen = watched("""
        import torch
        from torch import nn
        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.used, self.unused = nn.Linear(4, 4), nn.Linear(4, 4)
            def forward(self, x):
                return self.used(x)
        net = Net()
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        net(torch.ones(2, 4)).sum().backward()
        opt.step()
    """)
    assert (seen["gradients"]["none_count"], seen["gradients"]["not_called"], seen["gradients"]["with_grad"]) == (0, 2, 2)


def test_a_step_without_backward_lets_the_script_finish(watched: Any) -> None:
    seen = watched(replaced(LOOP, "    loss.backward()\n", ""))
    assert seen["end"] == "finished"
    assert seen["optimizer"]["backward_calls"] == 0
    assert "backward" not in seen


def test_an_exception_that_the_script_swallows_is_in_the_report(watched: Any) -> None:
    source = replaced(LOOP, "loss = out.loss", "loss = out.loss.detach()")
    seen = watched(replaced(source, "    loss.backward()", "    try:\n        loss.backward()\n    except Exception:\n        pass"))
    assert seen["end"] == "step"
    assert "does not require grad" in seen["backward"]["error"]
    assert seen["optimizer"]["backward_calls"] == 0


def test_a_script_that_catches_everything_is_ended_all_the_same(watched: Any) -> None:
    head, _, body = LOOP.partition("for _ in range(3):\n")
    body = "".join(f"    {line}\n" for line in body.rstrip().splitlines())
    seen = watched(f"{head}for _ in range(1000):\n    try:\n{body}    except BaseException:\n        pass\n")
    assert (seen["end"], seen["left"]) == ("step", True)


def test_a_bare_except_around_the_step_alone_ends_with_the_next_forward(watched: Any) -> None:
    seen = watched(replaced(LOOP, "    opt.step()", "    try:\n        opt.step()\n    except:\n        pass"))
    assert (seen["end"], seen["raised"]) == ("step", "Stop")


def test_the_model_that_led_to_the_loss_is_judged_and_not_the_reference(watched: Any) -> None:
    seen = watched("""
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM
        from peft import LoraConfig, get_peft_model
        def make():
            return LlamaForCausalLM(LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4))
        policy = get_peft_model(make(), LoraConfig(r=4, target_modules=["q_proj"]))
        reference = make().requires_grad_(False)
        reference = get_peft_model(reference, LoraConfig(r=4, target_modules=["v_proj"], inference_mode=True)).train()
        policy.train()
        opt = torch.optim.AdamW(policy.parameters(), lr=1e-3)
        ids = torch.randint(0, 64, (2, 8))
        ours = policy(ids).logits.log_softmax(-1)
        with torch.no_grad():
            theirs = reference(ids).logits.log_softmax(-1)
        loss = (ours - theirs).square().mean()
        loss.backward()
        opt.step()
    """)
    assert len(seen["models"]) == 2
    assert seen["backward"]["model"] == seen["gradients"]["model"] == 1
    assert (seen["gradients"]["adapters_with_grad"], seen["gradients"]["adapters_frozen"]) == (2, 0)
    assert seen["forwards"][1]["model"] == 2
    assert seen["models"][1]["inference_mode"] is True


def test_a_backbone_without_grad_below_a_head_that_trains_is_judged_for_its_adapters(watched: Any) -> None:
    seen = watched("""
        import torch
        from transformers import LlamaConfig, LlamaModel
        from peft import LoraConfig, get_peft_model
        config = LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4)
        backbone = get_peft_model(LlamaModel(config), LoraConfig(r=4, target_modules=["q_proj"])).train()
        head = torch.nn.Linear(32, 2)
        opt = torch.optim.AdamW([*backbone.parameters(), *head.parameters()], lr=1e-3)
        ids = torch.randint(0, 64, (2, 8))
        with torch.no_grad():
            hidden = backbone(ids).last_hidden_state
        head(hidden).sum().backward()
        opt.step()
    """)
    assert seen["gradients"]["model"] == 1
    assert seen["gradients"]["none_count"] == 2
    assert seen["gradients_of_others"][0]["with_grad"] == 2


def test_reentrant_checkpointing_that_cuts_the_adapters_is_seen(watched: Any) -> None:
    seen = watched(CHECKPOINTED)
    assert seen["exception"]["stage"] == "backward"
    assert seen["forwards"][0]["checkpoint_calls"] == 2
    assert seen["forwards"][0]["checkpoint_reentrant"] == [True]
    assert any("None of the inputs have requires_grad" in text for text in seen["warnings"])
    assert seen["models"][0]["lines"] == [line_of(CHECKPOINTED, "model = Net()")]


def test_checkpointing_without_reentrance_is_told_apart_and_trains(watched: Any) -> None:
    seen = watched(replaced(CHECKPOINTED, "use_reentrant=True", "use_reentrant=False"))
    assert seen["end"] == "step"
    assert seen["forwards"][0]["checkpoint_reentrant"] == [False]
    assert len(seen["forwards"]) == 1  # what is computed again in the backward is no forward
    assert seen["gradients"]["none_count"] == 0


def test_checkpointing_of_a_library_model_is_described(watched: Any) -> None:
    on = "model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={'use_reentrant': True})\nmodel.train()"
    seen = watched(replaced(LOOP, "model.train()", on))
    assert (seen["models"][0]["checkpointing"], seen["models"][0]["reentrant"], seen["models"][0]["input_grads"]) == (True, True, True)
    assert seen["forwards"][0]["checkpoint_calls"] == 2
    assert seen["gradients"]["adapters_with_grad"] == 8


def test_a_scaled_loss_and_a_call_of_autograd_are_backward_calls(watched: Any) -> None:
    scaler = "torch.amp.GradScaler('cpu', init_scale=4.0)"
    seen = watched(replaced(LOOP, "loss.backward()\n    opt.step()", f"scaler = {scaler}; scaler.scale(loss).backward()\n    scaler.step(opt)"))
    assert (seen["end"], seen["backward"]["grad_fn"], seen["gradients"]["adapters_with_grad"]) == ("step", "MulBackward0", 8)
    seen = watched(replaced(LOOP, "loss.backward()", "torch.autograd.backward(loss)"))
    assert (seen["end"], seen["gradients"]["adapters_with_grad"]) == ("step", 8)


def test_gradients_of_a_penalty_are_not_the_backward(watched: Any) -> None:
    penalty = "    torch.autograd.grad(out.logits.sum(), out.logits, retain_graph=True)\n    loss.backward()"
    seen = watched(replaced(LOOP, "    loss.backward()", penalty))
    assert seen["backward"]["line"] == line_of(LOOP, "loss.backward()") + 1
    assert seen["optimizer"]["backward_calls"] == 1


def test_accelerate_is_seen_through(watched: Any) -> None:
    pytest.importorskip("accelerate")
    prepare = "from accelerate import Accelerator\naccelerator = Accelerator(cpu=True)\nmodel, opt = accelerator.prepare(model, opt)\nmodel.train()"
    seen = watched(replaced(replaced(LOOP, "model.train()", prepare), "loss.backward()", "accelerator.backward(loss)"))
    assert (seen["end"], seen["gradients"]["adapters_with_grad"], seen["optimizer"]["class"]) == ("step", 8, "AdamW")


def test_an_optimizer_that_steps_within_the_backward_is_waited_for(watched: Any) -> None:
    seen = watched("""
        import torch
        net = torch.nn.Linear(4, 4)
        optimizers = {p: torch.optim.SGD([p], lr=0.1) for p in net.parameters()}
        def hook(p):
            optimizers[p].step()
            optimizers[p].zero_grad()
        for p in net.parameters():
            p.register_post_accumulate_grad_hook(hook)
        net(torch.ones(2, 4)).sum().backward()
    """)
    assert (seen["end"], seen["raised"]) == ("step", "Stop")
    assert seen["gradients"]["with_grad"] == 2


def test_a_step_of_another_optimizer_is_not_the_one_waited_for(watched: Any) -> None:
    seen = watched("""
        import torch
        class Adapted(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.base = torch.nn.Linear(4, 4).requires_grad_(False)
                self.lora_A = torch.nn.Linear(4, 2, bias=False)
            def forward(self, x):
                return self.base(x).sum() + self.lora_A(x).sum()
        critic, actor = torch.nn.Linear(4, 1), Adapted()
        first, second = torch.optim.SGD(critic.parameters(), lr=0.1), torch.optim.SGD(actor.parameters(), lr=0.1)
        x = torch.ones(2, 4)
        critic(x).sum().backward()
        first.step()
        actor(x).backward()
        second.step()
    """)
    assert seen["optimizer"]["line"] == 16
    assert seen["backward"]["line"] == 15
    assert seen["gradients"]["adapters_with_grad"] == 1


def test_generation_is_no_forward_in_training(watched: Any) -> None:
    generate = "    with torch.no_grad():\n        model.generate(input_ids=ids, max_new_tokens=3, do_sample=False)\n    out = model("
    seen = watched(replaced(LOOP, "    out = model(", generate))
    assert [forward["in_generate"] for forward in seen["forwards"]] == [True, True, True, False]
    assert seen["gradients"]["adapters_with_grad"] == 8


def test_the_forward_before_the_backward_is_reported_though_many_came_first(watched: Any) -> None:
    seen = watched(replaced(LOOP, "    out = model(", "    for _ in range(30):\n        model(input_ids=ids)\n    out = model("))
    assert len(seen["forwards"]) == 21
    assert "labels" in seen["forwards"][-1]["inputs"]


def test_a_move_is_reported_with_its_error(watched: Any) -> None:
    seen = watched(replaced(LOOP, "model.train()", "model.half()\nmodel.to(torch.float32)\nmodel.to('cuda')\nmodel.train()"))
    moves = [(move["method"], move["to"], move["error"]) for move in seen["moves"]]
    assert moves[:2] == [("half", "torch.float16", None), ("to", "torch.float32", None)]
    assert moves[2][:2] == ("to", "cuda")
    assert moves[2][2]
    assert [move["line"] for move in seen["moves"]] == [line_of(LOOP, "model.train()") + offset for offset in range(3)]


def test_a_save_says_how_many_tensors_it_has(watched: Any, tmp_path: Any) -> None:
    save = f"    opt.zero_grad()\n    model.save_pretrained(r'{tmp_path / 'a'}')"
    seen = watched(replaced(LOOP, "    opt.zero_grad()", save), until="save")
    assert [(entry["tensors"], entry["expected"]) for entry in seen["saves"]] == [(8, 8)]
    assert seen["raised"] == "Stop"
    seen = watched(replaced(LOOP, "    opt.zero_grad()", save.replace("')", "', state_dict={})")), until="save")
    assert [(entry["tensors"], entry["expected"]) for entry in seen["saves"]] == [(0, 8)]


def test_a_save_behind_the_loop_is_waited_for_and_the_first_step_stays_the_reported_one(watched: Any, tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr("lora_lint.verify.step.watch._STEPS_TO_SAVE", 20)
    seen = watched(f"{replaced(LOOP, 'range(3)', 'range(10)')}model.save_pretrained(r'{tmp_path / 'a'}')\nprint(undefined)\n", until="save")
    assert (seen["raised"], len(seen["saves"]), seen["optimizer"]["backward_calls"]) == ("Stop", 1, 1)
    assert len(seen["forwards"]) == 1
    seen = watched(replaced(LOOP, "range(3)", "range(100)"), until="save")
    assert seen["saves"] == [{"line": None, "method": "save_pretrained", "tensors": 8, "expected": 8}]


def test_randomised_parts_keep_what_they_are(watched: Any) -> None:
    seen = watched("""
        import torch
        class Adapted(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.base = torch.nn.Linear(4, 4).requires_grad_(False)
                self.lora_A = torch.nn.Parameter(torch.randn(2, 4))
                self.lora_B = torch.nn.Parameter(torch.zeros(4, 2, dtype=torch.bfloat16))
                self.gate = torch.nn.Parameter(torch.zeros(4))
            def forward(self, x):
                return self.base(x) + x @ self.lora_A.T @ self.lora_B.T.float() + self.gate
        net = Adapted()
        state = torch.get_rng_state()
        before = net.lora_B
        net(torch.ones(2, 4)).sum().backward()
        assert net.lora_B is before and before.dtype is torch.bfloat16 and before.requires_grad and before.any()
        assert not net.gate.any() and torch.equal(state, torch.get_rng_state())
    """)
    assert seen["end"] == "finished", seen.get("exception")
    assert seen["randomised"] == 1
    assert seen["gradients"]["zero_count"] == 0


def test_models_can_be_copied_pickled_and_freed_under_observation(watched: Any) -> None:
    seen = watched("""
        import copy, gc, io, torch, weakref
        net = torch.nn.Sequential(torch.nn.Linear(4, 4))
        out = net(torch.ones(2, 4))
        out.sum().backward()
        other = copy.deepcopy(net)
        torch.save(net, io.BytesIO())
        references = [weakref.ref(net), weakref.ref(out)]
        node = weakref.ref(out.grad_fn) if hasattr(out.grad_fn, "__weakref__") else lambda: None
        del net, out
        gc.collect()
        assert [reference() for reference in references] == [None, None] and node() is None
    """)
    assert seen["end"] == "finished", seen.get("exception")


def test_nothing_stays_behind_in_torch(watched: Any) -> None:
    def now() -> list[Any]:
        module, function = torch.nn.Module, torch.autograd.Function
        return [module.__call__, module.__init__, torch.Tensor.backward, torch.autograd.backward, torch.autograd.grad, vars(function)["apply"]]

    before = now()
    watched(LOOP)
    assert before == now()


def test_a_model_dies_with_its_last_reference(watched: Any) -> None:
    from lora_lint.verify.step.models import Models
    from lora_lint.verify.step.protocol import Places

    models = Models(Places("/nowhere/train.py"))
    net = torch.nn.Linear(2, 2)
    model = models.of(net)
    reference = weakref.ref(net)
    assert pickle.loads(pickle.dumps(copy.deepcopy(net))).in_features == 2
    del net
    gc.collect()
    assert reference() is None
    assert model.module is None


def test_trainer_of_transformers_is_watched(watched: Any) -> None:
    seen = watched("""\
        import torch
        from transformers import LlamaConfig, LlamaForCausalLM, Trainer, TrainingArguments
        from peft import LoraConfig, get_peft_model
        model = LlamaForCausalLM(LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4))
        model = get_peft_model(model, LoraConfig(r=4, target_modules=["q_proj"]))
        data = [{"input_ids": torch.arange(8), "labels": torch.arange(8)} for _ in range(4)]
        arguments = TrainingArguments("out", max_steps=2, per_device_train_batch_size=2, report_to="none", use_cpu=True, save_strategy="no")
        trainer = Trainer(model, arguments, train_dataset=data)
        trainer.train()
    """)
    assert (seen["end"], seen["gradients"]["adapters_with_grad"]) == ("step", 2)
    assert seen["backward"]["line"] == seen["optimizer"]["line"] == 9
    assert len(seen["models"]) == 1


def test_a_backward_within_the_step_is_counted(watched: Any) -> None:
    closure = "def closure():\n        loss.backward()\n        return loss\n    opt.step(closure)"
    seen = watched(replaced(LOOP, "loss.backward()\n    opt.step()", closure))
    assert (seen["end"], seen["optimizer"]["backward_calls"], seen["update"]["changed"]) == ("step", 1, 8)


SFT = """
import torch
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer
words = {word: number for number, word in enumerate(["<pad>", "</s>", "a", "b", "c"])}
inner = Tokenizer(models.WordLevel(words, unk_token="<pad>"))
inner.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="</s>")
model = LlamaForCausalLM(LlamaConfig(vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4))
options = {"max_steps": 2, "per_device_train_batch_size": 2, "report_to": "none", "save_strategy": "no", "use_cpu": True, "bf16": False}
arguments = SFTConfig("out", dataset_text_field="text", **options)
data = Dataset.from_dict({"text": ["a b c a b c"] * 8})
adapters = LoraConfig(r=4, target_modules=["q_proj"], task_type="CAUSAL_LM")
trainer = SFTTrainer(model, args=arguments, train_dataset=data, peft_config=adapters, processing_class=tokenizer)
trainer.train()
"""


def test_trainer_of_trl_is_watched(watched: Any) -> None:
    pytest.importorskip("trl")
    seen = watched(SFT)
    assert (seen["end"], seen["gradients"]["adapters_with_grad"]) == ("step", 2), seen.get("exception")
    assert seen["backward"]["line"] == line_of(SFT, "trainer.train()")
    assert seen["models"][0]["lines"] == [line_of(SFT, "model = LlamaForCausalLM"), line_of(SFT, "trainer = SFTTrainer")]
