"""Backward against finite differences: what is found wrong, what is right, and what is not judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

from lora_lint.verify.step.gradcheck import Checks, check_function, check_module  # noqa: E402
from lora_lint.verify.step.protocol import Places  # noqa: E402


class Adapted(nn.Module):
    """y = W x + s B A x, with a fault of choice."""

    def __init__(self, fault: str = "") -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.base = nn.Linear(6, 4, bias=False).requires_grad_(False)
        self.base.weight.copy_(torch.randn(4, 6, generator=generator))
        self.a = nn.Parameter(torch.randn(2, 6, generator=generator) * 0.3)
        self.b = nn.Parameter(torch.zeros(4, 2))
        self.scale, self.fault = 2.0, fault

    def forward(self, x: Any) -> Any:
        with torch.set_grad_enabled(self.fault != "no_grad base"):
            y = self.base(x)
        if self.fault == "detached base":
            y = y.detach()
        hidden = (x.detach() if self.fault == "detached input" else x) @ self.a.T
        if self.fault == "detached hidden":
            hidden = hidden.detach()
        return y + self.scale * (hidden @ self.b.T)


def judged(results: list[dict[str, Any]]) -> dict[str, Any]:
    return {result["what"]: result["ok"] for result in results}


X = torch.randn(3, 6, generator=torch.Generator().manual_seed(3))


def test_a_right_layer_is_right_to_many_digits() -> None:
    results = check_module(Adapted(), (X,), {})
    assert judged(results) == {"input 0": True, "a": True, "b": True}
    assert all(result["error"] < 1e-6 for result in results)


@pytest.mark.parametrize(
    ("fault", "wrong"),
    [("no_grad base", {"input 0"}), ("detached base", {"input 0"}), ("detached input", {"input 0"}), ("detached hidden", {"input 0", "a"})],
)
def test_a_cut_branch_is_found_where_its_gradient_is_missing(fault: str, wrong: set[str]) -> None:
    results = check_module(Adapted(fault), (X,), {})
    assert {what for what, ok in judged(results).items() if ok is False} == wrong
    assert all(result["error"] > 0.05 for result in results if not result["ok"])


def test_the_gradient_at_the_input_is_that_of_both_branches_and_with_a_fault_that_of_one() -> None:
    for fault in ("", "no_grad base"):
        layer = Adapted(fault).double()
        with torch.no_grad():
            layer.b.normal_()
        x, g = X.double().requires_grad_(), torch.randn(3, 4, dtype=torch.float64)
        (gradient,) = torch.autograd.grad(layer(x), x, g)
        low_rank = layer.scale * g @ layer.b @ layer.a
        assert torch.allclose(gradient, low_rank if fault else g @ layer.base.weight + low_rank)
        assert judged(check_module(layer, (X,), {}, {"input 0"}))["input 0"] is not bool(fault)


def test_an_input_whose_gradient_nobody_asked_for_is_not_judged() -> None:
    assert set(judged(check_module(Adapted("no_grad base"), (X,), {}, set()))) == {"a", "b"}


def test_the_module_itself_is_left_alone() -> None:
    layer = Adapted()
    before = {name: value.clone() for name, value in layer.state_dict().items()}
    check_module(layer, (X,), {})
    assert all(torch.equal(value, before[name]) and value.dtype is torch.float32 for name, value in layer.state_dict().items())
    assert layer.a.grad is None


class _Rounds(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.randn(6))

    def forward(self, x: Any) -> Any:
        y = x * self.w
        return y + (torch.round(y) - y).detach()


def test_a_straight_through_estimator_is_not_called_wrong() -> None:
    assert set(judged(check_module(_Rounds(), (X * 10,), {})).values()) <= {None}


class _Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(6))

    def forward(self, x: Any) -> Any:
        y = x.to(torch.float32)
        return self.weight * (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)


def test_a_layer_that_computes_in_single_precision_is_right() -> None:
    results = judged(check_module(_Norm(), (X,), {}))
    assert results
    assert all(results.values())


class _Noisy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.ones(6))
        self.drop = nn.Dropout(0.5)

    def forward(self, x: Any) -> Any:
        return self.drop(x) * self.w


class _Random(_Noisy):
    def forward(self, x: Any) -> Any:
        return x * self.w + torch.randn_like(x)


def test_dropout_is_switched_off_and_other_randomness_is_not_judged() -> None:
    assert judged(check_module(_Noisy(), (X,), {})) == {"input 0": True, "w": True}
    assert check_module(_Random(), (X,), {}) == []


class Wrong(torch.autograd.Function):
    """Forgets the factor."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        return x * factor

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0], None


class Right(Wrong):
    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] * ctx.factor, None


class Reversal(Wrong):
    """Gradient reversal, as for training against an adversary."""

    @staticmethod
    def forward(ctx: Any, x: Any, factor: float) -> Any:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return -grads[0], None


def test_functions_are_checked_and_a_reversed_gradient_is_meant() -> None:
    assert judged(check_function(Right, (X, 2.0), {})) == {"input 0": True}
    assert judged(check_function(Wrong, (X, 2.0), {})) == {"input 0": False}
    assert judged(check_function(Reversal, (X, 2.0), {})) == {"input 0": None}


def test_a_call_whose_inputs_need_a_gradient_is_preferred() -> None:
    checks = Checks(Places(str(Path(__file__))))
    first, second = Adapted("no_grad base"), Adapted("no_grad base")
    checks.look(first, (X,), {})
    checks.look(second, (X.clone().requires_grad_(),), {})
    found = checks.run()
    assert {entry["what"]: entry["ok"] for entry in found} == {"input 0": False, "a": True, "b": True}
    assert {entry["class"] for entry in found} == {"Adapted"}
    assert all(Path(entry["file"]) == Path(__file__) and entry["line"] > 10 for entry in found)


def test_large_inputs_models_with_embeddings_and_whole_numbers_are_left_out() -> None:
    class Token(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(4, 6)

        def forward(self, ids: Any, x: Any) -> Any:
            return self.embed(ids) + x

    checks = Checks(Places(str(Path(__file__))))
    checks.look(Token(), (torch.arange(3), X), {})
    checks.look(Adapted(), (torch.zeros(60000, 6),), {})
    checks.look(_Norm(), (torch.arange(3),), {})
    assert checks.run() == []


def test_a_fault_below_other_layers_is_found_in_a_step(watched: Any) -> None:
    seen = watched("""
        import torch
        from torch import nn
        class Layer(nn.Module):
            def __init__(self):
                super().__init__()
                self.base = nn.Linear(8, 8).requires_grad_(False)
                self.lora_A, self.lora_B = nn.Parameter(torch.randn(2, 8)), nn.Parameter(torch.zeros(8, 2))
            def forward(self, x):
                with torch.no_grad():
                    y = self.base(x)
                return y + x @ self.lora_A.T @ self.lora_B.T
        net = nn.Sequential(Layer(), nn.Tanh(), Layer())
        opt = torch.optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
        net(torch.randn(2, 8)).sum().backward()
        opt.step()
    """)
    assert {entry["what"]: entry["ok"] for entry in seen["gradchecks"]} == {"input 0": False, "lora_A": True, "lora_B": True}
    assert seen["gradchecks"][0]["line"] == 9


def test_under_reentrant_checkpointing_the_inputs_of_the_second_forward_count(watched: Any) -> None:
    seen = watched("""
        import torch
        from torch import nn
        from torch.utils.checkpoint import checkpoint
        class Layer(nn.Module):
            def __init__(self):
                super().__init__()
                self.base = nn.Linear(8, 8).requires_grad_(False)
                self.lora_A, self.lora_B = nn.Parameter(torch.randn(2, 8)), nn.Parameter(torch.zeros(8, 2))
            def forward(self, x):
                return self.base(x).detach() + x @ self.lora_A.T @ self.lora_B.T
        block = nn.Sequential(nn.Linear(8, 8), Layer())
        opt = torch.optim.SGD(block.parameters(), lr=0.1)
        net = nn.Module()
        checkpoint(block, torch.randn(2, 8, requires_grad=True), use_reentrant=True).sum().backward()
        opt.step()
    """)
    assert {entry["what"]: entry["ok"] for entry in seen["gradchecks"]}["input 0"] is False
