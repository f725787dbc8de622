"""A promise that is no declaration is told where it is made; one that only a job can judge is let through."""

from __future__ import annotations

import pytest

import penstock
from penstock.errors import UsageError
from penstock.frames.written_promises import require_written

COLUMNS = [("k", "string"), ("ts", "timestamp"), ("odd", "user-defined<type>")]


def test_what_the_declaration_itself_gets_wrong_is_told() -> None:
    with pytest.raises(UsageError, match="expected a unit of time, found PARSECS"):
        require_written(penstock.Ordered("ts", within="3 parsecs"), COLUMNS[:2], penstock.parse)
    with pytest.raises(UsageError, match="STRING has no lengths"):
        require_written(penstock.Ordered("k", within="3 seconds"), COLUMNS[:2], penstock.parse)


def test_what_only_a_job_can_judge_is_let_through() -> None:
    require_written(penstock.Ordered("ts", within="3 seconds"), COLUMNS, penstock.parse)
    require_written(penstock.PrimaryKey("k"), COLUMNS[:2], penstock.parse)
    require_written(penstock.Follows(object(), "id", on="k", within="2 hours"), COLUMNS[:2], penstock.parse)
