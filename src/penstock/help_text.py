"""What stands below the options in `penstock COMMAND --help`: examples to copy, and exit codes.

Every example is a command as one would type it; `tests/cli/test_help.py` reads each with the real options.
"""

from __future__ import annotations

_EXAMPLES = {
    "check": (
        ("is every state bounded, and what to declare where it is not", "penstock check job.sql"),
        ("ten rows of an input that makes it grow", "penstock check job.sql --witness 10"),
        ("write the first fix of the report into the script", "penstock check job.sql --fix"),
        ("a fix that needs a length, which you know", "penstock check job.sql --fix 1 --within '1 HOUR'"),
        ("the queries that a PySpark job would start", "penstock check job.py --args '--env test'"),
    ),
    "explain": (
        ("what is kept, and what lets it go", "penstock explain job.sql"),
        ("the same as a page", "penstock explain job.sql --html plan.html"),
    ),
    "implies": (
        (
            "need I declare this?",
            'penstock implies job.sql "FOLLOWS orders (id) ON (order_id) WITHIN 1 HOUR ON payments"',
        ),
    ),
    "run": (
        ("what is there now, and stop", "penstock run job.sql --checkpoint state --available-now"),
        ("what is there is all: also emit what waits for more", "penstock run job.sql --checkpoint state --final"),
        (
            "for ever, a batch every ten seconds, on a cluster",
            "penstock run job.sql --master spark://host:7077 --checkpoint hdfs://name/job --trigger 10s",
        ),
        (
            "of topics of Kafka: the connector of your Spark's version",
            "penstock run job.sql --checkpoint state "
            "--conf spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0",
        ),
        (
            "watched: metrics for Prometheus, a JSON object a batch, a program that is started when a promise breaks",
            "penstock run job.sql --checkpoint state --prometheus 9464 --log json --hook ./wake.sh",
        ),
        ("with a page that shows it, at a free port", "penstock run job.sql --checkpoint state --page"),
        ("measured", "penstock run job.sql --checkpoint state --metrics batches.jsonl --strict"),
    ),
    "state": (("ten rows of each stream, and whom they wait for", "penstock state state --rows 10"),),
    "rescale": (("for a cluster of sixteen cores", "penstock rescale state --cells 32"),),
    "page": (("what a run did, as one file", "penstock page batches.jsonl --html run.html"),),
    "bench": (
        ("from a clone of the repository; --help after the name has its options", "penstock bench packets --quick"),
    ),
    "profile": (("which declarations would the data keep?", "penstock profile job.sql"),),
}

_CODES = {
    "check": "Exit code: 0 all bounded, 3 some unbounded, 4 some undecided, 2 bad input.",
    "implies": "Exit code: 0 implied, 3 not implied, 4 not decided, 2 bad input.",
    "run": "Exit code: 0 done, 1 failed while running, 5 inexact and --strict; "
    "nothing was started: 2 bad input, 3 and 4 as of check.",
}


def epilog(command: str) -> str:
    """The examples and exit codes of a command, as click shows them: a paragraph after \\b is not filled."""
    lines = [line for about, example in _EXAMPLES[command] for line in (f"  # {about}", f"  {example}")]
    shown = "\n".join(["\b", "Examples:", *lines])
    return f"{shown}\n\n{_CODES[command]}" if command in _CODES else shown


def examples() -> list[str]:
    """All examples."""
    return [example for shown in _EXAMPLES.values() for _, example in shown]
