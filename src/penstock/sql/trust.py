"""What a script asks for beyond reading what its sources name and writing what its sinks name.

Whoever runs a script from a stranger must know what it can do. Most of Spark's functions work out a value of their
arguments. Some run any method of any class (`reflect`), or read a file that no source names (`from_protobuf`, the
schema of `from_xml`); an option of Spark's file source deletes or moves what was read. `beyond` finds them by their
names in the printed script, whatever their quoting and case: what only looks like one is refused too, which costs a
flag.

Queries within expressions could read any table; the language has none. What a format does is for whoever installed it.
"""

from __future__ import annotations

import re

from penstock.model.script import Script
from penstock.sql.printer import print_script

_CALLS = {
    "reflect": "runs a method of any class",
    "try_reflect": "runs a method of any class",
    "java_method": "runs a method of any class",
    "from_protobuf": "reads a file that no source names",
    "to_protobuf": "reads a file that no source names",
}
_CALLED = re.compile(rf"(?<!\w)({'|'.join(_CALLS)})`?\s*\(", re.IGNORECASE)
_SCHEMA = re.compile("rowValidationXSDPath", re.IGNORECASE)
_MOVING = ("cleansource", "sourcearchivedir")


def beyond(script: Script) -> tuple[str, ...]:
    """What the script does beyond its sources and sinks, a phrase for each thing; nothing for most scripts."""
    text = print_script(script)
    found = {f"{(name := call.lower())} {_CALLS[name]}": None for call in _CALLED.findall(text)}
    if _SCHEMA.search(text):
        found["rowValidationXSDPath reads a file that no source names"] = None
    for stream in script.streams:
        for name, value in stream.storage.options if stream.storage is not None else ():
            if name.lower() in _MOVING and value.lower() != "off":
                found[f"{name} of stream {stream.name} deletes or moves what was read"] = None
    return tuple(found)
