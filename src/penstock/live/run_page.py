"""The page itself: one file that needs nothing else, with what is known so far inside.

`run_page.html` has the frame and the script, the style sheet of `penstock.explain` the colours. What is known stands in
it as JSON; a page that is live asks for the rest by `batches?after=N`. No text of the user's becomes markup: the script
sets it as text, and the drawings come from `explain.graph_svg`, which escapes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import Any


def live_page(title: str, known: Mapping[str, Any], *, is_live: bool) -> str:
    """The whole page."""
    style = files("penstock.explain").joinpath("page.css").read_text(encoding="utf-8")
    frame = files("penstock.live").joinpath("run_page.html").read_text(encoding="utf-8")
    # `</script>` inside of a text would end the element that the data stand in.
    data = json.dumps({**known, "live": is_live}, ensure_ascii=False).replace("<", "\\u003c")
    return frame.replace("{{title}}", escape(title)).replace("/*{{style}}*/", style).replace("{{data}}", data)
