"""The formats that Spark and the packages that people give it know, and which one a misspelt name was meant to be.

Not decided: whether a name that is far from all of these is a format. It may be one that somebody has installed.
"""

from __future__ import annotations

from penstock.model.names import fold, nearest

VIEW = "view"
"""What a table is read as that is a view of the session, or a table of its catalog; the option `name` says which."""
FORMATS = (
    VIEW,
    *("parquet", "orc", "avro", "csv", "json", "text", "xml", "binaryFile", "kafka", "delta", "iceberg", "hudi"),
    *("jdbc", "rate", "rate-micro-batch", "socket", "console", "noop", "memory", "statestore", "foreachBatch"),
    *("kinesis", "pulsar", "eventhubs", "pubsub", "mongodb", "cassandra", "bigquery", "snowflake", "redshift"),
)


def meant(name: str) -> str | None:
    """The format that a name was most likely meant to be; None if it is one, or like none, or names a class."""
    if "." in name or fold(name) in map(fold, FORMATS):
        return None
    return nearest(name, FORMATS)
