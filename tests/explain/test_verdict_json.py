"""The JSON of `check`, `explain` and `implies`: the keys of the contract, always there; ASCII."""

from __future__ import annotations

import json

from penstock.analysis.implication.implied import Implication
from penstock.explain.verdict_json import check_object, explain_object, implication_object, printed
from tests.explain.explained import BAND, EVIL, bare, explained, ordered

QUERY = ["query", "verdict", "strategy", "exact", "streams", "analyses", "witness"]
STREAM = ["stream", "alias", "verdict", "bound", "rows", "because", "fixes"]


def test_the_keys_of_the_contract_are_there_whatever_the_verdict() -> None:
    for of in (ordered(f"SELECT a.k FROM a, b WHERE {BAND};"), bare("SELECT a.k FROM a, b WHERE a.k = b.k;")):
        (query,) = json.loads(printed(check_object(of.verdicts)))["queries"]
        assert set(QUERY) <= set(query)
        assert all(set(STREAM) <= set(stream) for stream in query["streams"])
        assert set(query["analyses"]) == {"memory", "purge", "rewrite"}
        assert (query["witness"] is None) == (query["verdict"] != "unbounded")


def test_explain_has_the_plan_beside_the_verdict() -> None:
    of = ordered(f"SELECT a.k FROM a, b WHERE {BAND};")
    plan = json.loads(of.plans[0].to_json())
    (query,) = json.loads(printed(explain_object([(of.verdicts[0], plan)])))["queries"]
    assert query["plan"] == plan
    assert query["verdict"] == "bounded"


def test_an_answer_of_implies_may_be_null() -> None:
    assert json.loads(printed(implication_object(Implication(None, ("not known",))))) == {
        "implied": None,
        "because": ["not known"],
    }


def test_no_terminal_obeys_what_is_printed() -> None:
    of = explained(f"CREATE STREAM `{EVIL}` (k BIGINT); SELECT k FROM `{EVIL}`;")
    text = printed(check_object(of.verdicts))
    assert text.isascii()
    assert "\x1b" not in text
    assert json.loads(text)["queries"][0]["streams"][0]["stream"] == EVIL
