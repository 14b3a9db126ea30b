from __future__ import annotations

import pytest

from sansio_mcp import Anomaly, Exited, Fault, NoResource, ScheduleTimer, Write

SAID = [
    ("nothing was started", NoResource(), "nothing was ever started"),
    ("an exit in order", Exited(0, forced=False), "exited with status 0"),
    ("a failing exit", Exited(3, forced=False), "exited with status 3"),
    ("a signal", Exited(-15, forced=False), "exited with signal 15"),
    ("a kill", Exited(-9, forced=True), "exited with signal 9 after it was killed"),
    ("a kill that came too late", Exited(0, forced=True), "exited with status 0 after it was killed"),
    ("an empty group", Exited(0, forced=False, group_empty=True), "exited with status 0, nothing left behind"),
    (
        "a group that is not empty",
        Exited(-9, forced=True, group_empty=False),
        "exited with signal 9 after it was killed, other processes of its group remain",
    ),
    ("an anomaly", Anomaly(Fault.CUT_OFF, "'{\"id'"), "a last line cut off by the end of stdout: '{\"id'"),
]


@pytest.mark.parametrize(("news", "said"), [pytest.param(news, said, id=name) for name, news, said in SAID])
def test_news_can_be_shown_to_a_person(news: object, said: str) -> None:
    assert str(news) == said


def test_an_output_is_a_value() -> None:
    assert Write(b"a") == Write(b"a")
    assert len({Write(b"a"), Write(b"a"), Write(b"b")}) == 2
    with pytest.raises(AttributeError):
        ScheduleTimer(1.0).at = None  # type: ignore[misc]  # the point is to do what the types forbid


def test_type_checkers_keep_a_frequent_output_from_being_changed() -> None:
    Write(b"a").data = b"b"  # type: ignore[misc]  # mypy would call an ignore that silences nothing an error
