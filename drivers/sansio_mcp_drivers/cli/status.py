"""The exit statuses, and how a command ends whose output nobody reads.

0 done, 1 the server or its listing failed, 2 the command line or a config file is wrong, 3 the tool ran and reported an
error, 4 `check` found what a strict client minds, 70 a bug of this program, 130 interrupted, 141 nobody read the
output, 143 terminated, and 128 and the number of any other signal that ended it.
"""

from __future__ import annotations

import os
import sys

FAILED, MISUSED, TOOL_FAILED, MINDED, BROKEN, INTERRUPTED, UNREAD = 1, 2, 3, 4, 70, 130, 141


def drop_output() -> None:
    """Send what is still to be flushed nowhere."""
    # The interpreter flushes stdout at its end, and finds somebody there.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
