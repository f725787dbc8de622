"""Sentences are made in explain/ and nowhere else: analysis/ and plan/ know reasons, which are values.

Read from the sources: no text of three words or more stands in a module of analysis/ or plan/. Docstrings are not
looked at, nor asserts and what is raised: an error is a message of its own. Names of papers, and codes of their
sections, stand in no words that a user reads.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from penstock.explain.reason_words import WORDS

SOURCE = Path(__file__).parents[1] / "src" / "penstock"
WORD = re.compile(r"[A-Za-z]{2,}")

NO_SENTENCES = {
    ("analysis/rewriting/count_queries.py", "SELECT"): "a query in SQL",
    ("analysis/rewriting/rewrite.py", "NOT coalesce(("): "a condition in SQL",
    ("analysis/rewriting/rewrite.py", " IS NOT NULL"): "a condition in SQL",
    ("plan/promise_plans.py", "ordered within"): "names of kinds of promises, in the plan's JSON",
    ("plan/promise_plans.py", "follows within"): "names of kinds of promises, in the plan's JSON",
}
PAPERS = re.compile(r"\b(MEMORY|SAFETY|KMON|REWRITE|SHED)\b(?!\()|\(\d\.\d\)|\bC[123]\b|Theorem|Definition")


def texts(path: Path) -> Iterator[str]:
    """The texts of a module, with what is put into them left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    passed_over: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise | ast.Assert):
            passed_over |= {id(inner) for inner in ast.walk(node)}
        for statement in node.body if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) else ():
            if isinstance(statement, ast.Expr):
                passed_over.add(id(statement.value))
        if isinstance(node, ast.JoinedStr):
            passed_over |= {id(part) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in passed_over:
            continue
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_no_sentence_is_made_in_analysis_or_plan() -> None:
    found = []
    for room in ("analysis", "plan"):
        for path in sorted((SOURCE / room).rglob("*.py")):
            name = path.relative_to(SOURCE).as_posix()
            allowed = tuple(start for module, start in NO_SENTENCES if module == name)
            said = [text for text in texts(path) if len(WORD.findall(text)) >= 3]
            found += [(name, text) for text in said if not text.startswith(allowed)]
    assert found == []


def test_no_words_name_a_paper() -> None:
    said = {kind: words for kind, words in WORDS.items() if isinstance(words, str)}
    assert len(said) > 200
    assert {kind: words for kind, words in said.items() if PAPERS.search(words)} == {}


def test_words_say_emitted_or_selected_and_not_given_out() -> None:
    shown = [text for path in sorted((SOURCE / "explain").rglob("*.py")) for text in texts(path)]
    assert [text for text in shown if re.search(r"\bg(iven|ives|iving|ave|ive) out\b", text)] == []
