"""The keywords of a schema that apply schemas to an object to what they say of members beside those in `properties`.

Keywords are those of JSON Schema 2020-12, and `dependencies` and `$recursiveRef` of the drafts before it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from .jsontext import JsonValue
from .protocol import JsonObject

# Where a schema can speak of members other than in `properties`. Lists of schemas, single schemas, schemas by key.
_BRANCH_LISTS = ("anyOf", "oneOf", "allOf")
_BRANCHES = ("if", "then", "else")
_BRANCH_MAPS = ("dependentSchemas", "dependencies")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

COMPOSING: Final = ("$ref", *_BRANCH_LISTS)
"""Those that can be all there is to a schema."""

APPLICATORS: Final = frozenset(
    {*_REFERENCES, *_BRANCH_LISTS, *_BRANCHES, *_BRANCH_MAPS, "properties", "patternProperties"}
)


def declared_beyond(schema: JsonObject, known: Collection[str]) -> str | None:
    """Return which keyword may declare members beside `known`, in words, or None.

    `additionalProperties: true` declares none, and neither does `unevaluatedProperties: true`: they say what their
    absence says.
    """
    if schema.get("patternProperties"):
        return "patternProperties declares more"
    if _declares(said_of_others(schema)):
        return f"{_keyword_of_others(schema)} declares more"
    for keyword in _REFERENCES:
        if keyword in schema:
            return f"{keyword} declares more"
    for keyword, branch in _branches(schema):
        properties = branch.get("properties", {})
        nested = any(inner in APPLICATORS and inner != "properties" for inner in branch)
        beside = nested or _declares(said_of_others(branch))
        if beside or not isinstance(properties, dict) or any(name not in known for name in properties):
            return f"{keyword} declares more"
    return None


def says_open(schema: JsonObject) -> bool:
    """Tell whether `schema`, or a branch of it, says in so many words that any other members may stand there."""
    parts = (schema, *(branch for _, branch in _branches(schema)))
    return any(said is True or said == {} for said in map(said_of_others, parts))


def said_of_others(schema: JsonObject) -> JsonValue:
    """Return the schema of the members that no other keyword beside it speaks of, or None where there is none."""
    return schema.get(_keyword_of_others(schema))


def _keyword_of_others(schema: JsonObject) -> str:
    # What the one applies to is evaluated, so beside it the other applies to nothing (JSON Schema 2020-12, 11.3).
    return "additionalProperties" if "additionalProperties" in schema else "unevaluatedProperties"


def _declares(said: JsonValue) -> bool:
    return isinstance(said, dict) and said != {}


def _branches(schema: JsonObject) -> Iterable[tuple[str, JsonObject]]:
    for keyword in (*_BRANCH_LISTS, *_BRANCHES, *_BRANCH_MAPS):
        value = schema.get(keyword)
        if keyword in _BRANCHES:
            value = [value]
        elif keyword in _BRANCH_MAPS and isinstance(value, dict):
            value = list(value.values())
        for branch in value if isinstance(value, list) else ():
            if isinstance(branch, dict):
                yield keyword, branch
