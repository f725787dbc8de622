"""A declaration as the runtime watches it: one record for each alias, and for each partner that it meets.

What a promise closes is `closer_plans.py`; which rows punctuations make is with them here. Nothing is derived here:
`promises.py` makes these records, and says which declarations a query has a use for.
"""

from __future__ import annotations

from enum import StrEnum

from penstock.model.schemes import Policy
from penstock.records import record


class PromiseKind(StrEnum):
    """The declarations that the runtime turns into promises and watches."""

    PRIMARY_KEY = "primary key"
    ORDERED_ROWS = "ordered within rows"
    ORDERED_TIME = "ordered within time"
    FOLLOWS_ROWS = "follows within rows"
    FOLLOWS_TIME = "follows within time"
    COOCCURS = "cooccurs"
    ARRIVES = "arrives by"
    PUNCTUATED = "punctuated"
    CLUSTERED = "clustered"
    CHECK = "check"
    FRONTIER = "frontier"
    """An order that follows from below: the block that gives the stream tells how far it has come."""


MATCHES = (PromiseKind.FOLLOWS_ROWS, PromiseKind.FOLLOWS_TIME, PromiseKind.COOCCURS)
"""What a match of two rows breaks."""
ORDERS = (PromiseKind.ORDERED_ROWS, PromiseKind.ORDERED_TIME, PromiseKind.ARRIVES)
"""The declarations by which a column rises; ARRIVES BY is one within 0 rows, and NULL breaks it."""
CLOCKS = (*ORDERS, PromiseKind.FRONTIER)
"""What tells that a column has passed a value."""


@record
class PunctuationRows:
    """A PUNCTUATED of a stream that the query reads: rows that satisfy `when` are no data, of use or not."""

    stream: str
    constraint: str
    when: str


@record
class PromisePlan:
    """One declaration, for one alias (and one partner) of the query."""

    kind: PromiseKind
    constraint: str
    """Its text with ON stream: the key of violations and of k in the metrics."""
    alias: str
    columns: tuple[str, ...]
    partner: str | None
    partner_columns: tuple[str, ...]
    rows: int | None
    """The k of WITHIN, in rows; where it is counted in rows and None, it is learned."""
    low: int | None
    """The least difference of event times, partner minus own; for ORDERED_TIME, unused."""
    high: int | None
    """The greatest such difference; for ORDERED_TIME the d of WITHIN, learned if None; for PUNCTUATED the LIFESPAN."""
    policy: Policy
    into: str | None
    when: str | None = None
    """For PUNCTUATED, which rows make it: WHEN, its columns bare; then the filters that fix its other ON columns.

    For CHECK, what is compared (`watched_checks.py` reads it); None where the buckets of a merged source have it.
    """
