"""Declarations that name views: the script means the same in any order, and a view that is named is a block."""

from __future__ import annotations

import itertools

import pytest

import penstock
from penstock.errors import ScriptErrors
from penstock.model.schemes import Cooccurs, ForeignKey
from penstock.sql import print_script
from penstock.sql.dialect import read_statements
from penstock.sql.named_views import views_named
from penstock.sql.source import SourceText

STATEMENTS = (
    "CREATE STREAM bids (auction BIGINT, price BIGINT, ts TIMESTAMP, EVENT TIME ts, ORDERED BY ts WITHIN 3 SECONDS);",
    "CREATE STREAM asks (auction BIGINT, ts TIMESTAMP, EVENT TIME ts, COOCCURS (auction) AND dear (auction));",
    "CREATE VIEW dear (PRIMARY KEY (auction)) AS SELECT auction, price, ts FROM bids WHERE price > 5;",
    "CREATE VIEW cheap (FOREIGN KEY (auction) REFERENCES dear) AS SELECT auction, ts FROM bids WHERE price < 5;",
)
QUERY = "SELECT a.auction, d.price FROM asks AS a JOIN dear AS d ON d.auction = a.auction;"


def test_views_that_declarations_name_are_found_whatever_their_case() -> None:
    views = "CREATE VIEW v AS SELECT a FROM s; CREATE VIEW w AS SELECT a FROM s;"
    text = f"CREATE STREAM s (a INT, COOCCURS (a) AND V (a)); {views}"
    assert views_named(read_statements(SourceText(text, "<test>"))) == {"v"}


def test_the_order_of_statements_does_not_matter() -> None:
    bids, *others = STATEMENTS
    printed = {
        print_script(penstock.parse("\n".join((bids, *order, QUERY)))) for order in itertools.permutations(others)
    }
    whole = "\n".join(sorted(next(iter(printed)).split(";")))
    assert {"\n".join(sorted(text.split(";"))) for text in printed} == {whole}


def test_a_view_that_is_named_is_a_block_and_known_to_the_script() -> None:
    script = penstock.parse("\n".join((*STATEMENTS, QUERY)))
    assert [view.stream.name for view in script.views] == ["dear"]
    assert [type(s) for s in script.streams[1].schemes] == [Cooccurs]
    assert {source.stream.name for source in script.queries[0].all_sources} == {"asks", "dear"}
    assert penstock.parse(print_script(script)) == script


def test_a_foreign_key_takes_the_primary_key_that_a_view_declares() -> None:
    script = penstock.parse("\n".join((*STATEMENTS, "SELECT auction FROM cheap;")))
    declared = script.queries[0].sources[0].stream.schemes
    assert declared == (ForeignKey(("auction",), "dear", ("auction",)),)


def test_what_is_declared_of_a_view_is_looked_at_where_no_query_reads_it() -> None:
    with pytest.raises(ScriptErrors, match="stream u has no column nosuch"):
        penstock.parse(
            "CREATE STREAM s (a INT); CREATE VIEW u (PRIMARY KEY (nosuch)) AS SELECT a FROM s; SELECT a FROM s;"
        )


def test_whether_a_declaration_about_a_view_is_implied() -> None:
    from penstock.analysis.implication.implied import decide
    from penstock.sql import parse_constraint

    script = penstock.parse("\n".join((*STATEMENTS, QUERY)))
    assert decide(script, *parse_constraint("COOCCURS (auction) AND dear (auction) ON asks", script)).implied
    # What dear can give is not decided, so no rows are a counterexample.
    narrow = parse_constraint("COOCCURS (auction) AND dear (auction) WINDOW [0, 1 SECOND] ON asks", script)
    assert decide(script, *narrow).implied is None
