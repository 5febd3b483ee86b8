# SPDX-License-Identifier: Apache-2.0
"""When did an incident's directory appear? inotify, in a thread, by the wall clock."""
import ctypes
import os
import struct
import threading
import time

_MOVED_TO = 0x80
_libc = ctypes.CDLL(None, use_errno=True)


class IncidentWatch:
    """Collects {directory name: time.time() of its rename into place}."""

    def __init__(self, directory):
        os.makedirs(directory, exist_ok=True)
        self.seen = {}
        self._fd = _libc.inotify_init1(os.O_CLOEXEC)
        if self._fd < 0 or _libc.inotify_add_watch(self._fd, directory.encode(), _MOVED_TO) < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        threading.Thread(target=self._run, daemon=True).start()

    def on_first(self, name):
        """Of the watch's thread, when a directory is there for the first time."""

    def _run(self):
        while True:
            data = os.read(self._fd, 65536)
            now = time.time()
            at = 0
            while at < len(data):
                length = struct.unpack_from("iIII", data, at)[3]
                name = data[at + 16:at + 16 + length].rstrip(b"\0").decode(errors="surrogateescape")
                if name not in self.seen:
                    self.seen[name] = now
                    self.on_first(name)
                at += 16 + length
