# SPDX-License-Identifier: Apache-2.0
"""A FUSE file system of one program, which stops answering on request."""
import ctypes
import errno
import os
import select
import struct
import threading

from . import fileio

MS_NOSUID, MS_NODEV, MNT_DETACH = 2, 4, 2
ROOT, FILE = 1, 2
LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR, RELEASEDIR, ACCESS = (
    1, 2, 3, 14, 15, 17, 18, 25, 26, 27, 29, 34)
INTERRUPT, BATCH_FORGET = 36, 42
NO_REPLY = {FORGET, INTERRUPT, BATCH_FORGET}
ENOENT, ENOSYS = 2, 38
FOREVER = 1 << 30  # seconds that names and attributes hold

_libc = ctypes.CDLL(None, use_errno=True)


def mounted(test, directory, program):
    """A HangingFileSystem until the test ends, which it skips where none can be had. It is closed before the daemon ends: the
    kernel lets no process that waits for an answer end, not even by SIGKILL."""
    if not os.path.exists("/dev/fuse"):
        test.skipTest("no /dev/fuse")
    os.makedirs(directory)
    try:
        made = HangingFileSystem(directory, program)
    except OSError as e:
        if e.errno not in (errno.EPERM, errno.ENODEV):
            raise
        test.skipTest(str(e))
    test.addCleanup(made.close)
    return made


class HangingFileSystem(threading.Thread):
    """`program`, mounted below `directory`. After hang() nothing of `opcodes` is answered until close()."""

    def __init__(self, directory, program):
        super().__init__(daemon=True)
        self.directory = directory
        self.path = os.path.join(directory, "program")
        self.bytes = fileio.read_bytes(program)
        self.unanswerable = ()
        self.unanswered = 0
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other".encode()
        if _libc.mount(b"oomwfuse", directory.encode(), b"fuse", MS_NOSUID | MS_NODEV, options) != 0:
            error = ctypes.get_errno()
            os.close(self.fd)
            raise OSError(error, "mounting FUSE: " + os.strerror(error))
        self._end, self._end_of_it = os.pipe()
        self.start()

    def hang(self, opcodes=(OPEN, READ)):
        self.unanswerable = opcodes

    def close(self):
        """Aborts what waits for an answer. Nothing the second time."""
        if self.fd < 0:
            return
        os.write(self._end_of_it, b"x")
        self.join()  # a read() under way would keep the connection open
        _libc.umount2(self.directory.encode(), MNT_DETACH)
        fd, self.fd = self.fd, -1
        for each in (fd, self._end, self._end_of_it):
            os.close(each)

    def run(self):
        fd = self.fd
        while self._end not in select.select([fd, self._end], [], [])[0]:
            try:
                request = os.read(fd, 1 << 18)
            except OSError:
                return
            _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
            if opcode in NO_REPLY:
                continue
            if opcode in self.unanswerable:
                self.unanswered += 1
                continue
            error, body = self.answer(opcode, node, request[40:])
            try:
                os.write(fd, struct.pack("<IiQ", 16 + len(body), -error, unique) + body)
            except OSError:
                pass  # the asker was killed meanwhile

    def answer(self, opcode, node, body):
        if opcode == INIT:
            return 0, struct.pack("<IIIIHHIIHHI7I", 7, 31, 1 << 17, 0, 16, 12, 1 << 17, 1, 0, 0, 0, *[0] * 7)
        if opcode == LOOKUP:
            if body.rstrip(b"\0") != b"program":
                return ENOENT, b""
            return 0, struct.pack("<QQQQII", FILE, 0, FOREVER, FOREVER, 0, 0) + self.attributes(FILE)
        if opcode == GETATTR:
            return 0, struct.pack("<QII", FOREVER, 0, 0) + self.attributes(node)
        if opcode in (OPEN, OPENDIR):
            return 0, struct.pack("<QII", 0, 0, 0)
        if opcode == READ:
            _, offset, size = struct.unpack_from("<QQI", body)
            return 0, self.bytes[offset:offset + size]
        if opcode == STATFS:
            return 0, bytes(80)
        return (0, b"") if opcode in (RELEASE, RELEASEDIR, FLUSH, ACCESS) else (ENOSYS, b"")

    def attributes(self, node):
        mode, size = (0o40755, 4096) if node == ROOT else (0o100755, len(self.bytes))
        return struct.pack("<6Q10I", node, size, size // 512 + 1, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)
