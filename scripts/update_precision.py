"""Write into the rules' pages what they were worth on real scripts: how many findings, and how many of them were judged right and wrong.

usage: python scripts/update_precision.py --files FOLDER --judged FILE [--only LIST] [--codes LL101,LL203]

FOLDER holds real scripts, which are checked with every rule, those in preview too, on the versions that their dependency files tell. FILE has one
judgement a line, separated by tabs: code, path below FOLDER, line, `right` or `wrong`, and why. A finding without a judgement is printed, and
counts for nothing until somebody read it. The numbers go into the key `corpus` of the front matter; a rule with more than one wrong in fifty belongs
to stage P. LIST has the paths below FOLDER that count, one a line, such as those of training scripts among libraries and tests.
"""

from __future__ import annotations

import argparse
import datetime
import re
import sys
from collections import Counter
from pathlib import Path

from lora_lint import codes
from lora_lint.config import Settings
from lora_lint.engine import Projects, check_file
from lora_lint.rules import REGISTRY

RULES = Path(__file__).resolve().parent.parent / "rules"
Place = tuple[str, str, int]


def judgements(file: Path) -> dict[Place, str]:
    """The judgements by place. Raises ``ValueError`` for a line that is none."""
    found: dict[Place, str] = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        parts = line.split("\t")
        if len(parts) < 4 or parts[3] not in ("right", "wrong") or not parts[2].isdigit():
            raise ValueError(f"{file}:{number}: code, path, line, right or wrong, and why are expected, separated by tabs")
        found[parts[0], parts[1], int(parts[2])] = parts[3]
    return found


def findings(folder: Path, wanted: frozenset[str], only: set[str] | None) -> set[Place]:
    """What is found at warning and above in all Python files and notebooks below a folder, or in those of a list."""
    projects, found = Projects(), set()
    settings = Settings(wanted)
    for path in sorted(p for kind in ("*.py", "*.ipynb") for p in folder.rglob(kind)):
        if only is not None and path.relative_to(folder).as_posix() not in only:
            continue
        result = check_file(path, path.relative_to(folder).as_posix(), settings, projects)
        found |= {(f.code, result.path, f.span.start.line) for f in result.findings if f.code in wanted}
    return found


def write(code: str, counts: Counter[str], day: str) -> None:
    """Set the key ``corpus`` of a rule's page."""
    file = RULES / f"{code}-{codes.names()[code]}" / "rule.md"
    text = file.read_text(encoding="utf-8")
    total = counts["right"] + counts["wrong"]
    row = f'corpus = {{ findings = {total}, right = {counts["right"]}, wrong = {counts["wrong"]}, date = "{day}" }}\n'
    text = re.sub(r"^corpus = .*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^(libraries = .*\n)", lambda m: m[1] + row, text, count=1, flags=re.MULTILINE)
    file.write_text(text, encoding="utf-8", newline="\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=Path, required=True)
    parser.add_argument("--judged", type=Path, required=True)
    parser.add_argument("--only", type=Path)
    parser.add_argument("--codes", help="only these, separated by commas")
    options = parser.parse_args()
    wanted = frozenset(options.codes.split(",")) if options.codes else frozenset(REGISTRY)
    judged = judgements(options.judged)
    counts: dict[str, Counter[str]] = {code: Counter() for code in sorted(wanted)}
    only = set(options.only.read_text(encoding="utf-8").splitlines()) if options.only else None
    unread = 0
    for code, path, line in sorted(findings(options.files, wanted, only)):
        word = judged.get((code, path, line))
        if word is None:
            unread += 1
            print(f"not judged: {code} {path}:{line}")
        else:
            counts[code][word] += 1
    day = datetime.date.today().isoformat()
    for code, found in counts.items():
        write(code, found, day)
        print(f"{code}: {found['right']} right, {found['wrong']} wrong")
    return 1 if unread else 0


if __name__ == "__main__":
    sys.exit(main())
