"""Types on their way through Spark and Arrow."""

from __future__ import annotations

import re

_TEXT_OF_LENGTH = re.compile(r"\b(?:VARCHAR|CHAR)\s*\(\s*\d+\s*\)", re.IGNORECASE)


def spark_type(declared: str) -> str:
    """What a DataFrame has where a stream declares that type: VARCHAR and CHAR exist in tables alone."""
    return _TEXT_OF_LENGTH.sub("STRING", declared)
