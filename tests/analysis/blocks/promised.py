"""What is claimed of a view, for the tests of the rules."""

from __future__ import annotations

from penstock.analysis.check import check_query
from penstock.analysis.finding import BlockFinding
from penstock.model.schemes import Scheme
from tests.blocks import with_views

A = "CREATE STREAM a (k BIGINT, t BIGINT, n BIGINT, EVENT TIME t, ORDERED BY t WITHIN 3);"
B = "CREATE STREAM b (k BIGINT, t BIGINT, n BIGINT, EVENT TIME t, ORDERED BY t WITHIN 3);"
NEAR = "a.k = b.k AND b.t - a.t BETWEEN 0 AND 5"


def block(view: str, streams: str = A + B) -> BlockFinding:
    """The block that a SELECT is below another."""
    script = with_views(streams, {"v": view}, "SELECT * FROM v")
    (found,) = check_query(script.queries[0]).blocks
    return found


def promises(view: str, streams: str = A + B) -> list[str]:
    """The declarations that are claimed of it."""
    claims = [claim.promise for claim in block(view, streams).derived.claims]
    return [promise.text for promise in claims if isinstance(promise, Scheme)]


def conditions(view: str, streams: str = A + B) -> list[str]:
    """The conditions that are claimed of it."""
    claims = [claim.promise for claim in block(view, streams).derived.claims]
    return [str(promise) for promise in claims if not isinstance(promise, Scheme)]
