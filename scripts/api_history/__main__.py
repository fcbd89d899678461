"""Write lora_lint/api/data: the history of the public names of the libraries, read from the wheels of all their releases.

usage: python scripts/api_history [LIBRARY ...]

Each final release since early 2023 is taken from the package index and read as text; nothing is installed, imported or run. What was downloaded and
parsed is kept in ~/.cache/lora-lint-api (or LORA_LINT_API_CACHE), so that a new release costs its changed files only: run the same command again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import encode
import wheels

OUTPUT = Path(__file__).resolve().parent.parent.parent / "lora_lint" / "api" / "data"


def main() -> int:
    parser = argparse.ArgumentParser(prog="api_history", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs="*", metavar="LIBRARY", help="default: all", choices=[*wheels.FIRST, []])
    for library in parser.parse_args().libraries or wheels.FIRST:
        data = encode.history(library)
        OUTPUT.mkdir(exist_ok=True)
        (OUTPUT / f"{library}.bin").write_bytes(data)
        print(f"wrote {library}.bin, {len(data) / 1e6:.2f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
