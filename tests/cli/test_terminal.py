"""What is shown while something is waited for."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from sansio_mcp_drivers.cli.terminal import WORTH_A_WORD, Waited, busy


@pytest.mark.parametrize(
    ("after", "shown"),
    [
        pytest.param(0.0, "", id="at once"),
        pytest.param(WORTH_A_WORD - 0.1, "", id="a moment"),
        pytest.param(WORTH_A_WORD, "2 s", id="a while"),
        pytest.param(75.4, "75 s", id="long"),
    ],
)
def test_a_wait_says_how_long_it_has_lasted_once_it_is_a_long_one(after: float, shown: str) -> None:
    now = 5.0
    progress = Progress(console=Console(file=io.StringIO()), get_time=lambda: now, auto_refresh=False)
    progress.add_task("waiting")
    now += after
    assert Waited().render(progress.tasks[0]).plain == shown


def test_nothing_is_shown_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    with busy("waiting") as tell:
        tell("still waiting")
    assert capfd.readouterr() == ("", "")
