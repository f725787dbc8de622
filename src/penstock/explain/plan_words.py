"""The words of what plans say of themselves: how groups are worked out, what cannot be run or seen (words.py)."""

from __future__ import annotations

from penstock.analysis.reasons import ReasonKind
from penstock.explain.state_words import Words
from penstock.plan.plan_reasons import Evicts, HowGrouped, MemoryChoice, PlanObstacle, Unseen, WhyUnkept

PLAN_WORDS: dict[ReasonKind, Words] = {
    HowGrouped.HANDED_ON: "counts and sums are handed on along {}; no result of the join is made",
    HowGrouped.MATCHES_COUNTED: "matches are counted and summed up along {} - {}, and none is made",
    HowGrouped.NO_JOIN: "there is no join",
    HowGrouped.JOINED_FOR_ROWS: "results are joined first, since [ROWS n] asks which row of a result came last",
    HowGrouped.JOINED_FOR_OUTER: (
        "results are joined first: a row of several outer joins or EXISTS is added up when it is emitted"
    ),
    HowGrouped.JOINED_FOR_BUDGET: (
        "results are joined first, since a BUDGET may withhold some that seem to have no match"
    ),
    HowGrouped.JOINED_FOR_WHERE: "results are joined first, since WHERE asks something of a stream that may be absent",
    HowGrouped.JOINED_FOR_CONDITION: "results are joined first, since {} is asked of rows that have met",
    HowGrouped.JOINED_FOR_KEYS: "results are joined first, since {: and } tie no tree",
    HowGrouped.JOINED_FOR_CIRCLE: "results are joined first, since conditions other than = tie {} in a circle",
    HowGrouped.LOOKED_UP: (
        "counts and sums are looked up by key and range of time, from the latest row of each result; no "
        "result of the join is made"
    ),
    HowGrouped.HOP: "{} - {}",
    HowGrouped.EACH_ONCE: "each result once",
    MemoryChoice.CLUSTERS_COST: (
        "at equal rates they would keep {} promises, and {} rows would leave earlier than by {: and }; chosen "
        "anew from what is seen"
    ),
    MemoryChoice.K_UNKNOWN: "k is not known yet; it is chosen anew when it is",
    MemoryChoice.KEYS_COST: (
        "at equal rates a row would wait for {} rows, and a key be remembered for {}; chosen anew from what is seen"
    ),
    MemoryChoice.ROWS_LET_GO: "[ROWS n] lets every row that would name a key go in time",
    MemoryChoice.NOTHING_ELSE: "nothing else closes it for rows that name a key which has left",
    MemoryChoice.AN_ORDER_CLOSES: "an order closes it for every row in time, whatever came before",
    MemoryChoice.NOTHING_ENDS: "no constraint ends the need for a key within a number of rows",
    PlanObstacle.NEVER_CLOSED: (
        "{} is never known to be closed, since nothing says that {} is an event time that is ordered"
    ),
    PlanObstacle.MAY_DIFFER: "{} may give another value each time, so nothing can be grouped by it or summed up of it",
    PlanObstacle.CONDITION_UNDER_BUDGET: (
        "{} is asked of rows that have met, so what an evicted row would have made cannot be told, and a BUDGET "
        "could not say how much of the answer is left: leave out BUDGET, or the condition"
    ),
    PlanObstacle.CONDITION_RANDOM: (
        "{} may give another value each time, and before DISTINCT and GROUP BY rows that say the same are one: "
        "leave it out"
    ),
    PlanObstacle.BYTES_BY_ARRIVAL: (
        "where rows are counted in the order of ARRIVES BY, those that wait for the slowest stream cannot be "
        "evicted, so a BUDGET in bytes cannot be held: give it in ROWS"
    ),
    PlanObstacle.ARCHIVE_BY_ARRIVAL: (
        "an ARCHIVE cannot be joined later where [ROWS n] is counted in the order of ARRIVES BY: leave out "
        "ARRIVES BY, and rows are counted in the order of reading, or leave out ARCHIVE"
    ),
    PlanObstacle.VALUE_OF_SEVERAL: (
        "VALUE({}) cannot be weighed before all its streams have met: write a product of which each factor is "
        "about one stream, as in VALUE(r.price * s.amount)"
    ),
    PlanObstacle.K_LEARNED_UNDER_BUDGET: (
        "the k of {} is learned from rows that meet, and rows that a BUDGET evicts meet nothing: it would be "
        "learned too small, and rows emitted as unmatched too soon; write WITHIN n ROWS"
    ),
    PlanObstacle.ARCHIVE_OF_OUTER: (
        "an ARCHIVE is joined later for inner joins only: rows of outer joins and EXISTS that were withheld "
        "cannot be told from those that were emitted; leave out ARCHIVE"
    ),
    PlanObstacle.ARCHIVE_AFTER_STAGE: (
        "what an ARCHIVE emits later cannot be added to what {} has emitted: leave out ARCHIVE, or leave out {} "
        "and work it out over the sink and the archive's answers together"
    ),
    PlanObstacle.INSTEAD: "use ADAPT, which counts the loss it knows of, or QUARANTINE or FAIL",
    PlanObstacle.RECOVER_WITH_BUDGET: (
        "{} asks to RECOVER, which loses nothing, and a BUDGET is there to lose rows; {}"
    ),
    PlanObstacle.RECOVER_OF_WINDOW: (
        "{} asks to RECOVER: a window of time is emitted once, so what is recovered later cannot be added; {}, "
        "or group by other columns"
    ),
    PlanObstacle.NAME_OF_ENGINE: "a name that begins with __ps_ is the engine's own: {}",
    PlanObstacle.UNCOMPARABLE_ARRIVALS: "rows cannot be counted across streams that arrive by {}",
    PlanObstacle.ARRIVALS_OVER_PARTS: (
        "{} has parts, and rows of several parts are not yet counted in the order of ARRIVES BY: leave ARRIVES BY out "
        "and they are counted as they are read, or ask for a span of time in place of rows"
    ),
    PlanObstacle.K_LEARNED_OVER_PARTS: (
        "{} is to be learned in rows of several parts, which is not done yet: write WITHIN a number of ROWS"
    ),
    PlanObstacle.SHED_WITHOUT_BUDGET: "SHED(INPUT) is done by what a BUDGET knows of the rows: give one too",
    PlanObstacle.TOP_STAYS_OPEN: (
        "the first {} rows of a partition that nothing closes change for ever: partition by the window of a grouped "
        "view or by a day of an ordered event time as well, or ask for the first row alone"
    ),
    PlanObstacle.TOP_WITH_BUDGET: "ROW_NUMBER() keeps its rows without regard to a BUDGET: leave it out",
    PlanObstacle.SESSION_WITH_BUDGET: "sessions are kept without regard to a BUDGET: leave it out",
    PlanObstacle.SETS_WITH_BUDGET: (
        "each row is in a group of every set of keys, and what of that a BUDGET would lose is not told: leave it out, "
        "or write a query for each set"
    ),
    PlanObstacle.ONLY_APPENDS: (
        "sink {} only appends, but the groups change and nothing closes them: group by window(ts, '5 minutes') of an "
        "ordered event time as well, or use a sink that takes updates"
    ),
    PlanObstacle.RUNNING_GROUPS: (
        "{} emits groups that go on changing, and nothing reads running groups: group by window(ts, '…') of an event "
        "time as well, so that each group is emitted once"
    ),
    PlanObstacle.ARCHIVE_BELOW: "{} is read by another block, and what ARCHIVE keeps is not: leave ARCHIVE out",
    WhyUnkept.MERGING_ENDS: "merging rows of which min or max asks for {: and }",
    WhyUnkept.MERGING_APART: "merging rows that {} keeps apart",
    WhyUnkept.MERGING_ENDLESS: "merging rows whose {} is endless",
    WhyUnkept.UNDER_RECOVER: "the bound of {} is not kept under RECOVER: a late row may recover a result at any time",
    WhyUnkept.NEEDS: "the bound of {} needs {}, which cannot be done yet",
    WhyUnkept.DISTINCT: (
        "the bound of (distinct) needs forgetting by a clock that is not itself an output column, or by a "
        "punctuation of FLOAT or DOUBLE or of rows that are merged, which cannot be done yet"
    ),
    WhyUnkept.GROUPS: (
        "the bound of (groups) needs forgetting by a punctuation of FLOAT or DOUBLE or of rows that are "
        "merged, which cannot be done yet"
    ),
    WhyUnkept.CHAIN_OF_OUTER: "a chain of closes over streams that an outer join or EXISTS decides apart",
    WhyUnkept.FEW_VALUES_PUNCTUATED: "punctuations of each of a few values",
    WhyUnkept.MERGING: "merging rows",
    Evicts.GAIN: "rows with the least results to come for the room that they take",
    Evicts.PROB: "rows whose key is least frequent on the streams that they meet",
    Evicts.LIFE: "rows whose key's frequency times their remaining life is least",
    Evicts.RAND: "rows drawn at random",
    Evicts.OVER_BUDGET: "at most {}; over it, {} are evicted first",
    Unseen.SAMPLED: "more than {} times k is seen only in a sample, with probability {}",
    Unseen.CLOSES_NOTHING: "not watched, it closes nothing here",
    Unseen.DO_NOT_MEET: "not watched, its columns do not meet here",
    Unseen.NOT_WATCHED: "not watched by this version",
    Unseen.FILTERED: "rows that a filter drops are not found to break it",
    Unseen.CLUSTER_SAMPLED: "once no stored or future row needs the end of a cluster, a row of it that needs {}",
    Unseen.CLUSTER_FORGOTTEN: (
        "a value that comes again after its cluster is not seen once no stored or future row needs its end"
    ),
    Unseen.WHILE_UNUSED: "not watched while it is not used",
    Unseen.AFTER_PUNCTUATION: (
        "a row that comes after its own punctuation is not seen once no stored or future row needs that one"
    ),
    Unseen.NO_BUCKET: "a row that breaks it meets what is stored, and is not kept: it has no bucket",
    Unseen.OF: "{}: {}",
    Unseen.KEY: "a key that comes again is not seen once its first row has left",
    Unseen.KEY_AND_NAMING: (
        "a key that comes again is not seen once its first row has left and no row of {: or } that names it may come"
    ),
    Unseen.MATCH_SAMPLED: "once the row has left that it meets, a match that needs {}",
    Unseen.MATCH_OF_MERGED_SAMPLED: (
        "once the row has left that it meets, or another row stands for it, a match that needs {}"
    ),
    Unseen.MATCH: "a match that breaks it is not seen once the row that it meets has left",
    Unseen.MATCH_OF_MERGED: (
        "a match that breaks it is not seen once the row that it meets has left, or another row stands for it"
    ),
}
