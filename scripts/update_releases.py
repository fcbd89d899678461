"""Write lora_lint/facts/releases.toml: the releases of the libraries that lora-lint knows, as the package index lists them.

usage: python scripts/update_releases.py [--check]

The versions come from `pip index versions NAME`, so pip's own configuration (index, proxy, mirror) applies. Kept are final and post releases from
`supported-from` on; yanked ones are not listed by pip, local versions (+cpu) are dropped. --check only says whether the file is current (exit 1
when it is not).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from packaging.version import Version

SUPPORTED_FROM = {"transformers": "4.31", "peft": "0.4", "trl": "0.7", "accelerate": "0.21", "bitsandbytes": "0.39", "torch": "2.0"}
OUTPUT = Path(__file__).resolve().parent.parent / "lora_lint" / "facts" / "releases.toml"


def releases(name: str, first: str) -> list[Version]:
    """The final releases of ``name`` from ``first`` on, ascending."""
    done = subprocess.run([sys.executable, "-m", "pip", "index", "versions", name], capture_output=True, text=True, check=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("Available versions:"))
    versions = {Version(part.strip()) for part in line.partition(":")[2].split(",")}
    return sorted(v for v in versions if not v.is_prerelease and v.local is None and v >= Version(first))


def render() -> str:
    """The whole file."""
    parts = ["# Made by scripts/update_releases.py: the supported releases of each library, ascending. Do not edit by hand.\n"]
    for name, first in SUPPORTED_FROM.items():
        listed = [str(v) for v in releases(name, first)]
        rows = [listed[i : i + 12] for i in range(0, len(listed), 12)]
        body = "".join("    " + " ".join(f'"{v}",' for v in row) + "\n" for row in rows)
        parts.append(f'[{name}]\nsupported-from = "{first}"\nreleases = [\n{body}]\n')
    return "\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    text = render()
    if check:
        current = OUTPUT.exists() and OUTPUT.read_text(encoding="utf-8") == text
        print(f"{OUTPUT.name} is {'current' if current else 'stale'}")
        return 0 if current else 1
    OUTPUT.write_text(text, encoding="utf-8", newline="\n")
    print(f"wrote {OUTPUT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
