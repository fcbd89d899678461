"""Write rules/*/bad/*.fixed.py: what the fixes make of the faulty examples.

usage: python scripts/update_fixed.py CODE [...]

For each faulty example of a rule in which a finding of that rule can be fixed, the file beside it is written anew. Look at the difference before you
commit it: the tests hold the program to these files.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from lora_lint.fix import fix_text
from test_rules import FOLDERS, Example


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("codes", nargs="+", metavar="CODE")
    wanted = set(parser.parse_args().codes)
    for folder in FOLDERS:
        if folder.name.partition("-")[0] not in wanted:
            continue
        for path in sorted((folder / "bad").glob("*.py")):
            if path.name.endswith(".fixed.py"):
                continue
            example = Example(path)
            done = fix_text(example.source, example.check, unsafe=example.header("fix") == "unsafe")
            if example.code in {finding.code for finding in done.applied}:
                path.with_name(f"{path.stem}.fixed.py").write_bytes(done.source_after.data)
                print(f"wrote {path.stem}.fixed.py")
    return 0


if __name__ == "__main__":
    sys.exit(main())
