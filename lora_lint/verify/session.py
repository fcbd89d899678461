"""``--verify`` from the side of the command: runs scripts, puts verdicts on their findings, and tries fixes out."""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast

from lora_lint import codes
from lora_lint.findings import Applicability, Finding, Position, Severity, Span, Verdict
from lora_lint.fix import apply
from lora_lint.notebook import Notebook
from lora_lint.project import Project
from lora_lint.source import Source
from lora_lint.verify import VerifyError
from lora_lint.verify.launch import check_python, find_python, run_step
from lora_lint.verify.plan import Device, Options, plan_of
from lora_lint.verify.seen import Seen
from lora_lint.verify.told import told
from lora_lint.verify.verdicts import decide, unexplained

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
    """What came of the fixes of a file: its text with those that helped, these, and a line for each fix that was tried."""

    source: Source
    kept: list[Finding]
    lines: list[str]


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

    def verify(self, source: Source, findings: Sequence[Finding], project: Project | None) -> list[Finding]:
        """Run a script as it stands; its findings with their verdicts, and a finding LL800 where the step shows a fault that none explains.

        Raises ``VerifyError`` where it cannot be run at all.
        """
        seen = self._run(source, findings, project)
        judged = [replace(finding, verification=decide(finding, seen)) if finding.code not in codes.META else finding for finding in findings]
        fault = unexplained(judged, seen)
        if fault is not None:
            start = Position(fault.line, 1)
            line = source.line(fault.line)
            span = Span(start, Position(fault.line, max(len(line.rstrip()), 1) + 1))
            name = codes.META[codes.STEP_FAILED]
            made = Finding(codes.STEP_FAILED, name, Severity.ERROR, fault.message, source.path, span, failure=fault.failure, line_text=line)
            judged.append(made)
        return judged

    def fix(
        self, source: Source, findings: Sequence[Finding], check: Callable[[Source], list[Finding]], project: Project | None, unsafe: bool
    ) -> Tried:
        """Try the fixes on a copy, all together and, where that does not train, one after the other; keep those that cure their finding.

        ``check`` finds what is found in a changed text. Raises ``VerifyError``.
        """
        allowed = {Applicability.SAFE, Applicability.UNSAFE} if unsafe else {Applicability.SAFE}
        offers = [finding for finding in findings if finding.fix and finding.fix.edits and finding.fix.applicability in allowed]
        if not offers:
            return Tried(source, [], [])
        together = self._attempt(source, offers, check, project)
        if together is not None and together[1].done:
            return Tried(together[0], offers, [f"{_name(finding)}: kept, the step trains with it" for finding in offers])
        if len(offers) == 1:
            return Tried(source, [], [f"{_name(offers[0])}: not applied, {_why_not(together)}"])
        kept: list[Finding] = []
        lines: list[str] = []
        current = source
        for finding in offers:
            now = next((one for one in check(current) if _key(one) == _key(finding) and one.fix), None)
            if now is None:
                continue
            alone = self._attempt(current, [now], check, project)
            if alone is not None and alone[1].done:
                current = alone[0]
                kept.append(finding)
                lines.append(f"{_name(finding)}: kept, the step trains with it")
            else:
                lines.append(f"{_name(finding)}: not applied, {_why_not(alone)}")
        return Tried(current, kept, lines)

    def _attempt(
        self, source: Source, offers: Sequence[Finding], check: Callable[[Source], list[Finding]], project: Project | None
    ) -> tuple[Source, Seen] | None:
        """Apply fixes to a copy and run it; ``None`` where they do not go together, or leave a confirmed finding of their own rule."""
        fixes = [finding.fix for finding in offers if finding.fix]
        data, _ = apply(source.data, fixes)
        changed = source.with_text(data.decode("utf-8"))
        changed.file = source.file
        left = check(changed)
        with tempfile.TemporaryDirectory(prefix="lora-lint-") as folder:
            text = Path(folder) / "fixed.py"
            text.write_bytes(changed.encode(changed.text))
            seen = self._run(changed, offers, project, text)
        cured = {finding.code for finding in offers}
        if any(finding.code in cured and decide(finding, seen).verdict is Verdict.CONFIRMED for finding in left):
            return None
        return changed, seen

    def _run(self, source: Source, findings: Sequence[Finding], project: Project | None, text: Path | None = None) -> Seen:
        from lora_lint import recipe

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
        device = _device(self._request.device)
        wanted = Options(argv=self._argv, device=device, codes=frozenset(finding.code for finding in findings), text=text, folder=Path.cwd())
        plan = plan_of(source, recipe.build(source, project), wanted)
        what = "the fixed script" if text else "it"
        where = {"virtual": "virtual CUDA", "cuda": "the GPU", "cpu": "the CPU"}[device]
        self._say(f"{source.path}: running {what} up to its first optimizer step, with {python}, on {where}; models and data are small stand-ins")
        outcome = run_step(plan.to_json(), python=python, timeout=self._request.timeout)
        if outcome.end == "cannot start":
            raise VerifyError(outcome.detail)
        seen = Seen.of(outcome, source.file)
        first, *more = told(source.path, seen, outcome.confinement)
        self._say(first)
        for line in more:
            self._say(f"  {line}")
        return seen


def _device(asked: str) -> Device:
    if asked != "auto":
        return cast("Literal['virtual', 'cuda', 'cpu']", asked)
    return "cuda" if os.path.exists("/dev/nvidiactl") or shutil.which("nvidia-smi") else "virtual"


def _key(finding: Finding) -> tuple[str, str]:
    return finding.code, "".join(finding.line_text.split())


def _name(finding: Finding) -> str:
    return f"{finding.path}:{finding.span.start.line}: fix of {finding.code}"


def _why_not(attempt: tuple[Source, Seen] | None) -> str:
    if attempt is None:
        return "it does not cure the finding"
    seen = attempt[1]
    if seen.exception is not None:
        return f"the step does not train with it: {seen.exception.text}"
    return f"the step was not done with it: {seen.detail or seen.end}"
