"""A reason is a value: what it says, and what it says it of. Sentences are made in explain/words and nowhere else.

Each kind is a member of one of a few closed lists; what it is about are names, numbers, texts that the user wrote, and
other reasons. So findings, closings and plans can be compared, tested and carried as data, and the same reason has the
same words in every report. Where a reason is nothing but a condition or a declaration, it is that text as it was
written.

Preconditions: texts among what a reason is about are names or the user's own; nothing here is a sentence (a test reads
the sources of analysis/ and plan/ for that). Every kind has its words, with a place for each of what it is about (a
test reads every call). Not decided here: how anything is said.
"""

from __future__ import annotations

from enum import Enum, auto

from penstock.records import record


class ReasonKind(Enum):
    """What a reason says. Calling a kind with what it is about makes the reason."""

    def __call__(self, *about: object) -> Reason:
        """The reason, of these."""
        return Reason(self, tuple(map(_plain, about)))


@record
class Reason:
    """One reason, bound, notice, or part of one."""

    kind: ReasonKind
    about: tuple[About, ...] = ()


About = str | int | Reason | tuple["About", ...]

Told = Reason | str
"""A reason, or a condition or declaration as the user wrote it."""


def _plain(value: object) -> About:
    if isinstance(value, tuple | list):
        return tuple(map(_plain, value))
    return value if isinstance(value, int | Reason) and not isinstance(value, bool) else str(value)


class BoundedBy(ReasonKind):
    """What bounds a piece of state."""

    NOTHING_IS_STORED = auto()
    LAST_ROWS = auto()
    LAST_ROWS_AND_AWAITED = auto()
    DISTINCT_ROWS = auto()
    BUDGET = auto()
    FORGOTTEN_BY_SPARK = auto()
    WITHIN_BUDGET = auto()
    KEPT_UNTIL = auto()
    ITEM_PASSED = auto()
    ITEM_PUNCTUATED = auto()
    ITEM_AND_ITS_ROWS = auto()
    COUNTS_OF_WINDOWS = auto()


class WaitsUntil(ReasonKind):
    """What must happen before a stream is closed for a row."""

    NEVER_MATCHED = auto()
    PASSED = auto()
    PASSED_BY = auto()
    KEY_ARRIVED = auto()
    CLUSTER_ENDED = auto()
    BATCH_DONE = auto()
    READ_PAST = auto()
    ROWS_ARRIVED = auto()
    LEARNED_ROWS_ARRIVED = auto()
    WINDOW_LEFT = auto()
    PUNCTUATED = auto()
    FOR_EACH_MET = auto()
    IS = auto()


class Because(ReasonKind):
    """What makes state bounded."""

    FINAL_ON_ARRIVAL = auto()
    IN_NO_RESULT = auto()
    NO_RESULT = auto()
    OUT_OF_REACH = auto()
    MAY_COME_LATE = auto()
    EVICTED_OVER_BUDGET = auto()
    CANNOT_ALL_HOLD = auto()
    NO_VALUE_LEFT = auto()
    IS_OF_TYPE = auto()
    MAY_BE_NULL = auto()
    ITSELF_A_ROW = auto()
    VALUES_PUNCTUATED = auto()
    TAKES_VALUES = auto()
    TAKES_VALUES_TOGETHER = auto()
    MERGED_WITH_COUNT = auto()
    MERGED_BY_VALUE = auto()
    MERGED_IN_ALL = auto()
    WINDOW_OF = auto()
    ONLY_COUNTED = auto()
    IMPRACTICAL = auto()
    IMPRACTICAL_BUT_OCCURRING = auto()
    CHOICES_LEFT = auto()
    ONE_GROUP = auto()
    VALUES_KEPT = auto()
    ITEM_CARRIES = auto()
    BOUND_OF = auto()
    ROWS_COUNTED = auto()
    ROWS_NOT_READ = auto()
    COVERED = auto()
    KEPT_FOR_EACH = auto()
    KEPT_ALONE = auto()
    AT_MOST_PRODUCT = auto()
    PARTS_OF_COLUMN = auto()
    VALUES = auto()
    RANGES = auto()
    ONE_ROW = auto()
    EXTREME_ELSE_FIRST = auto()
    WITH_COUNT = auto()
    ROW_WITH_END = auto()
    ROW_WITH_END_OF = auto()
    WHERE_IT_LIES = auto()
    WHERE_THEY_LIE = auto()
    ABOVE = auto()
    BELOW = auto()


class NeverPasses(ReasonKind):
    """Why a column does not pass every value, as the end of a sentence about it."""

    ONLY_VALUE = auto()
    DERIVED_FROM = auto()
    WHICH = auto()
    KNOWN_TO_SPARK = auto()
    NAN = auto()
    LARGEST_OF_TYPE = auto()
    CONSTANT = auto()
    LARGEST_OF_SET = auto()
    OTHER_COLUMN = auto()
    WITHOUT_VALUE = auto()
    READ_BY_SPARK = auto()


class WhyOpen(ReasonKind):
    """Why no bound is known."""

    WINDOW_WOULD_BOUND = auto()
    REMEMBERED_FOR_EVER = auto()
    KEPT_BY_A_FUNCTION = auto()
    OF_A_CLOCK = auto()
    WINDOW_WOULD_TOO = auto()
    STUCK = auto()
    WAITS_FOR = auto()
    WAITS_FOR_UNORDERED = auto()
    WAIT_FOR_UNORDERED = auto()
    WAITS_FOR_KEYS = auto()
    WAITS_FOR_ANYTHING = auto()
    WAITS_FOR_MORE = auto()
    EQUAL = auto()
    COLUMN_STOPS = auto()
    CLOSES_ARRIVED_ONLY = auto()
    FINITE_CLUSTERS = auto()
    CLUSTERS_OVER_PARTS = auto()
    CLOSES_NOTHING = auto()
    RANGE_WITHOUT_TIME = auto()
    ENDLESS_COLUMNS_UNMERGED = auto()
    UNMERGED_UNDER_OUTER = auto()
    ENDLESS_COLUMNS = auto()
    ITEMS_REMEMBERED = auto()
    MAY_DIFFER_EACH_TIME = auto()
    TIME_NOT_NAMED = auto()
    NOT_ORDERED = auto()
    NULL_IS_NOT_PASSED = auto()
    ROWS_STAY = auto()
    CARRIES_NO_TIME = auto()
    WOULD_BOUND = auto()
    CHECK_WOULD = auto()
    GROUPING_WOULD = auto()
    GIVING_OUT_WOULD = auto()
    WITH_DECLARATIONS = auto()
    GROWTH_UNKNOWN = auto()


class WhyUseless(ReasonKind):
    """Why punctuations let no row go."""

    NEVER_COMES = auto()
    ONLY_SOME_VALUES = auto()
    CARRIERS_STAY_OPEN = auto()
    EQUALS_NOTHING = auto()
    NULL_PROMISES_NOTHING = auto()
    NO_COLUMN_TIED = auto()


class NoWitness(ReasonKind):
    """Why no growing input is known."""

    MAY_FOLD = auto()
    BREAKS = auto()
    FAILS = auto()
    ARRIVAL_ACROSS = auto()
    NO_ROOM_IN_CALENDAR = auto()
    FINITE_AND_CLUSTERED = auto()
    ONLY_ABSENCE = auto()
    UNDER_EXISTS = auto()
    READ_BY_SPARK = auto()
    ORIGIN_WITH_CONDITIONS = auto()
    DERIVED = auto()
    NO_VALUES_WRITTEN = auto()
    LARGEST_COMPARED = auto()
    TYPE_COMPARED = auto()
    DIFFERENCES_UNMET = auto()
    COMPARED_WITH_CONSTANT = auto()
    FINITE_TYPE = auto()
    NO_VALUE = auto()
    GIVEN_BY_BLOCK = auto()


class Growth(ReasonKind):
    """How a growing input makes the state grow."""

    NEW_KEY_MAY_MATCH = auto()
    NEW_VALUE_MAY_MATCH = auto()


class Notice(ReasonKind):
    """What a user should know though it changes no verdict."""

    COUNTS_WATCH_NOTHING = auto()
    ERROR_REMOVES_NOTHING = auto()
    COUNTED_AS_READ = auto()
    COUNTED_OVER_PARTS = auto()
    CLUSTERS_OVER_PARTS = auto()
    SILENT_PART_HOLDS_CLOCK = auto()
    CANNOT_RUN = auto()
    ONLY_UNBOUNDED = auto()
    PUNCTUATIONS_REMEMBERED = auto()
    KEYS_REMEMBERED = auto()
    CLUSTERS_REMEMBERED = auto()
    RENAMED = auto()
    TABLE_JOINED = auto()
    FORMAT_MISSPELT = auto()
    PLAIN_QUERY = auto()
    MERGED_COLUMN_COMPARED = auto()


class Final(ReasonKind):
    """When a row that may have no match is given."""

    UNMATCHED_WITH_NULLS = auto()
    UNMATCHED = auto()
    FIRST_MATCH = auto()
    NEVER = auto()
    NEVER_UNLESS = auto()


class Promised(ReasonKind):
    """Why a promise of a block's answer follows from below."""

    FRONTIER = auto()
    LEAST_FRONTIER = auto()
    WINDOW_OF_FRONTIER = auto()
    WINDOWS_EMITTED = auto()
    SESSION_ENDS = auto()
    SESSION_STARTS = auto()
    CUT_OF_FRONTIER = auto()
    GROUP = auto()
    ALL_COLUMNS = auto()
    ROW_OF_EACH = auto()
    UNCHANGED = auto()
    WHICHEVER_IS_THERE = auto()
    HELD = auto()
    OF_ALL_MEMBERS = auto()
    WINDOW_HAS_ENDS = auto()
    ONE_IS_THERE = auto()
    CUT_OF_A_TIME = auto()
    PICKED_IN_WINDOW = auto()
    PICKED_IN_CUT = auto()


class NotPromised(ReasonKind):
    """Why a column of a block's answer has no clock."""

    NOT_ORDERED = auto()
    STOPS = auto()
    MAY_COME_BACK = auto()
    ROWS_STAY = auto()
    NOT_OF_ALL_MEMBERS = auto()


class SparkKeeps(ReasonKind):
    """How long Spark's own join keeps a row, as the end of a sentence about Spark."""

    NOTHING = auto()
    UNTIL_PASSED = auto()
    UNTIL_PASSED_BY = auto()
    NO_WATERMARK = auto()
    NO_TIME_CONDITION = auto()
    NO_ROWS_WINDOW = auto()
    REFUSES_ANTI = auto()
    REFUSES_UNEQUAL = auto()
    REFUSES_OUTER = auto()
    REFUSES_SEVERAL_TIMES = auto()


class SafeTrees(ReasonKind):
    """Which trees of joins are safe."""

    NONE = auto()
    SAFE_PART = auto()
    SINGLE_JOIN = auto()
    BINARY = auto()
    ONLY_ALL_TOGETHER = auto()
    NO_BINARY = auto()
    WIDER = auto()
