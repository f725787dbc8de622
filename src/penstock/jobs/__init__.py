"""A PySpark job, unchanged: its DataFrames checked, and run by Penstock.

    DataFrame --read--> script --check--> Verdict
                               --adopt--> the same DataFrame, run by Penstock

What is promised of a DataFrame goes into that script.

Nothing here decides: what a plan says is read in `spark/frames`, and the script that it becomes goes the way of every
script (`compile`).
"""

from __future__ import annotations

from penstock.jobs.adoption import adopt, metrics
from penstock.jobs.files import JobReport, check_file
from penstock.jobs.job_scripts import to_pyspark, to_sql
from penstock.jobs.promising import promise
from penstock.jobs.samples import compare, profile
from penstock.jobs.verdicts import check, explain

__all__ = [
    "JobReport",
    "adopt",
    "check",
    "check_file",
    "compare",
    "explain",
    "metrics",
    "profile",
    "promise",
    "to_pyspark",
    "to_sql",
]
