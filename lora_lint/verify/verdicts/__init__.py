"""What a real step says of each finding: one small function a rule, on what was seen and nothing else.

*Confirmed* and *refuted* need an observation of the thing itself. A refuted finding is not counted, so doubt is never a refutation: where the model
of the finding is not the one that the step trained, where its line cannot be seen to have run before the step (a script may train in several
stages, and only the first one is run), or where it holds under a condition that this run need not have met, the answer is *not reached*.
"""

from __future__ import annotations

from lora_lint.findings import Finding, Verdict, Verification
from lora_lint.verify.seen import Seen
from lora_lint.verify.verdicts import adapters, devices, drift, gradient, labels, loop, quantized  # noqa: F401  (they fill RULES)
from lora_lint.verify.verdicts.look import RULES, Answer, Look, one_line


def decide(finding: Finding, seen: Seen) -> Verification:
    """The verdict on a finding of the script that was run."""
    rule = RULES.get(finding.code)
    answer = rule(Look(finding, seen)) if rule is not None else Answer(Verdict.NOT_REACHED, "a training step says nothing about it")
    return Verification(answer.verdict, one_line(answer.evidence), tuple((seen.versions or {}).items()), seen.device)
