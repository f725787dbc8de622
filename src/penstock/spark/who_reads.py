"""Who decodes what a stream is read from: Spark, or the packer, where the answer cannot differ.

Of Parquet that is known before a row is read. Of JSON it is known of each line as it is read (`plain_json`): one that
Spark alone reads as it means ends the batch, and whoever runs the query starts it again with Spark as the reader. So
does `penstock run`; a DataFrame has nobody who would.
"""

from __future__ import annotations

from collections.abc import Callable

from penstock.errors import UsageError

PARQUET = "penstock.parquet"
"""Who decodes Parquet: `penstock`, where it can be, or `spark`, always."""
JSON = "penstock.json"
"""Who decodes JSON, likewise."""
_BY_DEFAULT = {PARQUET: "penstock", JSON: "spark"}
Setting = Callable[[str], str | None]
"""What a setting of Spark's is; None if it is not set."""


def is_ours(reader: str, conf: Setting) -> bool:
    """Whether the packer is to decode, where it can; `conf` tells a setting of Spark's."""
    wanted = (conf(reader) or _BY_DEFAULT[reader]).lower()
    if wanted not in ("penstock", "spark"):
        raise UsageError(f"{reader} is penstock or spark, not {wanted}")
    return wanted == "penstock"
