"""Rules in preview: off by default, on when they are asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from lora_lint import pages
from lora_lint.config import Config, Overrides, settings


@pytest.fixture(autouse=True)
def _ll501_is_in_preview(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "in_preview", lambda: frozenset(("LL501",)))


@pytest.mark.parametrize(("config", "overrides", "runs"), [
    ({}, {}, False),
    ({"select": ("LL5",)}, {}, False),
    ({}, {"select": ("ALL",)}, False),
    ({}, {"preview": True}, True),
    ({"preview": True}, {}, True),
    ({"preview": True}, {"preview": False}, False),
    ({"select": ("LL501",)}, {}, True),
    ({"extend_select": ("optimizer-before-adapters",)}, {}, True),
    ({}, {"extend_select": ("ll501",)}, True),
    ({}, {"preview": True, "ignore": ("LL501",)}, False),
])  # fmt: skip
def test_a_rule_in_preview_runs_when_it_is_asked_for(config: dict[str, object], overrides: dict[str, object], runs: bool) -> None:
    made = settings(Config(Path.cwd(), **config), Overrides(**overrides))  # type: ignore[arg-type]
    assert ("LL501" in made.codes) is runs
    assert ("LL502" in made.codes) is (overrides.get("select", config.get("select")) != ("LL501",))


def test_stage_p_is_read_from_the_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    for name, stage in (("LL501-optimizer-before-adapters", "P"), ("LL502-nothing-trainable", "A")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rule.md").write_text(f'+++\ncode = "{name[:5]}"\nstage = "{stage}"\n+++\n')
    monkeypatch.setattr(pages, "folder", lambda: tmp_path)
    pages.in_preview.cache_clear()
    assert pages.in_preview() == {"LL501"}
    pages.in_preview.cache_clear()
