"""The core: Arrow batches in, Arrow batches out. No Spark, no clock, no randomness, no loop over tuples.

This is the page for whoever drives it. A **cell** runs the whole query over its share of the rows; with one key class
it is a hash bucket, with several it is one box of a hypercube (DESIGN section 2).

    cell = Cell(plan)                        # or Cell.restore(plan, entries); Patience.LAZY asks the purge rule seldom
    result = cell.step(Batch(number, chunks))
    result.rows        # pa.Table: columns named as in plan.outputs, a bag
    result.metrics     # counts of this batch, and the state after it
    result.quarantined # rows kept out by ON VIOLATION QUARANTINE
    cell.save()        # Changes(put: {key: bytes}, delete: [key]) since the last save; Arrow IPC and bits, never pickle

**A batch** has a number that grows by at least 1 each time (Spark's batch id), and chunks. A **chunk** is a piece of
one stream's input in the order of arrival; the chunks of one stream must be handed over in that order. It is built by
`Chunk.of(plan, stream, place, data)` from all the rows of the piece, or by hand:

    Chunk(header, rows={alias: pa.Table}, keys={alias: pa.Table}, order=None, punctuations={number: pa.Table})

- `header`: `header_of(plan, stream, place, data)`, made of *all* data rows of the piece, filtered ones too: how many
  they are, and how the columns rose that the stream declares ORDERED or ARRIVES BY. **Every cell gets every header**,
  also where it gets no row: that is how counts and clocks are the same in all cells. `spell` writes it, `read_header`
  reads it.
- `rows[alias]`: the rows that pass the filters of that alias and are routed to this cell: the columns
  `source.shipped` (others are ignored), and `INDEX`, the row's index among the data rows of the piece (int64); under
  `plan.in_arrival_order` also `ORDER`. `numbered(plan, stream, data)` adds both.
  Optionally `HOME`, a boolean that is true in exactly one of the cells that hold a copy; left out, every copy is at
  home. A stream that stands under two aliases is handed over once, in one chunk, with rows for both.
- `keys[alias]`: for an alias with a PRIMARY KEY or CLUSTERED promise (`key_columns(plan, alias)` is not empty), the
  columns `promise_columns(plan, alias)` (the keys and the event time) and `INDEX` of the data rows that are *not* in
  `rows[alias]` of this cell but whose key may be named by a tuple here: those that a filter dropped, and in a
  hypercube those that live in another cell of the line. **Key promises go to every cell that agrees on the axes of
  one key's own columns, whatever the other axes** (`keys_of(plan, alias)`). Leave it out where it would be empty. In a
  hypercube, for each of `clustered_columns(plan, alias)` also a boolean `belongs(column)`: whether the cell agrees on
  the axis of that column. Where it does not, no tuple here names the value, and its cluster is not counted here.

- `punctuations[number]`: for a PUNCTUATED promise of use, by its number in `plan.promises`
  (`punctuation_promises(plan, stream)`), the columns `punctuation_columns(plan, promise)` of the punctuation rows that
  make it, and `INDEX`, here the number of data rows of the piece that came before. **Punctuations go to every cell that
  agrees on the axes of the columns they close, whatever the other axes.** Punctuation rows, of use or not, are no data:
  they stand in no header, no rows, no keys.
- `order`: what `numbered` gives beside the rows: the place of *every* data row of the piece, to every cell, where the
  rows of its stream are counted across streams.

**Order across streams**: by ARRIVES BY under `plan.in_arrival_order`; else, for `[ROWS n]`, the rows of a batch arrive
stream after stream in the order of FROM. The caller need not sort the chunks of different streams.

**A step** is all or nothing: if it raises (`PromiseBroken` for ON VIOLATION FAIL), drop the cell and restore it. Each
result is in exactly one step of exactly one cell, provided rows are routed so that all tuples of a result meet in one
cell.

**State** is a set of entries, key to bytes. `save` gives what changed since the last save: a batch adds a segment and
rewrites a few masks; segments are rewritten when mostly dead. `Cell.restore(plan, entries)` takes all entries of the
store, and gives a cell that goes on as if it had never stopped. Segments may be memory-mapped: any buffer will do.

**Merged sources** (`source.merge`): rows that the query cannot tell apart become one, with a count where results are a
bag, or the extreme one where only an end matters. A result that stands for n is n equal rows of `result.rows`;
`metrics.purged["merged"]` counts the rows that another now stands for, and the state is what is left.

**DISTINCT** is GROUP BY all columns, without measures: a second stage over the rows of all cells, exchanged by output
row: `GroupStage(plan)`, with `step`, `save` and `restore` of the same form. It takes the `frontier` of all cells of the
first stage (their least), which says from which event time on results may still come.

**Outer joins and EXISTS** (`plan.tree`): a row with NULLs, or of NOT EXISTS, is given in the step in which it becomes
certain. The tests of `plan.tree.tests` come with the rows of their stream, as boolean columns of their names, which
are among `source.shipped`; `Cell(plan, absent=…)` says what each is worth where its stream is absent, unless it
`rejects_absent`. A stream that lacks one of `plan.tree.whole_axes` must not be cut along it.

**GROUP BY** has the same second stage, exchanged by group. The rows of a cell are then no results: a row stands for
all results of the batch that the groups cannot tell apart, with their number (`COUNT`) and what is summed up of them
(`runtime/group`).
"""

from penstock.plan.aggregate import COUNT
from penstock.runtime.cell import Cell
from penstock.runtime.columns.hashing import hash_rows
from penstock.runtime.columns.row_values import row_hashes
from penstock.runtime.group.sessions import session_end
from penstock.runtime.group.stage import GroupStage, given_name
from penstock.runtime.input.batch import (
    HOME,
    INDEX,
    Batch,
    Chunk,
    Metrics,
    Punctuating,
    Quarantined,
    StepResult,
    apart,
    numbered,
)
from penstock.runtime.input.headers import Header, header_of, read_header, spell
from penstock.runtime.input.wire_columns import (
    ORDER,
    belongs,
    clustered_columns,
    key_columns,
    keys_of,
    order_column,
    promise_columns,
    punctuation_columns,
    punctuation_promises,
)
from penstock.runtime.join.purged import Patience
from penstock.runtime.match.node_matching import Truth
from penstock.runtime.promise.violations import PromiseBroken
from penstock.runtime.state.store import Changes

__all__ = [
    "COUNT",
    "HOME",
    "INDEX",
    "ORDER",
    "Batch",
    "Cell",
    "Changes",
    "Chunk",
    "GroupStage",
    "Header",
    "Metrics",
    "Patience",
    "PromiseBroken",
    "Punctuating",
    "Quarantined",
    "StepResult",
    "Truth",
    "apart",
    "belongs",
    "clustered_columns",
    "given_name",
    "hash_rows",
    "header_of",
    "key_columns",
    "keys_of",
    "numbered",
    "order_column",
    "promise_columns",
    "punctuation_columns",
    "punctuation_promises",
    "read_header",
    "row_hashes",
    "session_end",
    "spell",
]
