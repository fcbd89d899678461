"""Triage never loses a finding, and leaves aside what it can."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lora_lint import recipe, rules, triage
from lora_lint.libraries import registry
from lora_lint.project import Project
from lora_lint.rules import REGISTRY
from lora_lint.source import Source
from lora_lint.target import Target

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted(path for path in (ROOT / "rules").glob("LL*/*/*.py") if not path.name.startswith("_"))
NAMES = [path.relative_to(ROOT / "rules").as_posix() for path in EXAMPLES]
CODES = frozenset(REGISTRY)


def found(source: Source, project: Project | None) -> set[str]:
    """The codes that the whole analysis finds."""
    return {finding.code for finding in rules.run(recipe.build(source, project), Target.unknown(), CODES)}


def test_the_table_is_as_rules_and_summaries_say() -> None:
    done = subprocess.run([sys.executable, "scripts/update_triggers.py", "--check"], cwd=ROOT)
    assert done.returncode == 0, "run python scripts/update_triggers.py"


@pytest.mark.parametrize("path", EXAMPLES, ids=NAMES)
def test_what_has_findings_concerns_us(path: Path) -> None:
    """Each rule alone, so that no rule's words hide what another's lack."""
    project = Project(path.parent)
    source = Source.read(path)
    for code in found(source, project):
        assert triage.concerns(source, project, frozenset((code,))), code


@pytest.mark.parametrize("path", EXAMPLES, ids=NAMES)
def test_every_record_comes_with_one_of_its_words(path: Path) -> None:
    """Not only where a rule reports: each event of a kind that rules rest on has a word of that kind in the code."""
    source = Source.read(path)
    words = [triage.words_of(source)]
    made = recipe.build(source, None)
    kinds = {event.kind for life in made.models if life.kind in ("pretrained", "config") for event in life.events}
    kinds |= {kind for kind, some in (("backwards", made.backwards), ("branches", made.branches), ("keywords", made.keywords)) if some}
    for kind in kinds & (registry.WORDS.keys() - registry.HOOKS.keys() - {"frozen", "moved", "wrapped"}):
        assert any(triage._there(word.encode(), words, triage.table()) for word in registry.WORDS[kind]), kind


@given(st.data())
def test_moved_into_a_module_it_still_concerns_us(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """The body of an example in a function of another module, called from a script that hardly has a word."""
    bad = [path for path in EXAMPLES if path.parent.name == "bad" and "import *" not in path.read_text(encoding="utf-8")]
    path = data.draw(st.sampled_from(bad))
    folder = tmp_path_factory.mktemp("project")
    text = path.read_text(encoding="utf-8")
    if '"""' in text[3:].partition('"""')[2]:
        return  # indenting would change a text
    (folder / "part.py").write_text("def whole():\n" + "".join("    " + line for line in text.splitlines(keepends=True)), encoding="utf-8")
    (folder / "main.py").write_text("import torch\nfrom part import whole\n\nwhole()\n", encoding="utf-8")
    source, project = Source.read(folder / "main.py"), Project(folder)
    for code in found(source, project):
        assert triage.concerns(source, project, frozenset((code,))), code


MODEL = "import torch\nfrom torch import nn\n\nclass Block(nn.Module):\n    def forward(self, x):\n        return x\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import os\n", False),
        ('"""import torch: loss.backward()"""\n', False),
        ("import torch  # loss.backward()\n", False),
        ("import torch\nloss.backward()\n", True),
        ("import torch\nprint(f'{loss.backward()}')\n", True),
        ("import torch\nprint(rf'''{\nloss.backward()}''')\n", True),
        ("import torch\ngetattr(loss, 'backward')()\n", True),
        ("import torch\nx = 'it\\'s'; loss.backward()\n", True),
        ("import torch\nx = 'a' \\\n  \"b\"; y = ''; loss.backward()\n", True),
        ("import torch\nclass F:\n    def backward(ctx, g):\n        return g\n", False),
        (MODEL, False),
        (MODEL.replace("return x", "return self.a(x.detach())"), True),
        (MODEL + "\ndef other(x):\n    return x.detach()\n", False),
        (MODEL.replace("return x", "return helper(x)") + "\ndef helper(x):\n    return x.detach()\n", True),
        (MODEL.replace("x)", "input_ids)").replace("return x", "return input_ids.detach()"), False),
    ],
)
def test_words_in_code(text: str, expected: bool) -> None:
    assert triage.concerns(Source(text, "x.py"), None, CODES & triage.table().rules.keys()) is expected


def test_a_rule_that_declares_nothing_wants_every_file() -> None:
    assert triage.concerns(Source("import torch\n", "x.py"), None, frozenset(("LL799",)))


@given(st.text(alphabet="'\"\\#\n fr{}ab=", max_size=60))
def test_texts_of_any_kind_are_taken_apart(text: str) -> None:
    words = triage.Words(text.encode())
    assert words.words <= frozenset(re.findall(rb"[A-Za-z_]\w*|(?:def|class) +\w+", text.encode()))
    assert words.module is not None
