"""What is promised of a DataFrame: `penstock.promise`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock import compile as scripts
from penstock.errors import UsageError
from penstock.frames.frame_promises import FramePromise
from penstock.frames.written_promises import require_written
from penstock.model.names import fold, nearest

if TYPE_CHECKING:
    from penstock.spark.stream import DataFrame


def promise(frame: DataFrame, *declarations: FramePromise) -> DataFrame:
    """The DataFrame, of which so much is promised: jobs that read it are checked and run with it.

    Each declaration is a value: `penstock.PrimaryKey("id")`, `penstock.Ordered("ts", within="3 seconds")` and so on.
    They are about the rows of this very DataFrame; what is made of it afterwards is worked out from them. They are
    noted with its plan, in its session, so they hold of every DataFrame with the same plan and names: the same rows.
    """
    from penstock.spark.frames.adopted_frame import require_stream  # noqa: PLC0415 - with Spark
    from penstock.spark.frames.promised_plans import note  # noqa: PLC0415

    require_stream(frame)
    given: Sequence[object] = declarations
    wrong = [type(one).__name__ for one in given if not isinstance(one, FramePromise)]
    if wrong:
        raise UsageError(
            f"a promise is wanted, and this is of type {wrong[0]}",
            hint="e.g. penstock.promise(orders, penstock.PrimaryKey('id'))",
        )
    for declaration in declarations:
        virtual = (name for one in declarations for name in one.virtual)
        known = {*map(fold, frame.columns), *map(fold, virtual)}
        named = declaration.columns if not declaration.is_condition else ()
        if missing := [name for name in named if fold(name) not in known]:
            close = nearest(missing[0], frame.columns)
            raise UsageError(
                f"{declaration}: the DataFrame has no column {missing[0]}",
                hint=f"did you mean {close}?" if close else f"there are: {', '.join(frame.columns)}",
            )
        columns = ((field.name, field.dataType.simpleString()) for field in frame.schema)
        require_written(declaration, columns, scripts.parse)
        if declaration.other is not None:
            require_stream(declaration.other)
    note(frame, declarations)
    return frame
