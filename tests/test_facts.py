"""The facts are what was measured: scenarios, rows of results and bounds agree."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from lora_lint.target import LIBRARIES, releases
from lora_lint.versions import Fact, facts
from matrix.matrix import RESULTS, SCENARIOS, Row, beside_bounds, eras, known, known_texts, next_release, partners, read_rows, render, same_text

ROWS = read_rows()
NAMES = sorted(facts())
LAST = LIBRARIES.index("torch")


def rows_of(name: str) -> list[Row]:
    """The rows in which a fact was found true or false."""
    return [row for row in ROWS if row.fact == name and row.outcome != "null"]


def test_every_fact_has_a_scenario_and_every_scenario_a_fact() -> None:
    assert sorted(path.stem for path in SCENARIOS.glob("[!_]*.py")) == NAMES


def test_every_row_is_about_a_scenario() -> None:
    candidates = {path.stem for path in (SCENARIOS / "candidates").glob("*.py")}
    assert not candidates & set(NAMES)
    assert {row.fact for row in ROWS} <= candidates | set(NAMES)


def test_the_results_are_sorted_and_unique() -> None:
    assert render(ROWS) == RESULTS.read_text(encoding="utf-8")
    assert render(reversed(ROWS)) == render(ROWS)


@pytest.mark.parametrize("name", NAMES)
def test_no_row_contradicts_the_fact(name: str) -> None:
    fact = facts()[name]
    assert any(row.outcome == "true" for row in rows_of(name))
    wrong = [row for row in rows_of(name) if fact.on({one: row.version(one) for one in LIBRARIES}) != (row.outcome == "true")]
    assert not wrong


@pytest.mark.parametrize("name", NAMES)
def test_every_bound_is_measured_to_the_exact_release(name: str) -> None:
    fact = facts()[name]
    for library in fact.ranges:
        measured = known(fact, library, ROWS)
        for pair in beside_bounds(fact, library):
            sides = [fact.part(library, version) for version in pair]
            assert [measured.get(version) for version in pair] == sides, f"{library} {pair[0]} and {pair[1]}"


@pytest.mark.parametrize("name", NAMES)
def test_a_fact_without_bounds_is_measured_on_the_oldest_and_the_newest_era(name: str) -> None:
    fact = facts()[name]
    if any(beside_bounds(fact, library) for library in fact.ranges if library != "torch"):
        assert not all(row.outcome == "true" for row in rows_of(name))
        return
    true_on = {tuple(getattr(row, library) for library in LIBRARIES[:LAST]) for row in rows_of(name) if row.outcome == "true"}
    for era in (eras()[0], eras()[-1]):
        assert tuple(era[library] for library in LIBRARIES[:LAST]) in true_on


@pytest.mark.parametrize("name", NAMES)
def test_the_message_is_the_measured_one(name: str) -> None:
    texts = known_texts()[name]
    messages = [row.message for row in rows_of(name) if row.outcome == "true"]
    assert not [message for message in messages if not any(same_text(text, message) for text in texts)]
    assert not [text for text in texts if not any(same_text(text, message) for message in messages)], "a text that no release gives"
    newest = max((row for row in rows_of(name) if row.outcome == "true"), key=lambda row: [row.version(one) for one in LIBRARIES])
    assert same_text(facts()[name].message, newest.message), "the fact has the newest text, other_texts.toml the others"


@pytest.mark.parametrize("name", NAMES)
def test_sources_are_addresses(name: str) -> None:
    source = facts()[name].source
    if source:
        parts = urlsplit(source)
        assert parts.scheme == "https"
        assert "." in parts.netloc
        assert len(parts.path) > 1
        assert " " not in source


def test_the_eras_ascend_over_known_releases() -> None:
    assert len(eras()) >= 10
    for library in LIBRARIES[:LAST]:
        versions = [Version(era[library]) for era in eras()]
        assert versions == sorted(versions)
        assert set(versions) <= set(releases(library))


def test_a_text_with_placeholders_stands_for_its_messages() -> None:
    assert same_text("TypeError: {cls}.__init__() got '{keyword}'", "TypeError: Llama.__init__() got 'load_in_4bit'")
    assert not same_text("TypeError: {cls}.__init__() got '{keyword}'", "TypeError: Llama.__init__() lacks 'load_in_4bit'")
    assert same_text("", "")
    assert not same_text("", "RuntimeError: no")


FACT = Fact("a", {"peft": SpecifierSet("<0.7.0"), "transformers": SpecifierSet("<5.0.0")}, says="", message="", measured="", source="")
NO_BOUND = Fact("a", {"peft": SpecifierSet()}, says="", message="", measured="", source="")


def test_a_search_begins_beside_the_stated_bound_and_halves_what_is_left() -> None:
    assert next_release(FACT, "peft", {}, set()) == Version("0.6.2")
    both = {Version("0.6.2"): True, Version("0.7.0"): False}
    assert next_release(FACT, "peft", both, set()) is None
    assert next_release(FACT, "peft", {**both, Version("0.5.0"): False}, set()) == Version("0.6.1")
    ends = {Version("0.4.0"): True, Version("0.7.0"): False}
    assert next_release(NO_BOUND, "peft", ends, set()) == Version("0.6.1")
    assert next_release(NO_BOUND, "peft", ends, {Version(one) for one in ("0.5.0", "0.6.0", "0.6.1", "0.6.2")}) is None


def test_partners_come_from_the_nearest_eras_and_keep_the_other_ranges() -> None:
    chosen = partners(FACT, "peft", Version("0.21.0"))
    assert all(one["peft"] == "0.21.0" and Version(one["transformers"]) < Version("5.0.0") for one in chosen)
    nearest = partners(NO_BOUND, "peft", Version("0.8.0"))
    assert [one["transformers"] for one in nearest] == ["4.36.2", "4.40.2", "4.31.0"]


def test_rows_with_the_other_library_out_of_its_range_say_nothing_about_a_bound() -> None:
    row = ROWS[0]
    fields = {"fact": "a", "outcome": "true", "peft": "0.6.2"}
    inside, outside = (type(row)(**{**vars(row), **fields, "transformers": version}) for version in ("4.36.2", "5.0.0"))
    assert known(FACT, "peft", [inside]) == {Version("0.6.2"): True}
    assert known(FACT, "peft", [outside]) == {}
