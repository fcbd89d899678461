from __future__ import annotations

import pytest
from packaging.version import Version

from lora_lint.target import LIBRARIES, Target, TargetError, releases, split


def parse(*specs: str) -> Target:
    return Target.parse([(spec, "--target") for spec in specs])


def test_unknown_means_all_supported_releases() -> None:
    target = Target.unknown()
    for library in LIBRARIES:
        versions = target.versions(library)
        assert versions == releases(library)
        assert list(versions) == sorted(versions)
        assert not target.known(library)
        assert target.origin(library) == ""
    assert target.versions("transformers")[0] == Version("4.31.0")


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("transformers==4.44.2 peft==0.12.0", ["transformers==4.44.2", "peft==0.12.0"]),
        ("transformers >= 4.40, < 5, peft == 0.12", ["transformers>=4.40,<5", "peft==0.12"]),
        ("transformers>=4.40,<5,trl", ["transformers>=4.40,<5", "trl"]),
        (" , ", []),
    ],
)
def test_lists_of_requirements(text: str, parts: list[str]) -> None:
    assert split(text) == parts


@pytest.mark.parametrize(
    ("spec", "first", "last"),
    [
        ("transformers==4.44.2", "4.44.2", "4.44.2"),
        ("transformers==4.44.*", "4.44.0", "4.44.2"),
        ("transformers>=4.40,<4.41", "4.40.0", "4.40.2"),
        ("transformers==4.28.1", "4.28.1", "4.28.1"),  # older than the table: the pin itself
        ("transformers==5.0.0rc1", "5.0.0rc1", "5.0.0rc1"),
        ("torch==2.1.0+cu121", "2.1.0+cu121", "2.1.0+cu121"),
        ("transformers>=99", "99", "99"),  # newer than the table: its lower bound
        ("Transformers[torch]==4.44.2", "4.44.2", "4.44.2"),
    ],
)
def test_ranges(spec: str, first: str, last: str) -> None:
    library = spec.split("=")[0].split(">")[0].split("[")[0].lower()
    target = parse(spec)
    assert target.known(library)
    assert (target.versions(library)[0], target.versions(library)[-1]) == (Version(first), Version(last))


def test_one_origin_adds_up_and_the_first_origin_wins() -> None:
    assert parse("peft>=0.5", "peft<0.6").versions("peft") == (Version("0.5.0"),)
    target = Target.parse([("peft==0.12.0", "--target"), ("peft==0.4.0 trl==0.7.1", "pyproject.toml")])
    assert target.versions("peft") == (Version("0.12.0"),)
    assert (target.origin("peft"), target.origin("trl")) == ("--target", "pyproject.toml")
    assert target.describe() == {"peft": "0.12.0 (--target)", "trl": "0.7.1 (pyproject.toml)"}


def test_a_bare_name_says_nothing() -> None:
    assert not parse("transformers").known("transformers")


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("transfomers==4.44.2", "unknown target library 'transfomers' (--target): did you mean 'transformers'?"),
        ("pandas==2", "unknown target library 'pandas' (--target): known are transformers, "),
        ("transformers=4.44.2", "malformed requirement 'transformers=4.44.2' (--target); write transformers==4.44.2"),
        ("transformers>>4", "malformed requirement 'transformers>>4' (--target)"),
        ("transformers==4.*.2", "malformed requirement"),
        ("trl@git+https://example.invalid/trl", "malformed requirement"),
        ("transformers<4.31", "no known release of transformers is in <4.31 (--target): known are 4.31.0 to "),
        ("transformers>=5,<4.40", "no known release of transformers is in "),
    ],
)
def test_errors_are_one_clear_line(spec: str, message: str) -> None:
    with pytest.raises(TargetError) as caught:
        parse(spec)
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)
