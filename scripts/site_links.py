"""For the site: what a page links to outside of docs/ is named, not linked, since the site has the pages alone."""

from __future__ import annotations

import re
from typing import Any

_OUTSIDE = re.compile(r"\[([^\]]+)\]\(\.\./[^)]*\)")


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The page with such links as the words that they stand under."""
    return _OUTSIDE.sub(r"\1", markdown)
