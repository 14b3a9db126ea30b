"""Hypothesis strategies for what a server may send, right and wrong.

They draw plain data: JSON values, listings, messages as dicts, and lines and streams as bytes. All shrink to the small
and, but for those that draw only what is wrong, to the right: the simplest of each is what a good server sends.
"""

from __future__ import annotations

import copy
import json
from pathlib import Path

from hypothesis import strategies as st

from fuzz.values import Json, damaged, deep_values, json_texts, json_values, short, texts

__all__ = [
    "Json",
    "add_a_keyword",
    "break_one_thing",
    "chunkings",
    "damaged",
    "deep_values",
    "descriptions",
    "envelopes",
    "hostile_schemas",
    "ids",
    "json_texts",
    "json_values",
    "lines",
    "listings",
    "mutated_listings",
    "objects",
    "pages",
    "recorded_listings",
    "schemas",
    "streams",
    "texts",
    "tool_names",
    "tools",
    "values_of",
    "wrong_envelopes",
    "wrong_tools",
]

_RECORDED = Path(__file__).resolve().parents[2] / "shared" / "corpus" / "real"


@short
def tool_names() -> st.SearchStrategy[str]:
    """Draw a name as servers choose them (`list_berths`, `listBerths`, `harbor.list-berths`), or as attackers do."""
    words = st.text("abcdefgh", min_size=1, max_size=6)
    usual = st.builds(
        lambda parts, mark: mark.join(parts), st.lists(words, min_size=1, max_size=3), st.sampled_from("_-./")
    )
    return usual | words.map(str.title) | texts().filter(bool) | st.integers(60, 70).map("n".__mul__)


@short
def descriptions() -> st.SearchStrategy[str]:
    """Draw a sentence or two, or what would end a comment, forge a line, or go on for ever."""
    sentence = st.lists(st.text("abcdefgh", min_size=1, max_size=7), min_size=1, max_size=12).map(
        lambda words: " ".join(words).capitalize() + "."
    )
    forged = st.sampled_from(("\nevil(path: str)  # Safe.", "\n\n# Trusted:", '"""\nimport os\n"""', "\n| note", "\\"))
    return (
        st.just("Ahoy.")
        | sentence
        | st.builds(lambda *parts: "".join(parts), sentence, forged, texts())
        | texts()
        | texts().map(lambda text: text * 300)
    )


@short
def schemas() -> st.SearchStrategy[Json]:
    """Draw a JSON Schema as servers write them: scalars, enums, lists, fixed items, choices with null, and objects."""
    note: st.SearchStrategy[Json] = st.just({}) | descriptions().map(lambda said: {"description": said})
    scalar = st.sampled_from(("string", "integer", "number", "boolean")).map(lambda kind: {"type": kind})
    enum = st.lists(texts() | st.integers(-9, 9), min_size=1, max_size=4).map(lambda values: {"enum": values})
    leaf: st.SearchStrategy[Json] = st.builds(lambda schema, more: {**schema, **more}, scalar | enum, note)

    def grow(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
        nullable = inner.map(lambda schema: {"anyOf": [schema, {"type": "null"}]})
        items = inner.map(lambda schema: {"type": "array", "items": schema})
        several = st.lists(inner, min_size=1, max_size=3)
        fixed = several.map(lambda each: {"type": "array", "prefixItems": each, "items": False, "minItems": len(each)})
        return items | nullable | objects(inner) | fixed

    return st.recursive(leaf, grow, max_leaves=8)


def objects(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    """Draw the schema of an object with members of `inner`, some of them required."""
    members = st.dictionaries(tool_names(), inner, max_size=4)
    return st.builds(
        lambda properties, every: {
            "type": "object",
            "properties": properties,
            "required": list(properties)[:: every or len(properties) + 1],
        },
        members,
        st.integers(0, 2),
    )


def values_of(schema: Json, *, plain: bool = False) -> st.SearchStrategy[Json]:
    """Draw a value that one of `schemas` allows: with members that nobody declared, and without those optional.

    With `plain` it is what Python's types allow too: only declared members, no integer that is written as a float, and
    a tuple for fixed items.
    """
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "anyOf" in schema:
        return st.one_of([values_of(branch, plain=plain) for branch in schema["anyOf"]])
    match schema["type"]:
        case "array" if "prefixItems" in schema:
            items = st.tuples(*(values_of(each, plain=plain) for each in schema["prefixItems"]))
            return items if plain else items.map(list)
        case "array":
            return st.lists(values_of(schema["items"], plain=plain), max_size=3)
        case "object":
            members = {name: values_of(member, plain=plain) for name, member in schema["properties"].items()}
            required = {name: members.pop(name) for name in schema["required"]}
            record = st.fixed_dictionaries(required, optional=members)
            more = st.builds(lambda extra, known: {**extra, **known}, st.just({"undeclared": [1]}), record)
            return record if plain else record | more
        case "integer" if plain:
            return st.integers()
        case kind:
            return _SCALARS[kind]


_SCALARS: dict[str, st.SearchStrategy[Json]] = {
    "string": texts(),
    "integer": st.integers() | st.integers(-9, 9).map(float),
    "number": st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    "boolean": st.booleans(),
    "null": st.none(),
}


KEYWORDS = (
    "type", "properties", "required", "enum", "const", "items", "anyOf", "oneOf", "allOf", "not", "if", "then", "$ref",
    "additionalProperties", "patternProperties", "dependentSchemas", "prefixItems", "nullable", "description", "title",
    "default", "$defs",
)  # fmt: skip


@short
def hostile_schemas() -> st.SearchStrategy[Json]:
    """Draw what an attacker calls a schema: keywords with values of any kind, references in circles, or no schema."""
    pointers = st.sampled_from(
        ("#", "#/", "#/$defs/a", "#/$defs/b", "#/properties/a", "file:///etc/passwd", "#/nowhere")
    )
    types = st.sampled_from(("object", "array", "string", "null", "", "Object", ["string", "null"], [], 7))

    def grow(inner: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
        maps = st.dictionaries(st.sampled_from(("a", "b", "", "class", "a-b")), inner, max_size=3)
        values = inner | maps | st.lists(inner, max_size=3) | pointers | types | json_values(3)
        return st.dictionaries(st.sampled_from(KEYWORDS), values, max_size=4)

    return st.recursive(schemas() | st.booleans() | pointers.map(lambda to: {"$ref": to}), grow, max_leaves=8)


def add_a_keyword(schema: Json) -> st.SearchStrategy[Json]:
    """Draw `schema` with one keyword added or overwritten, anywhere in it: most that a value meets stands as it was."""

    def added(place: tuple[Json, ...], keyword: str, value: Json) -> Json:
        whole = copy.deepcopy(schema)
        found = whole
        for step in place:
            found = found[step]
        found[keyword] = value
        return whole

    places = [place for place, value in _places(schema) if isinstance(value, dict)]
    several = st.lists(schemas(), max_size=3) | st.dictionaries(st.sampled_from(("a", "b")), schemas(), max_size=2)
    values = schemas() | several | hostile_schemas() | json_values(3)
    return st.builds(added, st.sampled_from(places), st.sampled_from(KEYWORDS), values)


@short
def tools() -> st.SearchStrategy[Json]:
    """Draw one entry of a listing: a name, a schema, and often a description, a title or a result schema."""
    optional = {"description": descriptions(), "title": texts(), "outputSchema": objects(schemas())}
    required = {"name": tool_names(), "inputSchema": objects(schemas()) | hostile_schemas()}
    return st.fixed_dictionaries(required, optional=optional)


@short
def wrong_tools() -> st.SearchStrategy[Json]:
    """Draw an entry that is none, or that lacks a member, or has one of another kind."""
    wrong = st.builds(
        lambda tool, key, value: {**tool, key: value},
        tools(),
        st.sampled_from(("name", "inputSchema", "description", "title", "outputSchema", "annotations")),
        json_values(3),
    )
    lacking = st.builds(
        lambda tool, key: {k: v for k, v in tool.items() if k != key}, tools(), st.sampled_from(("name", "inputSchema"))
    )
    return lacking | wrong | json_values(3)


@short
def pages() -> st.SearchStrategy[Json]:
    """Draw the result of `tools/list`: tools, with a cursor or without, sometimes with a wrong one among them."""
    entries = st.lists(tools(), max_size=4) | st.lists(tools() | wrong_tools(), max_size=4)
    return st.fixed_dictionaries({"tools": entries}, optional={"nextCursor": texts() | json_values(2)})


@short
def listings() -> st.SearchStrategy[list[Json]]:
    """Draw the pages of a whole listing: each but the last has a cursor, sometimes the same one or that of the last."""
    cursors = st.sampled_from(("1", "2", "3", ""))
    page = st.lists(tools(), max_size=3).map(lambda entries: {"tools": entries})
    more = st.builds(lambda each, cursor: {**each, "nextCursor": cursor}, page, cursors)
    return st.builds(lambda first, last: [*first, last], st.lists(more, max_size=4), page | more)


def recorded_listings() -> list[Path]:
    """Return the recorded listings beside the project; none where there are none."""
    return sorted(_RECORDED.glob("*.json"))


def mutated_listings() -> st.SearchStrategy[Json]:
    """Draw the `result` of one recorded server with one thing broken: a value replaced, a member dropped or doubled.

    Without recordings beside the project nothing can be drawn; ask `recorded_listings` first.
    """
    return st.sampled_from(recorded_listings()).flatmap(_broken)


# A listing is cut to this many tools, because one is broken, and the others only take time.
_KEPT_TOOLS = 5


def _broken(path: Path) -> st.SearchStrategy[Json]:
    recorded = json.loads(path.read_text(encoding="utf-8"))["tools"]
    start = st.integers(0, max(0, len(recorded) - _KEPT_TOOLS))
    return start.flatmap(lambda at: break_one_thing({"tools": recorded[at : at + _KEPT_TOOLS]}))


def break_one_thing(value: Json) -> st.SearchStrategy[Json]:
    """Draw `value` with one thing in it replaced, dropped, doubled, or put under another key."""

    def broken(place: tuple[Json, ...], how: str, instead: Json, key: str) -> Json:
        whole = copy.deepcopy(value)
        *above, last = place
        parent = whole
        for step in above:
            parent = parent[step]
        if how == "replace":
            parent[last] = instead
        elif isinstance(parent, list):
            parent[last : last + 1] = [] if how == "drop" else [parent[last], copy.deepcopy(parent[last])]
        else:
            moved = parent.pop(last)
            if how == "double":
                parent[key] = moved
        return whole

    places = [place for place, _ in _places(value) if place]
    how = st.sampled_from(("replace", "drop", "double"))
    return st.builds(broken, st.sampled_from(places), how, json_values(5) | hostile_schemas(), texts())


def _places(value: Json) -> list[tuple[tuple[Json, ...], Json]]:
    """Return the paths to `value` and to all that is in it, each with what is there."""
    found: list[tuple[tuple[Json, ...], Json]] = []
    waiting: list[tuple[tuple[Json, ...], Json]] = [((), value)]
    while waiting:
        place, current = waiting.pop()
        found.append((place, current))
        steps = (
            current.items() if isinstance(current, dict) else enumerate(current) if isinstance(current, list) else ()
        )
        waiting += [((*place, step), inner) for step, inner in steps]
    return found


@short
def ids() -> st.SearchStrategy[Json]:
    """Draw an id: those that a client has in flight first, then others, then what is none."""
    return st.integers(1, 4) | st.integers() | texts() | st.sampled_from((None, True, 1.0, [1], {}, 2**70))


@short
def envelopes() -> st.SearchStrategy[Json]:
    """Draw a message that is right: an answer, an error, a request, or a notification."""
    head = {"jsonrpc": st.just("2.0")}
    number = st.integers(1, 4) | st.integers() | texts()
    method = st.sampled_from(("ping", "sampling/createMessage", "roots/list", "notifications/message")) | texts()
    error = st.fixed_dictionaries({"code": st.integers(), "message": texts()}, optional={"data": json_values(5)})
    params = {"params": json_values(5)}
    return (
        st.fixed_dictionaries({**head, "id": number, "result": json_values(8) | pages()})
        | st.fixed_dictionaries({**head, "id": number, "error": error})
        | st.fixed_dictionaries({**head, "id": number, "method": method}, optional=params)
        | st.fixed_dictionaries({**head, "method": method}, optional=params)
    )


@short
def wrong_envelopes() -> st.SearchStrategy[Json]:
    """Draw a message that is slightly wrong: one member of another kind, missing, or of another kind of message."""
    members: dict[str, st.SearchStrategy[Json]] = {
        "jsonrpc": st.sampled_from(("1.0", 2.0, None)),
        "id": ids(),
        "result": json_values(3),
        "error": json_values(3),
        "method": json_values(2),
        "params": json_values(3),
    }
    name = st.sampled_from(list(members))
    other = name.flatmap(
        lambda key: st.builds(lambda message, value: {**message, key: value}, envelopes(), members[key])
    )
    lacking = st.builds(lambda message, key: {k: v for k, v in message.items() if k != key}, envelopes(), name)
    return lacking | other | json_values(4)


@short
def lines() -> st.SearchStrategy[bytes]:
    """Draw a line without its end: a message, right or slightly wrong, in JSON that is right or slightly wrong."""
    written = (envelopes() | wrong_envelopes()).map(lambda message: json.dumps(message).encode())
    batches = st.lists(envelopes() | wrong_envelopes(), max_size=3).map(lambda batch: json.dumps(batch).encode())
    right = st.just(b'{"jsonrpc":"2.0","method":"ping"}')
    return right | written | damaged(written) | batches | json_texts()


@short
def streams() -> st.SearchStrategy[bytes]:
    """Draw what a server writes: lines with LF, CR LF, or no end, and banners, blanks, marks and noise between them."""
    noise = st.sampled_from(
        (b"", b"\n", b" \r\n", b"Listening...\n", b"\xef\xbb\xbf", b"\x00", b"\xff\xfe\n", b"\x1b[2J\n")
    )
    piece = st.builds(
        lambda line, end, noise: line + end + noise, lines(), st.sampled_from((b"\n", b"\r\n", b"\r", b"")), noise
    )
    return st.builds(lambda mark, pieces: mark + b"".join(pieces), noise, st.lists(piece, max_size=6))


def chunkings(data: bytes) -> st.SearchStrategy[list[bytes]]:
    """Draw a way to cut `data`: whole, at any few places, at every byte; empty pieces are among them."""
    places = st.lists(st.integers(0, len(data)), max_size=8).map(sorted)
    some = places.map(lambda at: [data[start:end] for start, end in zip([0, *at], [*at, len(data)], strict=True)])
    return st.just([data]) | some | st.just([data[at : at + 1] for at in range(len(data))])
