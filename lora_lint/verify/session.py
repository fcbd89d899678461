"""``--verify`` from the side of the command: runs scripts, puts verdicts on their findings, and tries fixes out."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, cast

from lora_lint import codes
from lora_lint.findings import Applicability, Finding, Position, Severity, Span, Verdict
from lora_lint.fix import apply
from lora_lint.notebook import Notebook
from lora_lint.project import Project
from lora_lint.source import Source
from lora_lint.suppressions import Suppressions
from lora_lint.verify import VerifyError
from lora_lint.verify.launch import Outcome, check_python, find_python, run_step
from lora_lint.verify.plan import Device, Options, Plan, plan_of
from lora_lint.verify.seen import Seen
from lora_lint.verify.told import told
from lora_lint.verify.verdicts import decide
from lora_lint.verify.verdicts.unexplained import unexplained

TIMEOUT = 180  # seconds
DEVICES = ("auto", "cuda", "virtual", "cpu")


@dataclass(frozen=True)
class Request:
    """What the user asks: as the options of the command."""

    device: str = "auto"
    timeout: float = TIMEOUT
    arguments: str = ""
    python: Path | None = None


@dataclass(frozen=True)
class Tried:
    """What came of the fixes of a file: its text with those that helped, these, what is found after them, and a line for each that was tried."""

    source: Source
    kept: list[Finding]
    left: list[Finding]
    lines: list[str]


@dataclass(frozen=True)
class _Attempt:
    """A text with the fixes of ``made`` (those that go together), what was seen of it, and its findings with their verdicts."""

    source: Source
    made: list[Finding]
    seen: Seen
    left: list[Finding]


class Session:
    """The runs of one command. ``say`` takes lines for the user."""

    def __init__(self, request: Request, say: Callable[[str], None]) -> None:
        self._request = request
        self._say = say
        self._checked: set[Path] = set()
        try:
            self._argv = tuple(shlex.split(request.arguments))
        except ValueError as error:
            raise VerifyError(f"--verify-args {request.arguments!r}: {error}") from None

    def verify(self, source: Source, findings: Sequence[Finding], project: Project | None, enabled: frozenset[str]) -> list[Finding]:
        """Run a script as it stands; its findings with their verdicts, and a finding LL800 where the step shows a fault that none explains.

        ``enabled`` are the codes that are looked for. Raises ``VerifyError`` where it cannot be run at all.
        """
        return _judge(source, findings, self._run(source, findings, project), enabled)

    def fix(
        self, source: Source, findings: Sequence[Finding], check: Callable[[Source], list[Finding]], project: Project | None, unsafe: bool,
        enabled: frozenset[str],
    ) -> Tried:  # fmt: skip
        """Try the fixes on a copy, all together and, where that does not train, one after the other; keep those that cure their finding.

        ``check`` finds what is found in a changed text. Raises ``VerifyError``.
        """
        allowed = {Applicability.SAFE, Applicability.UNSAFE} if unsafe else {Applicability.SAFE}
        offers = [finding for finding in findings if finding.fix and finding.fix.edits and finding.fix.applicability in allowed]
        left = list(findings)
        if not offers:
            return Tried(source, [], left, [])
        together = self._attempt(source, offers, check, project, enabled)
        if together is not None and together.seen.done:
            lines = [f"{_name(finding)}: kept, the step trains with it" for finding in together.made]
            return Tried(together.source, together.made, together.left, lines)
        if len(offers) == 1:
            return Tried(source, [], left, [f"{_name(offers[0])}: not applied, {_why_not(together)}"])
        kept: list[Finding] = []
        lines = []
        current = source
        for finding in offers:
            now = next((one for one in check(current) if _key(one) == _key(finding) and one.fix), None)
            if now is None:
                continue
            alone = self._attempt(current, [now], check, project, enabled)
            if alone is not None and alone.seen.done:
                current, left = alone.source, alone.left
                kept.append(finding)
                lines.append(f"{_name(finding)}: kept, the step trains with it")
            else:
                lines.append(f"{_name(finding)}: not applied, {_why_not(alone)}")
        return Tried(current, kept, left, lines)

    def _attempt(
        self, source: Source, offers: Sequence[Finding], check: Callable[[Source], list[Finding]], project: Project | None, enabled: frozenset[str]
    ) -> _Attempt | None:
        """Apply fixes to a copy and run it; ``None`` where that leaves a confirmed finding of their own rule."""
        data, applied = apply(source.data, [finding.fix for finding in offers if finding.fix])
        made = [finding for finding in offers if finding.fix in applied]
        changed = source.with_text(data.decode("utf-8"))
        changed.file = source.file
        with tempfile.TemporaryDirectory(prefix="lora-lint-") as folder:
            text = Path(folder) / "fixed.py"
            text.write_bytes(changed.encode(changed.text))
            seen = self._run(changed, offers, project, text)
        left = _judge(changed, check(changed), seen, enabled)
        cured = {finding.code for finding in made}
        if any(one.code in cured and one.verification and one.verification.verdict is Verdict.CONFIRMED for one in left):
            return None
        return _Attempt(changed, made, seen, left)

    def _run(self, source: Source, findings: Sequence[Finding], project: Project | None, text: Path | None = None) -> Seen:
        if isinstance(source, Notebook):
            raise VerifyError(f"{source.path}: --verify runs scripts, not notebooks; export it (jupyter nbconvert --to script) and run that")
        if source.file is None:
            raise VerifyError("--verify needs a file, not standard input")
        python = find_python(self._request.python, source.file)
        if python not in self._checked:
            problem = check_python(python)
            if problem is not None:
                raise VerifyError(problem)
            self._checked.add(python)
        plan_for = partial(self._plan, source, findings, project, text)
        seen, outcome = self._started(source, python, plan_for, _device(self._request.device), "the fixed script" if text else "it")
        if seen.end == "imports failed" and seen.exception is not None:
            if not seen.exception.without_gpu:
                raise VerifyError(f"{source.path}: {python} cannot load what the step needs: {seen.exception.text}")
            if self._request.device == "cuda":
                raise VerifyError(f"--verify-device cuda: there is no GPU that {python} can use; --verify-device virtual needs none")
            seen, outcome = self._started(source, python, plan_for, "virtual", "it once more")
        first, *more = told(source.path, seen, outcome.confinement)
        self._say(first)
        for line in more:
            self._say(f"  {line}")
        return seen

    def _plan(self, source: Source, findings: Sequence[Finding], project: Project | None, text: Path | None, device: Device) -> Plan:
        from lora_lint import recipe

        wanted = Options(argv=self._argv, device=device, codes=frozenset(finding.code for finding in findings), text=text, folder=Path.cwd())
        return plan_of(source, recipe.build(source, project), wanted)

    def _started(self, source: Source, python: Path, plan_for: Callable[[Device], Plan], device: Device, what: str) -> tuple[Seen, Outcome]:
        """Say what is run, and run it. Raises ``VerifyError`` where no process can be started."""
        where = {"virtual": "virtual CUDA", "cuda": "the GPU", "cpu": "the CPU"}[device]
        self._say(f"{source.path}: running {what} up to its first optimizer step, with {python}, on {where}; models and data are small stand-ins")
        outcome = run_step(plan_for(device).to_json(), python=python, timeout=self._request.timeout)
        if outcome.end == "cannot start":
            raise VerifyError(outcome.detail)
        return Seen.of(outcome, source.file or source.path), outcome


def _judge(source: Source, findings: Sequence[Finding], seen: Seen, enabled: frozenset[str]) -> list[Finding]:
    """The findings with their verdicts, and LL800 where it is looked for, needed, and not silenced."""
    judged = [replace(finding, verification=decide(finding, seen)) if finding.code not in codes.META else finding for finding in findings]
    fault = unexplained(judged, seen) if codes.STEP_FAILED in enabled else None
    if fault is None:
        return judged
    line = source.line(fault.line)
    span = Span(Position(fault.line, 1), Position(fault.line, max(len(line.rstrip()), 1) + 1))
    name = codes.META[codes.STEP_FAILED]
    made = Finding(codes.STEP_FAILED, name, Severity.ERROR, fault.message, source.path, span, failure=fault.failure, line_text=line)
    return judged if Suppressions(source).silences(made) else [*judged, made]


def _device(asked: str) -> Device:
    if asked != "auto":
        return cast("Literal['virtual', 'cuda', 'cpu']", asked)
    return "cuda" if os.path.exists("/dev/nvidiactl") or shutil.which("nvidia-smi") else "virtual"


def _key(finding: Finding) -> tuple[str, str]:
    return finding.code, "".join(finding.line_text.split())


def _name(finding: Finding) -> str:
    return f"{finding.path}:{finding.span.start.line}: fix of {finding.code}"


def _why_not(attempt: _Attempt | None) -> str:
    if attempt is None:
        return "it does not cure the finding"
    seen = attempt.seen
    if seen.exception is not None:
        return f"the step does not train with it: {seen.exception.text}"
    return f"the step was not done with it: {seen.detail or seen.end}"
