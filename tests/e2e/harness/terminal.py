# SPDX-License-Identifier: Apache-2.0
"""What a terminal gets of a command."""
import fcntl
import os
import pty
import struct
import subprocess
import termios

from . import tools


def on_terminal(*args, columns=100, rows=24, status=0, **environment):
    """All that the command writes to a terminal of that size, with "\\n" between lines. No colours, no pager unless named."""
    ours, terminal = pty.openpty()
    with open(ours, "rb", buffering=0) as screen:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        process = subprocess.Popen([tools.BINARY, *map(str, args)], stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal,
                                   env={**os.environ, "TERM": "xterm", "NO_COLOR": "1", "PAGER": "cat", **environment})
        os.close(terminal)
        written = b""
        try:
            while piece := screen.read(1 << 16):
                written += piece
        except OSError:
            pass  # how a terminal that nobody writes to any more reports its end
    text = written.decode(errors="surrogateescape").replace("\r\n", "\n")
    if (ended := process.wait()) != status:
        raise AssertionError(f"{args}: exit {ended}: {text}")
    return text


def controls_in(text):
    """Control characters, in UTF-8 or as bytes of their own, each with the text around it."""
    found = []
    for at, c in enumerate(text):
        code = ord(c)
        if code < 0x20 and c not in "\n\t" or 0x7F <= code <= 0x9F or 0xDC80 <= code <= 0xDC9F or c == "\u202e":
            found.append((hex(code), text[max(0, at - 20):at + 10]))
    return found
