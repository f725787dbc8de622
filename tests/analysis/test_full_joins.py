"""What is told where a FULL JOIN compares what another has merged."""

from __future__ import annotations

import pytest

from penstock.analysis.full_joins import compared_after_full_join
from penstock.analysis.reasons import Notice
from penstock.compile import judged, parse

STREAMS = "".join(f"CREATE STREAM {s} (k BIGINT, ts BIGINT, EVENT TIME ts, ORDERED BY ts);\n" for s in "abc")


def test_it_names_the_columns_and_the_first_stream() -> None:
    windowed = "a [RANGE 5] FULL JOIN b [RANGE 5] USING (k, ts) FULL JOIN c USING (k, ts)"
    query = parse(f"{STREAMS} SELECT k FROM {windowed};").queries[0]
    assert list(compared_after_full_join(query)) == [Notice.MERGED_COLUMN_COMPARED(["k", "ts"], "a")]
    verdict = judged(query)
    assert verdict.verdict == "undecided"
    assert Notice.MERGED_COLUMN_COMPARED(["k", "ts"], "a") in verdict.notices
    assert verdict.near is None, "a time of a stream that may be absent bounds nothing"


@pytest.mark.parametrize(
    "joins",
    [
        "a FULL JOIN b USING (k, ts)",
        "a FULL JOIN b USING (k, ts) FULL JOIN c USING (k, ts)",
        "a FULL JOIN b USING (k, ts) LEFT JOIN c USING (k, ts)",
        "a LEFT JOIN b USING (k, ts) FULL JOIN c USING (k, ts)",
        "a FULL JOIN b USING (k, ts) FULL JOIN c ON c.k = a.k AND c.ts = a.ts",
    ],
)
def test_of_other_joins_it_says_nothing(joins: str) -> None:
    assert list(compared_after_full_join(parse(f"{STREAMS} SELECT 1 AS one FROM {joins};").queries[0])) == []
