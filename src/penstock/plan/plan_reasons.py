"""What a plan says of itself, as kinds of reasons (analysis/reasons.py): how, why not, and what may go unseen."""

from __future__ import annotations

from enum import auto

from penstock.analysis.reasons import ReasonKind


class HowGrouped(ReasonKind):
    """How the groups are worked out, and why so."""

    HANDED_ON = auto()
    MATCHES_COUNTED = auto()
    NO_JOIN = auto()
    JOINED_FOR_ROWS = auto()
    JOINED_FOR_OUTER = auto()
    JOINED_FOR_BUDGET = auto()
    JOINED_FOR_WHERE = auto()
    JOINED_FOR_CONDITION = auto()
    JOINED_FOR_KEYS = auto()
    JOINED_FOR_CIRCLE = auto()
    LOOKED_UP = auto()
    HOP = auto()
    EACH_ONCE = auto()


class MemoryChoice(ReasonKind):
    """Whether what promises closed is remembered, where other constraints would do."""

    CLUSTERS_COST = auto()
    K_UNKNOWN = auto()
    KEYS_COST = auto()
    ROWS_LET_GO = auto()
    NOTHING_ELSE = auto()
    AN_ORDER_CLOSES = auto()
    NOTHING_ENDS = auto()


class PlanObstacle(ReasonKind):
    """Why a query cannot be run, and what to do."""

    NEVER_CLOSED = auto()
    MAY_DIFFER = auto()
    BYTES_BY_ARRIVAL = auto()
    ARCHIVE_BY_ARRIVAL = auto()
    VALUE_OF_SEVERAL = auto()
    K_LEARNED_UNDER_BUDGET = auto()
    ARCHIVE_OF_OUTER = auto()
    ARCHIVE_AFTER_STAGE = auto()
    INSTEAD = auto()
    RECOVER_WITH_BUDGET = auto()
    RECOVER_OF_WINDOW = auto()
    NAME_OF_ENGINE = auto()
    UNCOMPARABLE_ARRIVALS = auto()
    ARRIVALS_OVER_PARTS = auto()
    K_LEARNED_OVER_PARTS = auto()
    SHED_WITHOUT_BUDGET = auto()
    RUNNING_GROUPS = auto()
    ONLY_APPENDS = auto()
    TOP_STAYS_OPEN = auto()
    TOP_WITH_BUDGET = auto()
    SESSION_WITH_BUDGET = auto()
    SETS_WITH_BUDGET = auto()
    ARCHIVE_BELOW = auto()
    CONDITION_UNDER_BUDGET = auto()
    CONDITION_RANDOM = auto()


class WhyUnkept(ReasonKind):
    """What the engine lacks to keep a bound."""

    MERGING_ENDS = auto()
    MERGING_APART = auto()
    MERGING_ENDLESS = auto()
    UNDER_RECOVER = auto()
    NEEDS = auto()
    DISTINCT = auto()
    GROUPS = auto()
    CHAIN_OF_OUTER = auto()
    FEW_VALUES_PUNCTUATED = auto()
    MERGING = auto()


class Evicts(ReasonKind):
    """Which rows a budget lets go first."""

    GAIN = auto()
    PROB = auto()
    LIFE = auto()
    RAND = auto()
    OVER_BUDGET = auto()


class Unseen(ReasonKind):
    """What may break without being seen."""

    SAMPLED = auto()
    CLOSES_NOTHING = auto()
    DO_NOT_MEET = auto()
    NOT_WATCHED = auto()
    FILTERED = auto()
    CLUSTER_SAMPLED = auto()
    CLUSTER_FORGOTTEN = auto()
    WHILE_UNUSED = auto()
    AFTER_PUNCTUATION = auto()
    NO_BUCKET = auto()
    OF = auto()
    KEY = auto()
    KEY_AND_NAMING = auto()
    MATCH_SAMPLED = auto()
    MATCH_OF_MERGED_SAMPLED = auto()
    MATCH = auto()
    MATCH_OF_MERGED = auto()
