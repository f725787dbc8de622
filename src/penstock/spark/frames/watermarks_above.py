"""A watermark that stands above what was read: put where the column comes from."""

from __future__ import annotations

from dataclasses import replace

from penstock.frames.job_relations import JobLeaf, JobProject, JobRelation


def with_delay(relation: JobRelation, number: int, delay: int | None) -> JobRelation | None:
    """The relation whose leaf has the watermark that a node above it puts on a column, renamed or not."""
    match relation:
        case JobLeaf():
            columns = tuple(replace(c, delay=delay) if c.number == number else c for c in relation.columns)
            return replace(relation, columns=columns) if number in {c.number for c in relation.columns} else None
        case JobProject():
            source = next((text.column for column, text in relation.outputs if column.number == number), None)
            below = None if source is None else with_delay(relation.child, source, delay)
            outputs = ((replace(c, delay=delay) if c.number == number else c, text) for c, text in relation.outputs)
            return None if below is None else JobProject(below, tuple(outputs))
        case _:
            # Of rows that a filter lets through; of the others nothing is known.
            return None
