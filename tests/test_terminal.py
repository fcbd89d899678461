"""What a person sees on a terminal."""

from __future__ import annotations

import io
import os
import shutil

import pytest

from lora_lint.config import Settings
from lora_lint.engine import check_source
from lora_lint.report import Report, full
from lora_lint.report.terminal import Painter, Progress, use_links
from lora_lint.source import Source

MOVED = "from transformers import AutoModelForCausalLM\nmodel = AutoModelForCausalLM.from_pretrained('a', device_map='auto')\nmodel.cuda()\n"


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_short_run_shows_no_progress_and_a_long_one_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: os.terminal_size((40, 24)))
    screen, clock = Screen(), Clock()
    progress = Progress(screen, clock)
    progress.step("a.py")
    progress.clear()
    assert screen.getvalue() == ""
    clock.now = 1.5
    progress.step("b.py")
    progress.step("c.py")  # too soon after
    clock.now = 2.0
    progress.step("a/very/long/path/" * 5)
    progress.clear()
    shown = screen.getvalue().split("\r")
    assert shown[1] == "checking file 2: b.py"
    assert shown[2].startswith("checking file 4: a/very/long/path/")
    assert len(shown[2]) == 39
    assert shown[3:] == [" " * 39, ""]


def test_no_progress_in_a_file() -> None:
    stream, clock = io.StringIO(), Clock()
    progress = Progress(stream, clock)
    clock.now = 5.0
    progress.step("a.py")
    progress.clear()
    assert stream.getvalue() == ""


def report(**more: object) -> str:
    return full.render(Report([check_source(Source.from_bytes(MOVED.encode(), "a.py"), Settings(frozenset({"LL301"})))], **more))  # type: ignore[arg-type]


def test_codes_link_to_their_pages() -> None:
    linked = report(color=True, links=True)
    assert "\x1b]8;;file://" in linked
    assert "LL301-dispatched-model-moved/rule.md\x1b\\" in linked
    assert "\x1b]8;;" not in report(color=True)
    assert Painter(True, False).link("x", "file:///x") == "x"


def test_links_need_a_person() -> None:
    assert use_links(True, Screen(), {})
    assert not use_links(True, Screen(), {"CI": "true"})
    assert not use_links(True, Screen(), {"TERM": "dumb"})
    assert not use_links(True, io.StringIO(), {})
    assert not use_links(False, Screen(), {})


def test_running_text_breaks_at_the_width() -> None:
    narrow = report(columns=60)
    prose = [line for line in narrow.splitlines() if not any(mark in line for mark in ("|", "a.py", "help"))]
    assert max(len(line) for line in prose) <= 60
    assert len(narrow.splitlines()) > len(report().splitlines())
