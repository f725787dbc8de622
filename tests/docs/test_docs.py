"""What the documentation shows is what happens: scripts parse and check, commands print what the page says.

`pytest tests/docs --update-golden` rewrites the output in the pages; the diff is then the thing to read.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import get_args

import pytest
import typer

from penstock.analysis.check import check_query
from penstock.cli import app
from penstock.compile import parse
from penstock.errors import ScriptErrors
from penstock.model.clauses import AGGREGATES, GROUPINGS, TOP, Aggregate, RangeWindow, RowsWindow
from penstock.model.hints import NO_HINTS
from penstock.model.relation import JoinKind, joins
from penstock.model.schemes import Policy, Scheme
from penstock.model.script import Script
from penstock.model.spans import Auto, Rows, Span
from penstock.sql import print_script
from tests.docs.pages import PAGES, ROOT, Block, as_run, blocks, commands, folder_for

LANGUAGE = next(page for page in PAGES if page.name == "language.md")
STATED = re.compile(r"-- check: (bounded|unbounded|undecided)$", re.MULTILINE)
NAMED = re.compile(r"`(\w+/[\w/.-]+\.(?:py|md|sql|sh)|(?:tests|docs|examples|runtime)/[\w/]*)`")
LINK = re.compile(r"\[[^\]]*\]\((?!https?://)([^)#]*)(?:#([^)]*))?\)")


def _streams_before(page: Path, block: Block) -> str:
    """The streams that a block of a page may use."""
    earlier = [b for b in blocks(page.read_text(encoding="utf-8")) if b.start < block.start]
    return "".join(b.body for b in earlier if b.language == "sql" and "streams" in b.words)


def _scripts(page: Path) -> list[tuple[Block, str]]:
    """The `sql` blocks of a page that are right, each as a whole script."""
    found = []
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "sql" and "wrong" not in block.words:
            before = _streams_before(page, block) if "query" in block.words else ""
            found.append((block, before + block.body))
    return found


SCRIPTS = [(page, block, text) for page in PAGES for block, text in _scripts(page)]
WRONG = [
    (page, block, statement)
    for page in PAGES
    for block in blocks(page.read_text(encoding="utf-8"))
    if block.language == "sql" and "wrong" in block.words
    for statement in block.body.split(";")
    if statement.strip()
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_print_what_the_page_says(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    text = page.read_text(encoding="utf-8")
    given = as_run(text, folder_for(page, tmp_path))
    if request.config.getoption("--update-golden") and given != text:
        page.write_text(given, encoding="utf-8")
    assert given == page.read_text(encoding="utf-8")


@pytest.mark.parametrize(("page", "block", "text"), SCRIPTS, ids=[f"{p.name}:{b.line}" for p, b, _ in SCRIPTS])
def test_script_parses_prints_back_and_is_checked(page: Path, block: Block, text: str) -> None:
    script = parse(text, f"{page.name}:{block.line}")
    assert parse(print_script(script)) == script
    stated = STATED.findall(block.body)
    verdicts = [check_query(query).verdict for query in script.queries]
    assert all(verdict in ("bounded", "unbounded", "undecided") for verdict in verdicts)
    if stated:
        assert verdicts == stated


@pytest.mark.parametrize(
    ("page", "block", "statement"), WRONG, ids=[f"{p.name}:{b.line}:{s.split()[-1]}" for p, b, s in WRONG]
)
def test_what_the_page_calls_wrong_is_an_error_of_its_own(page: Path, block: Block, statement: str) -> None:
    before = _streams_before(page, block)
    with pytest.raises(ScriptErrors) as raised:
        parse(before + statement)
    # The mistake is the one shown, not one in the streams that the page declared before.
    assert all(mistake.place.line > before.count("\n") for mistake in raised.value.mistakes)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        there = (page.parent / target).resolve() if target else page
        assert there.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in _anchors(there), f"{page.name} links to #{anchor} of {there.name}"


def _anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_are_there(page: Path) -> None:
    made = {block.file for block in blocks(page.read_text(encoding="utf-8"))}
    for name in NAMED.findall(page.read_text(encoding="utf-8")):
        assert name in made or any((ROOT / home / name).exists() for home in ("", "src/penstock")), name


def test_the_example_of_the_readme_is_the_file_it_names() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    shown = next(block.body for block in blocks(readme) if block.language == "sql")
    assert shown == (ROOT / "examples" / "unbounded.sql").read_text(encoding="utf-8")


GIVEN = re.compile(r"given out|\b(?:row|rows|group|groups|window|windows|match|answer)\b (?:is|are|was|were) given\b")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_query_answers_is_emitted(page: Path) -> None:
    """One word for it, as in the reports: rows are emitted, not given."""
    assert GIVEN.findall(page.read_text(encoding="utf-8")) == []


def test_the_readme_fits_three_screens_and_has_what_a_reader_looks_for() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 150
    in_order = ["Penstock runs", "pip install", "make demo", "make test", "examples/unbounded.sql", "--fix 1"]
    in_order += ["penstock.adopt", "docs/state.svg", "rows a second", "**Use.**", "**Run.**", "**Understand.**"]
    places = [text.find(part) for part in [*in_order, "**Contribute.**"]]
    assert -1 not in places
    assert places == sorted(places)


# The language reference is complete.


@pytest.fixture(scope="module")
def language() -> list[Script]:
    return [parse(text) for _, text in _scripts(LANGUAGE)]


def test_every_section_of_the_language_reference_has_exactly_one_example() -> None:
    parts = re.split(r"^##(?=#? )", LANGUAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections = [part.removeprefix("# ") for part in parts[1:] if part.startswith("# ")]
    assert sections
    counts = {section.partition("\n")[0]: sum(b.language == "sql" for b in blocks(section)) for section in sections}
    assert set(counts.values()) == {1}, {heading: n for heading, n in counts.items() if n != 1}


def test_language_reference_shows_every_constraint_policy_and_measure(language: list[Script]) -> None:
    schemes = [scheme for script in language for stream in script.streams for scheme in stream.schemes]
    assert {type(scheme) for scheme in schemes} == set(get_args(Scheme))
    assert {s.on_violation.policy for s in schemes if s.on_violation is not None} == set(Policy)
    assert {type(within) for s in schemes if (within := getattr(s, "within", None)) is not None} == {Rows, Span, Auto}


def test_language_reference_shows_every_hint_join_window_and_aggregate(language: list[Script]) -> None:
    queries = [query for script in language for query in script.queries]
    used = {name for q in queries for name, value in vars(q.hints).items() if value != getattr(NO_HINTS, name)}
    assert used == set(vars(NO_HINTS))
    assert {join.kind for q in queries for join in joins(q.tree)} == set(JoinKind)
    assert {type(s.window) for q in queries for s in q.all_sources} >= {RowsWindow, RangeWindow}
    assert {e.negated for q in queries for e in q.existences} == {True, False}
    assert {o.value.function for q in queries for o in q.outputs if isinstance(o.value, Aggregate)} == {
        *AGGREGATES,
        *GROUPINGS,
        TOP,
    }


# What is only shown is right all the same.


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_is_run_or_is_of_a_kind_that_is_only_shown(page: Path) -> None:
    """Scripts, commands and Python run; what has no language is figures, drawings, commands of the reader's shell."""
    text = page.read_text(encoding="utf-8")
    typed = " ".join(command for block in blocks(text) if block.language == "console" for command in commands(block))
    for block in blocks(text):
        assert block.language in ("sql", "console", "python", "", "sh", "yaml"), f"{page.name}:{block.line}"
        if block.language == "python" and block.file is not None:
            imported = any(f"from {Path(block.file).stem} import" in other.body for other in blocks(text))
            assert block.file in typed or imported, f"{page.name}:{block.line} is saved and never run"


SHOWN = [
    (page, line.partition("  #")[0].strip())
    for page in PAGES
    for block in blocks(page.read_text(encoding="utf-8"))
    if block.language in ("", "sh")
    for line in block.body.replace("\\\n", " ").splitlines()
    if line.startswith("penstock ") and not any(word in line for word in ("[", "FILE", "CHECKPOINT", "NAME", "…"))
]


@pytest.mark.parametrize(("page", "command"), SHOWN, ids=[f"{page.name}:{command}" for page, command in SHOWN])
def test_a_command_that_is_only_shown_has_options_that_exist(page: Path, command: str) -> None:
    _, name, *arguments = shlex.split(command)
    assert name in typer.main.get_command(app).commands, page.name  # type: ignore[attr-defined]
    typer.main.get_command(app).commands[name].make_context(name, arguments)  # type: ignore[attr-defined]
