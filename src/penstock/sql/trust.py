"""What a script asks for beyond reading what its sources name and writing what its sinks name.

Whoever runs a script from a stranger must know what it can do. Most of Spark's functions work out a value of their
arguments. Some run any method of any class (`reflect`), or read a file that no source names (`from_protobuf`, the
schema that options of `from_xml` name); an option of Spark's file source deletes or moves what was read. `beyond`
finds them by their names in the printed script, whatever their quoting and case.

What stands in a text constant is no call. But where a constant ends, Spark decides, and not we: a script that has
backslashes, raw texts or comments is looked at with its constants, and what only looks like a call is refused in it,
which costs a flag. The name of an option may be put together (`map(concat('rowVal', …), …)`), so all options of the
functions that take that one are refused.

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
_WITH_OPTIONS = {"from_avro": 3, "from_xml": 3, "schema_of_xml": 2}
"""Functions that read a file which their options name, and how many arguments they have with options."""
_TAKES_OPTIONS = re.compile(rf"(?<!\w)({'|'.join(_WITH_OPTIONS)})`?\s*\(", re.IGNORECASE)
_UNCLEAR = re.compile(r"\\|--|/\*(?!\+)|(?<!\w)r['\"]", re.IGNORECASE)
"""What Spark may read otherwise than we do."""
_QUOTED = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`""")
_SCHEMAS = ("rowValidationXSDPath", "avroSchemaUrl")
_MOVING = ("cleansource", "sourcearchivedir")


def beyond(script: Script) -> tuple[str, ...]:
    """What the script does beyond its sources and sinks, a phrase for each thing; nothing for most scripts."""
    text = print_script(script)
    written, unclear = text, _UNCLEAR.search(text) is not None
    if not unclear:
        # Texts in double quotes are names where Spark is set so.
        text = _QUOTED.sub(lambda quoted: "''" if quoted[0].startswith("'") else quoted[0], text)
    found = {f"{(function := call.lower())} {_CALLS[function]}": None for call in _CALLED.findall(text)}
    for call in _TAKES_OPTIONS.finditer(text):
        name = call[1].lower()
        if unclear or _arguments(text[call.end() :]) >= _WITH_OPTIONS[name]:
            found[f"options of {name} may name a file that no source names"] = None
    for option in _SCHEMAS:
        if option.lower() in written.lower():
            found[f"{option} reads a file that no source names"] = None
    for stream in script.streams:
        for name, value in stream.storage.options if stream.storage is not None else ():
            if name.lower() in _MOVING and value.lower() != "off":
                found[f"{name} of stream {stream.name} deletes or moves what was read"] = None
    return tuple(found)


def _arguments(rest: str) -> int:
    """The arguments of a call, of which `rest` is what follows its opening parenthesis; no text stands in it."""
    depth, count = 0, 1
    for sign in rest:
        depth += (sign in "([") - (sign in ")]")
        if depth < 0:
            break
        count += sign == "," and depth == 0
    return count
