from __future__ import annotations

import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sansio_mcp import jsonrpc, jsontext
from sansio_mcp.options import MAX_LINE_BYTES
from sansio_mcp.stdio import HEAD_BYTES, LineReader, LineTooLong

fast = settings(max_examples=200, deadline=None)

BOM = b"\xef\xbb\xbf"
Lines = list[bytes | LineTooLong]


def too_long(limit: int, head: bytes) -> LineTooLong:
    return LineTooLong(limit, head)


# id, limit, bytes, the lines they complete, what is left at the end of the stream
STREAMS: list[tuple[str, int, bytes, Lines, Lines]] = [
    ("nothing", 16, b"", [], []),
    ("one line", 16, b"{}\n", [b"{}"], []),
    ("several lines in order", 16, b"1\n2\n3\n", [b"1", b"2", b"3"], []),
    ("no newline yet", 16, b"{}", [], [b"{}"]),
    ("a line and the beginning of the next", 16, b'{}\n{"a', [b"{}"], [b'{"a']),
    # Ends of lines.
    ("CRLF", 16, b"1\r\n2\r\n", [b"1", b"2"], []),
    ("an object with CRLF", 16, b"{}\r\n", [b"{}"], []),
    ("an object of the longest length", 4, b"{  }\n", [b"{  }"], []),
    ("an object that is too long", 3, b"{  }\n", [too_long(3, b"{  ")], []),
    ("one CR of two is content", 16, b"1\r\r\n", [b"1\r"], []),
    ("an inner CR is content", 16, b"1\r2\n", [b"1\r2"], []),
    ("a CR at the beginning is content", 16, b"\r1\n", [b"\r1"], []),
    ("CR alone ends no line", 16, b"1\r2\r3", [], [b"1\r2\r3"]),
    ("a CR before the end of the stream", 16, b"1\r", [], [b"1"]),
    ("other line ends are content", 32, b"1\x0b2\x0c3\x852\xe2\x80\xa83\n", [b"1\x0b2\x0c3\x852\xe2\x80\xa83"], []),
    # Blank lines. The reference hands them on, and its JSON layer then ends the connection.
    ("empty lines are skipped, not as in the reference", 16, b"\n\n1\n\n2\n\n", [b"1", b"2"], []),
    ("lines of CR only are skipped, not as in the reference", 16, b"\r\n\r\r\n1\n", [b"1"], []),
    ("lines of spaces and tabs are skipped, not as in the reference", 16, b" \n\t\n \t \r\n1\n", [b"1"], []),
    ("a blank rest is skipped", 16, b"1\n \t\r", [b"1"], []),
    ("white space around a message stays", 16, b" \t1 \n", [b" \t1 "], []),
    ("a form feed is no blank", 16, b"\x0c\n", [b"\x0c"], []),
    ("NUL is no blank", 16, b"\x00\n", [b"\x00"], []),
    ("a line of letters is no blank", 16, b"X\nXX\n", [b"X", b"XX"], []),
    # Byte order marks. The reference has no rule and refuses them as JSON.
    ("a mark before the first byte is skipped", 16, BOM + b"{}\n", [b"{}"], []),
    ("a mark alone", 16, BOM, [], []),
    ("a mark on a line of its own", 16, BOM + b"\n{}\n", [b"{}"], []),
    ("a second mark is content", 16, BOM + BOM + b"1\n", [BOM + b"1"], []),
    ("a mark after the first byte is content", 16, b"1" + BOM + b"\n", [b"1" + BOM], []),
    ("a mark on the second line is content", 16, b"1\n" + BOM + b"2\n", [b"1", BOM + b"2"], []),
    ("a mark after a blank line is content", 16, b"\n" + BOM + b"2\n", [BOM + b"2"], []),
    ("two bytes of a mark and the end of the line", 16, BOM[:2] + b"\n", [BOM[:2]], []),
    ("two bytes of a mark and other bytes", 16, BOM[:2] + b"1\n", [BOM[:2] + b"1"], []),
    ("one byte of a mark and the end of the stream", 16, BOM[:1], [], [BOM[:1]]),
    ("two bytes of a mark and the end of the stream", 16, BOM[:2], [], [BOM[:2]]),
    ("a mark does not count for the limit", 4, BOM + b"1234\n", [b"1234"], []),
    # UTF-8 is judged line by line and not here; the reference ends at the first bad chunk.
    ("bytes that are not UTF-8 leave their neighbours alone", 16, b"1\n\xff\xfe\n2\n", [b"1", b"\xff\xfe", b"2"], []),
    ("a character is not cut", 16, "é😀\n".encode(), ["é😀".encode()], []),
    # The limit counts bytes, a CR among them and the LF not.
    ("at the limit", 4, b"1234\n", [b"1234"], []),
    ("at the limit without its newline", 4, b"1234", [], [b"1234"]),
    ("at the limit with its CR", 4, b"123\r\n", [b"123"], []),
    ("one past the limit", 4, b"12345\n", [too_long(4, b"1234")], []),
    ("one past the limit without its newline", 4, b"12345", [too_long(4, b"1234")], []),
    ("one past the limit by its CR", 4, b"1234\r\n", [too_long(4, b"1234")], []),
    ("one past the limit in blanks", 4, b"     \n", [too_long(4, b"    ")], []),
    ("bytes count and not code points", 4, "ééé\n".encode(), [too_long(4, "éé".encode())], []),
    ("far past the limit is told once", 4, b"1" * 1000 + b"\n", [too_long(4, b"1111")], []),
    ("the smallest limit", 1, b"1\n22\n3\n", [b"1", too_long(1, b"2"), b"3"], []),
    ("two bytes of a mark past the limit", 1, BOM[:2], [], [too_long(1, BOM[:1])]),
    ("two bytes of a mark past the limit, and a newline", 1, BOM[:2] + b"\n", [too_long(1, BOM[:1])], []),
    # The reference drops the good lines of a chunk with a bad one.
    ("lines before and after one too long", 4, b"1\n12345\n2\n", [b"1", too_long(4, b"1234"), b"2"], []),
    ("two lines too long", 4, b"12345\n1\n54321\n", [too_long(4, b"1234"), b"1", too_long(4, b"5432")], []),
    ("a good rest after a line too long", 4, b"12345\n67", [too_long(4, b"1234")], [b"67"]),
    ("an empty line after one too long", 4, b"12345\n\n1\n", [too_long(4, b"1234"), b"1"], []),
    # The head of a line too long.
    ("the head is as long as a limit below it", 255, b"h" * 256 + b"\n", [too_long(255, b"h" * 255)], []),
    ("the head is as long as a limit equal to it", 256, b"h" * 257 + b"\n", [too_long(256, b"h" * 256)], []),
    ("the head is shorter than a limit above it", 257, b"h" * 258 + b"\n", [too_long(257, b"h" * 256)], []),
    # Pieces of 512 bytes and more are kept apart.
    ("a line of small and great pieces", 4096, b"s" * 511 + b"\n" + b"g" * 512 + b"\n", [b"s" * 511, b"g" * 512], []),
]
streams = pytest.mark.parametrize(
    ("limit", "stream", "lines", "rest"),
    [pytest.param(limit, stream, lines, rest, id=name) for name, limit, stream, lines, rest in STREAMS],
)


@streams
def test_a_whole_stream_is_cut_into_its_lines(limit: int, stream: bytes, lines: Lines, rest: Lines) -> None:
    reader = LineReader(limit)
    assert (reader.feed(stream), reader.finish()) == (lines, rest)


@streams
def test_a_stream_byte_by_byte_is_cut_into_the_same_lines(limit: int, stream: bytes, lines: Lines, rest: Lines) -> None:
    reader = LineReader(limit)
    found = [line for byte in stream for line in reader.feed(bytes([byte]))]
    assert (found, reader.finish()) == (lines, rest)


@streams
def test_bytes_that_follow_change_no_line_before_them(limit: int, stream: bytes, lines: Lines, rest: Lines) -> None:
    reader = LineReader(limit)
    ended = stream if stream.endswith(b"\n") else stream + b"\n"
    assert (reader.feed(ended + b"7"), reader.finish()) == (lines + rest, [b"7"])


@streams
def test_empty_chunks_change_nothing(limit: int, stream: bytes, lines: Lines, rest: Lines) -> None:
    reader = LineReader(limit)
    assert reader.feed(b"") == []
    found = [line for byte in stream for chunk in (bytes([byte]), b"") for line in reader.feed(chunk)]
    assert (found, reader.finish()) == (lines, rest)


# id, limit, then each push with the lines it gives
PUSHES: list[tuple[str, int, list[tuple[bytes, Lines]]]] = [
    (
        "a line over three pushes, with something left over",
        16,
        [(b'{"a', []), (b'":1', []), (b"}\n[", [b'{"a":1}']), (b"]\n", [b"[]"])],
    ),
    ("three pieces keep their order", 16, [(b"1", []), (b"2", []), (b"3\n", [b"123"])]),
    ("a newline by itself", 16, [(b"1", []), (b"\n", [b"1"]), (b"\n", [])]),
    ("a CR and its LF apart", 16, [(b"1\r", []), (b"\n", [b"1"])]),
    ("a CR that turns out to be content", 16, [(b"1\r", []), (b"2\n", [b"1\r2"])]),
    ("a mark in three pushes", 16, [(BOM[:1], []), (BOM[1:2], []), (BOM[2:] + b"1\n", [b"1"])]),
    ("a mark that does not come", 16, [(BOM[:1], []), (b"1\n", [BOM[:1] + b"1"])]),
    ("a mark after the first push is content", 16, [(b"1", []), (BOM + b"\n", [b"1" + BOM])]),
    ("too long is told with the first byte past the limit", 4, [(b"1234", []), (b"5", [too_long(4, b"1234")])]),
    (
        "the rest of a line too long is skipped, its newline with it",
        4,
        [(b"12345", [too_long(4, b"1234")]), (b"6" * 100, []), (b"789\n1\n", [b"1"])],
    ),
    (
        "a newline by itself ends a line too long",
        4,
        [(b"12345", [too_long(4, b"1234")]), (b"\n", []), (b"1\n", [b"1"])],
    ),
    (
        "small and great pieces of one line in order",
        8192,
        [
            (b"a" * 511, []),
            (b"b" * 511, []),
            (b"c", []),
            (b"d" * 512, []),
            (b"e", []),
            (b"f\n", [b"a" * 511 + b"b" * 511 + b"c" + b"d" * 512 + b"ef"]),
        ],
    ),
    (
        "the head of many small pieces",
        600,
        [(bytes([65 + n]), []) for n in range(26)] + [(b"." * 575, [too_long(600, bytes(range(65, 91)) + b"." * 230)])],
    ),
]


@pytest.mark.parametrize(("limit", "pushes"), [pytest.param(limit, pushes, id=name) for name, limit, pushes in PUSHES])
def test_a_push_gives_the_lines_it_completes(limit: int, pushes: list[tuple[bytes, Lines]]) -> None:
    reader = LineReader(limit)
    assert [(push, reader.feed(push)) for push, _ in pushes] == pushes


@pytest.mark.parametrize("stream", [pytest.param(b"1", id="a line"), pytest.param(BOM[:2], id="two bytes of a mark")])
def test_the_rest_is_given_once(stream: bytes) -> None:
    reader = LineReader(16)
    reader.feed(stream)
    assert [reader.finish(), reader.finish()] == [[stream], []]


class TestTheDefaultLimit:
    def test_a_line_at_it_is_read(self) -> None:
        reader = LineReader(MAX_LINE_BYTES)
        assert reader.feed(b"x" * MAX_LINE_BYTES) == []
        (line,) = reader.feed(b"\n")
        assert line == b"x" * MAX_LINE_BYTES

    def test_a_whole_line_one_byte_past_it_is_too_long(self) -> None:
        reader = LineReader(MAX_LINE_BYTES)
        assert reader.feed(b"x" * (MAX_LINE_BYTES + 1) + b"\n1\n") == [
            too_long(MAX_LINE_BYTES, b"x" * HEAD_BYTES),
            b"1",
        ]

    def test_a_line_grown_past_it_in_two_pushes_is_too_long_before_its_newline(self) -> None:
        reader = LineReader(MAX_LINE_BYTES)
        half = b"x" * (MAX_LINE_BYTES // 2 + 1)
        assert reader.feed(half) == []
        assert reader.feed(half) == [too_long(MAX_LINE_BYTES, b"x" * HEAD_BYTES)]


@pytest.mark.parametrize("pieces", [15, 16, 17, 40])
def test_a_line_of_many_large_pieces_comes_out_whole(pieces: int) -> None:
    line = b"".join(b"%04d" % piece * 256 for piece in range(pieces))
    reader = LineReader(MAX_LINE_BYTES)
    for at in range(0, len(line), 1024):
        assert reader.feed(line[at : at + 1024]) == []
    assert reader.feed(b"\n1\n") == [line, b"1"]


def test_a_line_too_long_says_so() -> None:
    assert str(too_long(16, b"head")) == "a line of more than 16 bytes"


def test_the_bound_of_a_head_is_the_documented_one() -> None:
    assert HEAD_BYTES == 256


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("plain", id="plain text"),
        pytest.param("a\nb\r\nc", id="line ends"),
        pytest.param("\u2028\u2029\x85\x0b", id="other line ends"),
        pytest.param("\ufeffé😀", id="a byte order mark and text beyond ASCII"),
    ],
)
def test_a_frame_is_one_line_that_reads_back(text: str) -> None:
    frame = jsonrpc.request(1, "tools/call", jsontext.dumps({"text": text}))
    assert (frame.count(b"\n"), frame[-1:]) == (1, b"\n")
    (line,) = LineReader(1024).feed(frame)
    assert isinstance(line, bytes)
    assert json.loads(line) == {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"text": text}}


def lines_of(stream: bytes, limit: int) -> Lines:
    """Say what the lines of a whole stream are, in the plainest way."""
    lines: Lines = []
    for piece in stream.removeprefix(BOM).split(b"\n"):
        if len(piece) > limit:
            lines.append(too_long(limit, piece[: min(limit, HEAD_BYTES)]))
        elif piece.strip(b" \t\r"):
            lines.append(piece.removesuffix(b"\r"))
    return lines


chunks = st.lists(
    st.binary(max_size=6)
    | st.sampled_from([b"\n", b"\r", b"\r\n", b" ", BOM, BOM[:1], BOM[1:], b"", b"{}\n", b"12\n34", b"\n\n"])
    | st.builds(
        lambda size, end: b"x" * size + end, st.sampled_from([255, 256, 511, 512, 513]), st.sampled_from([b"", b"\n"])
    ),
    max_size=24,
)


@fast
@given(chunks, st.integers(1, 12) | st.sampled_from([255, 256, 257, 512, 1000]))
@example([BOM[:2], b"", BOM[2:], BOM, b"\n"], 3)
@example([b"x" * 512, b"x", b"x", b"x" * 512], 1000)
def test_any_bytes_in_any_chunks_give_the_lines_of_the_stream(chunks: list[bytes], limit: int) -> None:
    reader = LineReader(limit)
    found = [line for chunk in chunks for line in reader.feed(chunk)] + reader.finish()
    assert found == lines_of(b"".join(chunks), limit)
    assert {type(line) for line in found} <= {bytes, LineTooLong}
