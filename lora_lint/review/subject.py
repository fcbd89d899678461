"""Which pull request is meant: what the user names, else what the CI service runs for."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lora_lint.review.forge import Forge
from lora_lint.review.github import GitHub, find_pull_request
from lora_lint.review.gitlab import GitLab
from lora_lint.review.http import Client, ForgeError

_GITHUB = re.compile(r"(?:https?://[^/]+/)?(?P<repository>[\w.-]+/[\w.-]+)(?:#|/pull/)(?P<number>\d+)(?:/\w*)?")
_GITLAB = re.compile(r"(?:https?://[^/]+/)?(?P<repository>[\w./-]+?)(?:!|/-/merge_requests/)(?P<number>\d+)(?:/\w*)?")


@dataclass(frozen=True)
class Subject:
    """A pull request by its ``number``, or (``None``) by the commit that is its ``head``."""

    gitlab: bool
    repository: str
    number: int | None
    head: str = ""

    def forge(self, environment: Mapping[str, str]) -> Forge:
        """The forge, with the addresses and the token that the environment has. Raises ``ForgeError``."""
        client = _client(self.gitlab, environment)
        if self.gitlab:
            assert self.number is not None
            return GitLab(client, self.repository, self.number)
        return GitHub(client, self.repository, self.number or find_pull_request(client, self.repository, self.head))


def subject(named: str | None, environment: Mapping[str, str] | None = None) -> Subject:
    """What to review. Raises ``ForgeError`` where nothing says it."""
    env = os.environ if environment is None else environment
    if named:
        return _named(named, env)
    if env.get("GITLAB_CI") and env.get("CI_MERGE_REQUEST_IID"):
        return Subject(True, env.get("CI_MERGE_REQUEST_PROJECT_ID") or env["CI_PROJECT_ID"], int(env["CI_MERGE_REQUEST_IID"]))
    if env.get("GITHUB_EVENT_PATH"):
        return _of_event(env)
    raise ForgeError("no pull request: name one with --pr OWNER/NAME#NUMBER, or run in a workflow that a pull request starts")


def _named(text: str, env: Mapping[str, str]) -> Subject:
    if text.isdecimal():
        if env.get("GITLAB_CI"):
            return Subject(True, env.get("CI_PROJECT_ID", ""), int(text))
        if env.get("GITHUB_REPOSITORY"):
            return Subject(False, env["GITHUB_REPOSITORY"], int(text))
        raise ForgeError(f"--pr {text}: of which repository? Write OWNER/NAME#{text}")
    for gitlab, pattern in ((False, _GITHUB), (True, _GITLAB)):
        if match := pattern.fullmatch(text):
            return Subject(gitlab, match["repository"], int(match["number"]))
    raise ForgeError(f"--pr {text}: write NUMBER, OWNER/NAME#NUMBER, GROUP/NAME!NUMBER, or the address of its page")


def _of_event(env: Mapping[str, str]) -> Subject:
    """The pull request of a GitHub event. https://docs.github.com/en/webhooks/webhook-events-and-payloads"""
    path = env["GITHUB_EVENT_PATH"]
    try:
        event: Any = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ForgeError(f"{path}: cannot read the event: {error}") from None
    try:
        repository = str(event["repository"]["full_name"])
        if "pull_request" in event:
            return Subject(False, repository, int(event["pull_request"]["number"]))
        if "workflow_run" in event:  # its list of pull requests is empty for a fork's
            return Subject(False, repository, None, str(event["workflow_run"]["head_sha"]))
        if "pull_request" in event.get("issue", {}):
            return Subject(False, repository, int(event["issue"]["number"]))
    except (KeyError, TypeError, AttributeError, ValueError):
        raise ForgeError(f"{path}: an event that cannot be understood") from None
    raise ForgeError(f"the event {env.get('GITHUB_EVENT_NAME', '')} belongs to no pull request; name one with --pr NUMBER")


def _client(gitlab: bool, env: Mapping[str, str]) -> Client:
    if gitlab:
        token = env.get("GITLAB_TOKEN")
        if not token:
            raise ForgeError("GITLAB_TOKEN is not set: it needs a token with the scope `api`, since a job's own may not comment")
        return Client(env.get("CI_API_V4_URL", "https://gitlab.com/api/v4"), {"Private-Token": token}, "GITLAB_TOKEN")
    token = env.get("GITHUB_TOKEN") or env.get("GH_TOKEN")
    if not token:
        raise ForgeError("GITHUB_TOKEN is not set")
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"}
    return Client(env.get("GITHUB_API_URL", "https://api.github.com"), headers, "GITHUB_TOKEN")
