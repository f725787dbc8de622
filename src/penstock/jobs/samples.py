"""A job on the first rows of its sources: run both ways, and measured for promises that they keep."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import UsageError
from penstock.explain.comparison import JobComparison
from penstock.jobs.adoption import put_together
from penstock.jobs.job_scripts import parsed, read_job, require_known

if TYPE_CHECKING:
    from penstock.profile.job_profile import JobProfile
    from penstock.spark.stream import DataFrame

_PROFILED_BATCHES = 20


def compare(
    frame: DataFrame, *, rows: int = 100_000, batches: int = 10, mode: str = "append", allow_unbounded: bool = False
) -> JobComparison:
    """The job both ways, by Spark's own plan and adopted, on the first rows of its sources: speed, state, answers.

    At most `rows` rows of each source are taken, and given to both in so many batches. The value prints as a table, and
    shows itself in a notebook with a plot of the rows that are stored.
    """
    require_known(mode)
    read = read_job(frame)
    if not read.keeps_state:
        raise UsageError("this DataFrame keeps no state, so both ways are the same", hint="pass one with a join")
    _require_number("rows", rows)
    _require_number("batches", batches)
    from penstock.spark.frames.both_ways import compare_answers, run_way  # noqa: PLC0415 - with Spark
    from penstock.spark.frames.catalyst import Catalyst  # noqa: PLC0415
    from penstock.spark.frames.sampled_sources import SampledSources  # noqa: PLC0415
    from penstock.spark.session import own_store  # noqa: PLC0415

    catalyst = Catalyst(read.session)
    with tempfile.TemporaryDirectory(prefix="penstock-compare-") as folder:
        home = Path(folder)
        sample = SampledSources(catalyst, home / "sample", rows, batches)
        own = catalyst.frame(sample.streaming(read.job.plan))
        counted = sample.rows_of_batches
        adopted, _ = put_together(read, None, mode, allow_unbounded=allow_unbounded, read_as=sample.streaming)
        with own_store(read.session):
            spark_way, _ = run_way(own, home / "spark", counted, mode=mode, is_adopted=False)
        adopted_way, late = run_way(adopted, home / "adopted", counted, mode=mode, is_adopted=True)
        at_rest = catalyst.frame(sample.at_rest(read.job.plan))
        answers = compare_answers(home / "spark", home / "adopted", at_rest, late, read.told_apart_by)
    return JobComparison(sum(counted), spark_way, adopted_way, answers)


def profile(frame: DataFrame, *, rows: int = 100_000) -> JobProfile:
    """Which promises the first rows of a job's sources keep, what they would save, and how to write them in the job."""
    read = read_job(frame)
    _require_number("rows", rows)
    from penstock.profile.asking import require_no_blocks  # noqa: PLC0415 - with Spark
    from penstock.profile.job_profile import JobProfile  # noqa: PLC0415
    from penstock.profile.run import profile_with  # noqa: PLC0415
    from penstock.spark.frames.catalyst import Catalyst  # noqa: PLC0415
    from penstock.spark.frames.sampled_sources import SampledSources, written_leaf  # noqa: PLC0415
    from penstock.spark.profiling.progress import Progress  # noqa: PLC0415
    from penstock.spark.session import few_partitions, run_our_python, set_meanwhile  # noqa: PLC0415

    run_our_python(read.session)
    with (
        set_meanwhile(read.session, few_partitions(read.session)),
        tempfile.TemporaryDirectory(prefix="penstock-profile-") as folder,
    ):
        home = Path(folder)
        sample = SampledSources(Catalyst(read.session), home / "sample", rows, _PROFILED_BATCHES)
        made = read.profiled_script(home)
        script = parsed(read, made.text)
        require_no_blocks(script)
        given = read.inputs(sample.streaming, made)
        for stream in made.streams:
            written_leaf(given[stream.name], home / f"stream_{stream.source}", rows, _PROFILED_BATCHES)
        progress = Progress(sys.stderr)
        try:
            with read.tables():
                found = profile_with(read.session, script, progress)
        finally:
            progress.close()
    return JobProfile(found, sum(count for _, count in found.rows))


def _require_number(name: str, given: object) -> None:
    if not isinstance(given, int) or given < 1:
        raise UsageError(f"{name} is a whole number above 0, not {given!r}")
