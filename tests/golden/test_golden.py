"""Golden files: each case is a script, and what it gives is compared with the files beside it.

An area is a folder. What is compared there is one line of AREAS: a suffix, and the function that makes the text. A
case says in its first line what it shows, and whether that is a positive or a negative case. `pytest --update-golden`
rewrites the expected files; the diff is then the thing to read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock.analysis.check import check_query
from penstock.compile import judged, parse, plan_of, read_text
from penstock.errors import PenstockError
from penstock.explain.ink import Ink
from penstock.explain.plan_text import explain_report
from penstock.explain.report import check_report
from penstock.explain.verdict_json import check_object, printed
from penstock.model.script import Script
from penstock.sql import print_script
from tests.golden.bound import bound_text

HERE = Path(__file__).parent
LABEL = re.compile(r"-- (positive|negative): \S")


def _script(case: Path) -> Script:
    # The bare name, so that an error does not hold the place where the repository happens to lie.
    return parse(read_text(case), case.name)


def _printed(case: Path) -> str:
    script = _script(case)
    text = print_script(script)
    assert parse(text) == script, "the printed script parses to another model"
    return text.rstrip("\n")


def _bound(case: Path) -> str:
    return bound_text(_script(case))


def _errors(case: Path) -> str:
    with pytest.raises(PenstockError) as raised:
        _script(case)
    return str(raised.value)


def _report(case: Path) -> str:
    return "\n".join(check_report([judged(q) for q in _script(case).queries], Ink()))


def _json(case: Path) -> str:
    return printed(check_object([check_query(q) for q in _script(case).queries]))


def _plan(case: Path) -> str:
    script = _script(case)
    verdicts = [check_query(q) for q in script.queries]
    plans = [plan_of(q, v) for q, v in zip(script.queries, verdicts, strict=True)]
    return "\n".join(explain_report(script, verdicts, plans, Ink()))


AREAS: dict[str, dict[str, Callable[[Path], str]]] = {
    "parse": {".printed": _printed},
    "bind": {".bound": _bound},
    "errors": {".errors": _errors},
    "check": {".report": _report, ".json": _json},
    "explain": {".plan": _plan},
}

CASES = [
    (case, suffix, make)
    for area, makers in AREAS.items()
    for case in sorted((HERE / area).glob("*.sql"))
    for suffix, make in makers.items()
]


@pytest.mark.parametrize(
    ("case", "suffix", "make"), CASES, ids=[f"{case.parent.name}/{case.stem}{suffix}" for case, suffix, _ in CASES]
)
def test_case_gives_what_is_expected(
    case: Path, suffix: str, make: Callable[[Path], str], request: pytest.FixtureRequest
) -> None:
    expected = case.with_suffix(suffix)
    given = make(case) + "\n"
    if request.config.getoption("--update-golden"):
        expected.write_text(given, encoding="utf-8")
    assert expected.exists(), f"{expected.name} is missing: run pytest --update-golden, then read what it wrote"
    assert given == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("area", AREAS)
def test_area_has_positive_and_negative_cases_or_is_about_errors(area: str) -> None:
    labels = {}
    for case in sorted((HERE / area).glob("*.sql")):
        first = case.read_text(encoding="utf-8", errors="replace").lstrip("\ufeff").partition("\n")[0]
        found = LABEL.match(first)
        assert found, f"the first line of {area}/{case.name} does not say what the case shows: -- positive: …"
        labels[case.name] = found[1]
    wanted = {"negative"} if area == "errors" else {"positive", "negative"} if area == "check" else {"positive"}
    assert wanted <= set(labels.values()), f"{area} lacks a case that is {wanted - set(labels.values())}"


def test_no_expected_file_is_left_without_its_case() -> None:
    kept = {case.with_suffix(suffix) for case, suffix, _ in CASES}
    kept |= {case for area in AREAS for case in (HERE / area).glob("*.sql")}
    found = {path for area in AREAS for path in (HERE / area).iterdir() if path.is_file()}
    assert found == kept
