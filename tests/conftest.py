"""Shared fixtures."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from lora_lint import engine
from lora_lint.findings import Applicability, Edit, Finding, Fix, Severity, Span, Step
from lora_lint.source import Source

# How long an example takes depends on what else the machine does.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

Program = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Runs the program as a user does, in ``tmp_path``."""
    for name in ("NO_COLOR", "FORCE_COLOR", "LORA_LINT_RAISE", "GITHUB_WORKSPACE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "lora_lint", *arguments]
        return subprocess.run(command, cwd=tmp_path, input=stdin, capture_output=True, text=True, encoding="utf-8", timeout=60)

    return run


def bad_calls(source: Source, target: object, enabled: frozenset[str], project: object) -> list[Finding]:
    """A stand-in for the rules: LL201 on every line with ``bad``, cured by writing ``good``; LL304, a note, on every ``meh``."""
    _ = source.module
    found = []
    for number in range(1, len(source.line_offsets) + 1):
        line = source.line(number)
        start = source.line_offsets[number - 1]
        for word, code, name, severity in (
            ("bad", "LL201", "kbit-training-not-prepared", Severity.ERROR),
            ("meh", "LL304", "hard-coded-device-with-device-map", Severity.NOTE),
        ):
            if code not in enabled or word not in line.partition("#")[0]:
                continue
            at = start + len(line[: line.index(word)].encode())
            span = Span(source.position(at), source.position(at + len(word)))
            fix = Fix("write good", Applicability.SAFE if "unsafe" not in line else Applicability.UNSAFE, (Edit(at, at + len(word), "good"),))
            flow = (Step(Span(source.position(0), source.position(1)), "it begins", source.path), Step(span, "it ends", source.path))
            found.append(
                Finding(
                    code, name, severity, f"{word} crashes", source.path, span, "RuntimeError: no", "on all versions", "", flow, "be good", fix, line
                )
            )
    return found


@pytest.fixture
def fake_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    """Puts ``bad_calls`` in the place of the interpreter and the rules."""
    monkeypatch.setattr(engine, "analyse", bad_calls)
