"""Cut GitHub's description of its API down to the requests that the review bot makes, for tests/review.

usage: npm install @octokit/openapi && python scripts/trim_github_api.py node_modules/@octokit/openapi/generated/api.github.com.json

Written is tests/data/schemas/github.openapi.json. Answers are left out; request bodies get stricter than the original: unknown keys are errors, and
the sides of a comment are an enumeration.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

TARGET = Path(__file__).resolve().parent.parent / "tests" / "data" / "schemas" / "github.openapi.json"
REPOSITORY = "/repos/{owner}/{repo}"
KEPT = {
    "/user": ["get"],
    f"{REPOSITORY}/commits/{{commit_sha}}/pulls": ["get"],
    f"{REPOSITORY}/compare/{{basehead}}": ["get"],
    f"{REPOSITORY}/issues/comments/{{comment_id}}": ["delete", "patch"],
    f"{REPOSITORY}/issues/{{issue_number}}/comments": ["get", "post"],
    f"{REPOSITORY}/pulls/comments/{{comment_id}}": ["delete", "patch"],
    f"{REPOSITORY}/pulls/{{pull_number}}": ["get"],
    f"{REPOSITORY}/pulls/{{pull_number}}/comments": ["get"],
    f"{REPOSITORY}/pulls/{{pull_number}}/files": ["get"],
    f"{REPOSITORY}/pulls/{{pull_number}}/reviews": ["post"],
    f"{REPOSITORY}/tarball/{{ref}}": ["get"],
}


def strict(schema: Any) -> None:
    """Forbid unknown keys in all objects of a request body."""
    if isinstance(schema, dict):
        if schema.get("type") == "object" and "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for part in schema.values():
            strict(part)
    elif isinstance(schema, list):
        for part in schema:
            strict(part)


def references(part: Any, source: dict[str, Any], found: dict[str, dict[str, Any]]) -> None:
    """Collect the components that a part refers to, and those that these refer to."""
    if isinstance(part, dict):
        name = part.get("$ref")
        if isinstance(name, str):
            _, _, kind, key = name.split("/", 3)
            if key not in found.setdefault(kind, {}):
                found[kind][key] = source["components"][kind][key]
                references(found[kind][key], source, found)
        for value in part.values():
            references(value, source, found)
    elif isinstance(part, list):
        for value in part:
            references(value, source, found)


def trimmed(source: dict[str, Any]) -> dict[str, Any]:
    paths: dict[str, Any] = {}
    for path, methods in KEPT.items():
        operations = {}
        for method in methods:
            operation = source["paths"][path][method]
            kept = {key: operation[key] for key in ("operationId", "parameters", "requestBody") if key in operation}
            strict(kept.get("requestBody"))
            operations[method] = {**kept, "responses": {"200": {"description": "left out"}}}
        paths[path] = operations
    comments = paths[f"{REPOSITORY}/pulls/{{pull_number}}/reviews"]["post"]["requestBody"]["content"]["application/json"]["schema"]["properties"]
    for side in ("side", "start_side"):
        comments["comments"]["items"]["properties"][side]["enum"] = ["LEFT", "RIGHT"]
    components: dict[str, dict[str, Any]] = {}
    references(paths, source, components)
    return {"openapi": source["openapi"], "info": source["info"], "paths": paths, "components": components}


def main() -> None:
    source = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    TARGET.write_text(json.dumps(trimmed(source), indent=1, sort_keys=True) + "\n", encoding="utf-8", newline="\n")
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()
