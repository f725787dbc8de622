"""The columns by which rows of several streams are of one entity."""

from __future__ import annotations

from penstock.analysis.rewriting.identity import identities, pairs
from tests.analysis.rewriting.section_2 import identity, question
from tests.analysis.test_implication_paper import SECTION_2, without


def test_a_declared_key_is_carried_to_all_sources() -> None:
    assert identity() == {"s": ("id",), "sa": ("id",), "f": ("id",)}
    assert pairs(identity(), "s", "f") == (("id", "id"),)


def test_without_any_key_there_is_no_candidate() -> None:
    assert list(identities(question(without("i", "ii", "iii")))) == []


def test_a_key_is_carried_by_a_foreign_key_to_a_column_of_another_name() -> None:
    renamed = SECTION_2.replace(
        "FOREIGN KEY (id, ip) REFERENCES syn (id, ip)", "FOREIGN KEY (id, ip) REFERENCES syn (no, ip)"
    )
    head, _, rest = renamed.partition("CREATE STREAM syn ")
    syn, _, rest = rest.partition("CREATE STREAM synack")
    text = f"{head}CREATE STREAM syn {syn.replace('id', 'no')}CREATE STREAM synack{rest}"
    found = list(identities(question(text.replace("STREAM KEY (no)", "STREAM KEY (ip)"))))
    assert {"s": ("no",), "sa": ("id",), "f": ("id",)} in found


def test_each_candidate_comes_once() -> None:
    found = list(identities(question()))
    assert len(found) == len({tuple(sorted(one.items())) for one in found})
