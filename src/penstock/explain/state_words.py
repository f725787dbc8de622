"""The words of bounds, of what a row waits for, of reasons, doubts and notices of the analysis (words.py)."""

from __future__ import annotations

from collections.abc import Callable

from penstock.analysis.reasons import (
    Because,
    BoundedBy,
    Final,
    Growth,
    NeverPasses,
    Notice,
    NotPromised,
    NoWitness,
    Promised,
    ReasonKind,
    SafeTrees,
    SparkKeeps,
    WaitsUntil,
    WhyOpen,
    WhyUseless,
)

Words = str | Callable[..., str]
"""A template, or a function of what a reason is about, already in words, where the words depend on it."""


def _distinct_rows(rows: int) -> str:
    return f"{rows} distinct rows" if rows != 1 else "1 row"


def _no_value_left(columns: tuple[str, ...], because: tuple[str, ...]) -> str:
    return f"{' = '.join(columns)} can take no value: {' and '.join(dict.fromkeys(because))}"


_MOST_COLUMNS = 8
"""So many columns are named; of more the first half of that, and how many there are."""


def _has(columns: tuple[str, ...]) -> str:
    named = ", ".join(columns)
    if len(columns) > _MOST_COLUMNS:
        shown = columns[: _MOST_COLUMNS // 2]
        named = f"{', '.join(shown)} and {len(columns) - len(shown)} other columns"
    return f"{named} {'have' if len(columns) > 1 else 'has'} no finite domain"


def _punctuated_values(column: str, values: int) -> str:
    many = "1 value, which is" if values == 1 else f"{values} values, each of which is"
    return f"{column} takes at most {many} punctuated"


def _takes_values(column: str, values: int, because: tuple[str, ...]) -> str:
    many = f"at most {values} values" if values != 1 else "1 value"
    return f"{column} takes {many}: {', '.join(because)}"


def _takes_values_together(columns: tuple[str, ...], values: int) -> str:
    many = f"{values} values in all" if values != 1 else "1 value"
    return f"{', '.join(columns)} can take at most {many}"


def _window_left(count: int, alias: str) -> str:
    return f"{count} more {'rows' if count > 1 else 'row'} of {alias} have arrived"


def _rows_arrived(count: int, alias: str) -> str:
    return f"1 more row of {alias} has arrived" if count == 1 else f"{count} more rows of {alias} have arrived"


def _passed(columns: str | tuple[str, ...], start: str) -> str:
    if isinstance(columns, str):
        return f"{columns} has passed {start}"
    return f"{', '.join(columns[:-1])} and {columns[-1]} have passed {start}"


def _product(parts: tuple[str, ...], rows: int) -> str:
    product = str(rows) if len(parts) < 2 else f"{' x '.join(parts)} = {rows}"
    return f"at most {product} row{'s' if rows != 1 else ''}"


STATE_WORDS: dict[ReasonKind, Words] = {
    BoundedBy.NOTHING_IS_STORED: "nothing is stored",
    BoundedBy.LAST_ROWS: lambda count: f"the last {count} rows" if count > 1 else "the last row",
    BoundedBy.LAST_ROWS_AND_AWAITED: "{}, and those that rows of {: and } which came in time still wait for",
    BoundedBy.DISTINCT_ROWS: _distinct_rows,
    BoundedBy.BUDGET: "the budget of {} for the whole query",
    BoundedBy.FORGOTTEN_BY_SPARK: "Spark keeps it, and forgets a value once its watermark has passed it",
    BoundedBy.WITHIN_BUDGET: "{}, within {}",
    BoundedBy.KEPT_UNTIL: "a row is kept until {:, and }",
    BoundedBy.ITEM_PASSED: "a {} is kept until the clock of {} has passed {}",
    BoundedBy.ITEM_PUNCTUATED: "a {} is kept until a punctuation of {} has closed its {: and }",
    BoundedBy.ITEM_AND_ITS_ROWS: "{} and the rows of {} with it have left",
    BoundedBy.COUNTS_OF_WINDOWS: "the counts of a window of {} are kept until {} have passed it",
    WaitsUntil.NEVER_MATCHED: "it was read, for no row of {} ever matches it",
    WaitsUntil.PASSED: _passed,
    WaitsUntil.PASSED_BY: lambda columns, start, sign, span: f"{_passed(columns, start)} {sign} {span}",
    WaitsUntil.KEY_ARRIVED: "the row of {} that it names has arrived",
    WaitsUntil.CLUSTER_ENDED: "the rows of {} with its {} have come and others have followed them",
    WaitsUntil.BATCH_DONE: "its batch is done, for every row of {} that matches it came before",
    WaitsUntil.READ_PAST: "{} was read past it",
    WaitsUntil.ROWS_ARRIVED: _rows_arrived,
    WaitsUntil.LEARNED_ROWS_ARRIVED: "as many more rows of {} have arrived as the learned lateness",
    WaitsUntil.WINDOW_LEFT: _window_left,
    WaitsUntil.PUNCTUATED: "a punctuation of {} has closed {: and }",
    WaitsUntil.FOR_EACH_MET: "for each row of {: and } that it met, {}",
    WaitsUntil.IS: "{} = {}",
    Because.FINAL_ON_ARRIVAL: "each row is final as it arrives",
    Because.IN_NO_RESULT: "no row of {} is ever in a result",
    Because.NO_RESULT: "there is never a result",
    Because.OUT_OF_REACH: "{} on {}: a row is out of reach once {} more arrived",
    Because.MAY_COME_LATE: "a join may emit rows of {: and } that came in time later, and they match it then",
    Because.EVICTED_OVER_BUDGET: "over the budget, rows are evicted and results lost",
    Because.CANNOT_ALL_HOLD: "these cannot all hold: {:; }",
    Because.NO_VALUE_LEFT: _no_value_left,
    Because.IS_OF_TYPE: "{} of {} is {}",
    Because.MAY_BE_NULL: "and it may be NULL",
    Because.ITSELF_A_ROW: "the row of {} is itself a row of {}",
    Because.VALUES_PUNCTUATED: _punctuated_values,
    Because.TAKES_VALUES: _takes_values,
    Because.TAKES_VALUES_TOGETHER: _takes_values_together,
    Because.MERGED_WITH_COUNT: "rows that agree on these are kept as one, with a count",
    Because.MERGED_BY_VALUE: "one row for each choice of {}, with a count and what is summed up of it",
    Because.MERGED_IN_ALL: "one row in all, with a count and what is summed up of it",
    Because.WINDOW_OF: "window of {}",
    Because.ONLY_COUNTED: "the query reads no column of {}, so only the number of its rows is kept",
    Because.IMPRACTICAL: "{} rows are so many that this is no practical bound",
    Because.IMPRACTICAL_BUT_OCCURRING: (
        "{} rows are so many that this is no practical bound; only values that occur take room"
    ),
    Because.CHOICES_LEFT: "the conditions leave at most {} choices of what is remembered",
    Because.ONE_GROUP: "there is no GROUP BY, so there is one group",
    Because.VALUES_KEPT: "the values of {} are kept for each group",
    Because.ITEM_CARRIES: "every {} carries {: and }, and {} stands in every result",
    Because.BOUND_OF: "{}: {}",
    Because.ROWS_COUNTED: "its rows are counted",
    Because.ROWS_NOT_READ: "its rows are not even read: the counts suffice",
    Because.COVERED: "a row of {} stands for its own partner, so {} adds no result",
    Because.KEPT_FOR_EACH: "kept for each choice of {}: {}",
    Because.KEPT_ALONE: "no column of {} keeps rows apart; kept: {}",
    Because.AT_MOST_PRODUCT: _product,
    Because.PARTS_OF_COLUMN: "{} ({: and })",
    Because.VALUES: "{:value}",
    Because.RANGES: "{:range}",
    Because.ONE_ROW: "one row",
    Because.EXTREME_ELSE_FIRST: "{:; }, else the first row",
    Because.WITH_COUNT: "with a count",
    Because.ROW_WITH_END: "the row with the {} {}",
    Because.ROW_WITH_END_OF: "the row whose {} of {} is {}",
    Because.WHERE_IT_LIES: "{} where that lies {: and }",
    Because.WHERE_THEY_LIE: "{} where these lie {: and }",
    Because.ABOVE: "above {}",
    Because.BELOW: "below {}",
    NeverPasses.ONLY_VALUE: "never passes its only value, {}",
    NeverPasses.DERIVED_FROM: "is derived from {: and }",
    NeverPasses.WHICH: "{}, which {}",
    NeverPasses.KNOWN_TO_SPARK: "may never pass some value, for only Spark knows what {} comes to",
    NeverPasses.NAN: "never passes NaN, which in {} lies above every number",
    NeverPasses.LARGEST_OF_TYPE: "never passes the largest {}",
    NeverPasses.CONSTANT: "never passes {}: {}",
    NeverPasses.LARGEST_OF_SET: "never passes the largest of its values: {}",
    NeverPasses.OTHER_COLUMN: "never passes {} ({}), which {}",
    NeverPasses.WITHOUT_VALUE: "never has a value: {}",
    NeverPasses.READ_BY_SPARK: "may never pass some value, for only Spark reads this: {}",
    WhyOpen.REMEMBERED_FOR_EVER: "dropDuplicates by {} remembers every value for ever, since none of these has a "
    "watermark: add the event time to them, or use dropDuplicatesWithinWatermark",
    WhyOpen.OF_A_CLOCK: "whether it grows is not known: only Spark knows how {: and } follow from a watermark's column",
    WhyOpen.KEPT_BY_A_FUNCTION: "what the function of {} keeps is its own, and only whoever wrote it knows how much",
    WhyOpen.WINDOW_WOULD_BOUND: "a window would bound it: {: [ROWS n], } [ROWS n]",
    WhyOpen.WINDOW_WOULD_TOO: "a window would bound it too: {: [ROWS n], } [ROWS n]",
    WhyOpen.STUCK: (
        "a row of {} waits for its match in {}, and no stream that is sure to be in it says when no more will come"
    ),
    WhyOpen.WAITS_FOR: "a row of {} waits for rows of {} still to come",
    WhyOpen.WAITS_FOR_UNORDERED: (
        "a row of {} waits for rows of {} still to come: {: and } limits how late they come, but nothing says that {} "
        "is ordered"
    ),
    WhyOpen.WAIT_FOR_UNORDERED: (
        "rows of {:, } wait for rows of {} still to come: conditions limit how late they come, but nothing says "
        "that {} is ordered"
    ),
    WhyOpen.WAITS_FOR_KEYS: (
        "a row of {} waits for rows of {} still to come: they match on {: and }, and nothing says when no more of one "
        "value will come"
    ),
    WhyOpen.WAITS_FOR_ANYTHING: (
        "a row of {} waits for rows of {} still to come: no equality and no band of event times limits which of them "
        "match"
    ),
    WhyOpen.WAITS_FOR_MORE: "a row of {} waits for rows of {} more streams",
    WhyOpen.EQUAL: "{} = {}",
    WhyOpen.COLUMN_STOPS: "{} {}",
    WhyOpen.CLOSES_ARRIVED_ONLY: (
        "{} closes only values that arrive: a row whose partner never comes would stay for ever"
    ),
    WhyOpen.CLUSTERS_OVER_PARTS: (
        "{} closes nothing: rows of one value may come of several parts of {}, whose order to each other nobody "
        "promises"
    ),
    WhyOpen.FINITE_CLUSTERS: "{} has finitely many values: the last of them is never followed by others",
    WhyOpen.CLOSES_NOTHING: "{} closes nothing here: {}",
    WhyOpen.RANGE_WITHOUT_TIME: "{} on {} does not reach {}, which declares no EVENT TIME",
    WhyOpen.ENDLESS_COLUMNS_UNMERGED: lambda columns: f"{_has(columns)}, so rows cannot be merged",
    WhyOpen.UNMERGED_UNDER_OUTER: "rows of {} are not merged under an outer join or EXISTS",
    WhyOpen.ENDLESS_COLUMNS: _has,
    WhyOpen.ITEMS_REMEMBERED: "each {} is remembered, and nothing says when it can no longer come again",
    WhyOpen.MAY_DIFFER_EACH_TIME: "nothing says that {} gives the same value each time",
    WhyOpen.TIME_NOT_NAMED: "no EVENT TIME is declared of the stream of {0}: nothing says that {0} is one",
    WhyOpen.NOT_ORDERED: "nothing says that {} is ordered",
    WhyOpen.NULL_IS_NOT_PASSED: "{} may be NULL, which no clock passes",
    WhyOpen.ROWS_STAY: "nothing says when the rows of {} leave",
    WhyOpen.CARRIES_NO_TIME: ("no {} carries the event time, or a window of it, of a stream that is in every result"),
    WhyOpen.WOULD_BOUND: "this would bound it: {:, or }",
    WhyOpen.CHECK_WOULD: "a CHECK that leaves finitely many values to {: and }",
    WhyOpen.GROUPING_WOULD: "grouping by window({}, …)",
    WhyOpen.GIVING_OUT_WOULD: "selecting {} as well",
    WhyOpen.WITH_DECLARATIONS: "{}, with {}",
    WhyOpen.GROWTH_UNKNOWN: "whether it grows is not known: {}",
    WhyUseless.NEVER_COMES: "no such punctuation can come: no row of {} has {: and }",
    WhyUseless.ONLY_SOME_VALUES: "only rows with {} are punctuations, so other values of {} are never closed",
    WhyUseless.CARRIERS_STAY_OPEN: "no row ever has all the streams that carry its columns closed",
    WhyUseless.EQUALS_NOTHING: "{} equals no column of another stream",
    WhyUseless.NULL_PROMISES_NOTHING: "{} may be NULL, and a punctuation with a NULL promises nothing",
    WhyUseless.NO_COLUMN_TIED: "none of its columns equals one of another stream",
    NoWitness.MAY_FOLD: "one row may stand for several names of its stream",
    NoWitness.BREAKS: "no growing input was found that keeps {}",
    NoWitness.FAILS: "no growing input was found that satisfies {}",
    NoWitness.ARRIVAL_ACROSS: "the order of ARRIVES BY across the streams",
    NoWitness.NO_ROOM_IN_CALENDAR: "the calendar has no room for the lengths of time in the query",
    NoWitness.FINITE_AND_CLUSTERED: "{} has finitely many values, so that one of them is never closed",
    NoWitness.ONLY_ABSENCE: "only that a stream may be absent leaves it open",
    NoWitness.UNDER_EXISTS: "a growing input is not sought under EXISTS",
    NoWitness.READ_BY_SPARK: "only Spark can say which rows pass {}",
    NoWitness.ORIGIN_WITH_CONDITIONS: "{} is what another column is derived from, and has conditions of its own",
    NoWitness.DERIVED: "{} is derived, so only Spark knows its values",
    NoWitness.NO_VALUES_WRITTEN: "{} is {}, of which no values are written here",
    NoWitness.LARGEST_COMPARED: "{} has a largest value and is compared with other columns",
    NoWitness.TYPE_COMPARED: "{} is {} and is compared with other columns",
    NoWitness.DIFFERENCES_UNMET: "the time differences of the query cannot be met by raising columns",
    NoWitness.COMPARED_WITH_CONSTANT: "{} is {} and compared with a constant",
    NoWitness.FINITE_TYPE: "{} is {}, which has finitely many values",
    NoWitness.NO_VALUE: "{} can take no value",
    NoWitness.GIVEN_BY_BLOCK: "not every input is one that {: and } may emit",
    Growth.NEW_KEY_MAY_MATCH: (
        "each row of {0} has a new {1} and can never leave: as declared now, a row of {2} with {3} = {4} may still come"
    ),
    Growth.NEW_VALUE_MAY_MATCH: (
        "each row of {} has a new {} and can never leave: as declared now, a row of {} may still come, and then "
        "all of them are in results"
    ),
    Notice.TABLE_JOINED: "Spark joins the rows of {} with the table {} as they come, and keeps no state for it",
    Notice.FORMAT_MISSPELT: "Spark has no format {} of its own, which {} is read from: {} may be meant",
    Notice.COUNTS_WATCH_NOTHING: "counts watch no declaration: a row that breaks one is counted like any other",
    Notice.ERROR_REMOVES_NOTHING: "ERROR removes no join here: {}",
    Notice.COUNTED_AS_READ: (
        "{} counts rows across streams that do not all declare ARRIVES BY: it is about the order of reading"
    ),
    Notice.COUNTED_OVER_PARTS: "{} counts the rows of {} as they are read, whatever part they come of",
    Notice.CLUSTERS_OVER_PARTS: (
        "{} closes nothing: rows of one value may come of several parts of {}; PARTS BY {} says that they do not"
    ),
    Notice.SILENT_PART_HOLDS_CLOCK: (
        "{0} is as far as the slowest of its parts: one that falls silent holds back what waits for it, until it "
        "speaks again; EVENT TIME {1} IDLE AFTER a duration goes on without it"
    ),
    Notice.CANNOT_RUN: "this version cannot run the query: {:; }",
    Notice.ONLY_UNBOUNDED: "run takes the query only with --allow-unbounded: {:; }",
    Notice.PUNCTUATIONS_REMEMBERED: (
        "{}: each of these punctuations is remembered, for nothing says when no more rows of {} with its values will "
        "come; promise_rows in the metrics counts them"
    ),
    Notice.KEYS_REMEMBERED: (
        "{}: each of these keys is remembered after its row left, for nothing says when no more rows of {} will name "
        "it; promise_rows in the metrics counts them"
    ),
    Notice.CLUSTERS_REMEMBERED: (
        "{}: each of these clusters is remembered after it ended, for nothing says when no more rows of {} with its "
        "value will come; promise_rows in the metrics counts them"
    ),
    Notice.PLAIN_QUERY: "it needs no state: it runs as a plain query of Spark's, without a state store or a shuffle",
    Notice.MERGED_COLUMN_COMPARED: (
        "a FULL JOIN after another compares the {0:, } of whichever stream is there, which has no clock; where none "
        "has NULL there or two rows of one {0:, }, SELECT {0:, }, max(x) AS x, … FROM (SELECT {0:, }, x, … FROM {1} "
        "UNION ALL …) GROUP BY {0:, } is the same"
    ),
    Notice.RENAMED: "columns of the answer whose names stood there already are called {:, }; AS gives them others",
    Final.UNMATCHED_WITH_NULLS: "a row of {} without a match in {} is emitted with NULLs once {:, or }",
    Final.UNMATCHED: "a row of {} without a match in {} is emitted once {:, or }",
    Final.FIRST_MATCH: "a row of {} is emitted at its first match in {}",
    Final.NEVER: ("a row of {} without a match in {} is never certain to have none, so it could never be emitted"),
    Final.NEVER_UNLESS: (
        "a row of {} without a match in {} is never certain to have none, so it could never be emitted; {} would tell"
    ),
    Promised.FRONTIER: (
        "{0} is {1}, and nothing is emitted with one before the rows that are stored or still to come: {2}; {3}"
    ),
    Promised.LEAST_FRONTIER: (
        "{0} is one of {1: and }, and nothing is emitted with one of these before the rows that are stored or still to "
        "come: {2:; }; {3:; }"
    ),
    Promised.WINDOW_OF_FRONTIER: (
        "{0} is of the window that {1} lies in, which never falls while that does not, and nothing is emitted with one "
        "before the rows that are stored or still to come: {2}; {3}"
    ),
    Promised.WINDOWS_EMITTED: (
        "{0} is of a window of {1}, emitted when no result can fall into it any more, and all that are over with it: "
        "{2}; {3}"
    ),
    Promised.PICKED_IN_WINDOW: (
        "{0} lies in a window of {1}, emitted when no result can fall into it any more, and all that are over with it: "
        "{2}; {3}"
    ),
    Promised.PICKED_IN_CUT: (
        "{0} lies in one {1} of {2}, emitted when no result can fall into it any more, and all that are over with it: "
        "{3}; {4}"
    ),
    Promised.SESSION_ENDS: (
        "{0} is the end of a session of {1}, emitted when no result can be added to it any more, and all that are over "
        "with it: {2}; {3}"
    ),
    Promised.SESSION_STARTS: (
        "{0} is the start of a session of {1}, and no session is emitted that starts before those that are open; it "
        "moves on as they end: {2}; {3}"
    ),
    Promised.CUT_OF_FRONTIER: (
        "{0} is the {1} of {2}, which never falls while that does not, and nothing is emitted with one before the rows "
        "that are stored or still to come: {3}; {4}"
    ),
    Promised.GROUP: "each group is emitted once, and {: with } names it",
    Promised.ALL_COLUMNS: "DISTINCT emits each row once",
    Promised.ROW_OF_EACH: "{} determines the row of {: and }",
    Promised.UNCHANGED: "{} is about columns that come through unchanged",
    Promised.WHICHEVER_IS_THERE: "of rows of {:, } one at least is in every row, and keeps its own: {:; }",
    Promised.HELD: "{} holds in every row",
    Promised.WINDOW_HAS_ENDS: "{}: a row without a time is in no window",
    Promised.ONE_IS_THERE: "one of {: and } is in every row, and is not NULL there",
    Promised.CUT_OF_A_TIME: "it is cut of {}, which is never NULL",
    Promised.OF_ALL_MEMBERS: "{: and } all promise it",
    NotPromised.NOT_OF_ALL_MEMBERS: "{} has a clock in some of {: and }, not in all",
    NotPromised.NOT_ORDERED: "{} is not ordered",
    NotPromised.STOPS: "{} {}",
    NotPromised.MAY_COME_BACK: "rows that were let go may come back, and with them an earlier {}",
    NotPromised.ROWS_STAY: "{} moves on only when the rows of {} leave, and nothing says that they do",
    SparkKeeps.NOTHING: "keeps nothing",
    SparkKeeps.UNTIL_PASSED: "keeps it until the least watermark of all streams has passed {}",
    SparkKeeps.UNTIL_PASSED_BY: "keeps it until the least watermark of all streams has passed {} {} {}",
    SparkKeeps.NO_WATERMARK: "keeps it for ever: no watermark of {: or }",
    SparkKeeps.NO_TIME_CONDITION: "keeps it for ever: no condition on the times of {} and {} that would let it go",
    SparkKeeps.NO_ROWS_WINDOW: "keeps it for ever: it has no window of so many rows",
    SparkKeeps.REFUSES_ANTI: "refuses it: it has no NOT EXISTS between streams",
    SparkKeeps.REFUSES_UNEQUAL: "refuses it: it joins streams by an equality only",
    SparkKeeps.REFUSES_OUTER: "refuses it, for it would have to keep all ({})",
    SparkKeeps.REFUSES_SEVERAL_TIMES: (
        "refuses it as it is set by default (MULTIPLE_EVENT_TIME_COLUMNS): rows that it joined before carry {: and }"
    ),
    SafeTrees.NONE: "no tree of joins is safe by promises",
    SafeTrees.SAFE_PART: "safe is {}",
    SafeTrees.SINGLE_JOIN: "the single {}-way join is safe",
    SafeTrees.BINARY: "so is this tree of binary joins: {}",
    SafeTrees.ONLY_ALL_TOGETHER: (
        "no tree of binary joins is safe, nor any other tree: only all streams together close each other"
    ),
    SafeTrees.NO_BINARY: "no tree of binary joins is safe",
    SafeTrees.WIDER: "a tree of joins of at most {} inputs is: {}",
}
