# SPDX-License-Identifier: Apache-2.0
"""Heap profiles and executables that nobody would write by accident. What is small here is large for who reads it."""
import os
import struct
import zlib

from harness import protobuf

MIB = 1 << 20
TYPES = ("alloc_objects", "count", "alloc_space", "bytes", "inuse_objects", "inuse_space")
# Past the names of the types: "f" is a function, "k" a label.
STRINGS = ("", *TYPES, "f", "k")
_F, _K = STRINGS.index("f"), STRINGS.index("k")
_SAMPLE_TYPES = ((1, 2), (3, 4), (5, 2), (6, 4))


def head():
    """A sound heap profile of one stack, to which samples may be appended."""
    return protobuf.encode({
        1: [{1: kind, 2: unit} for kind, unit in _SAMPLE_TYPES],
        4: [{1: 1, 4: {1: 1, 2: 7}}],
        5: [{1: 1, 2: _F, 4: _F}],
        6: list(STRINGS),
        12: 524288,
        2: [{1: b"\x01", 2: b"\x01\x01\x01\x01"}],
    })


# What stands in the samples: each entry has an item count that readers bound and a size in memory that they should.
_SAMPLE = protobuf.encode({2: {1: b"\x01", 2: b"\x01\x01\x01\x01"}})
_LABEL = protobuf.encode({3: {1: _K, 2: _K}})


def with_samples(samples, labels=0, size=0):
    """A valid profile of so many samples, the last with so many labels, filled up to `size` with one long string."""
    body = head() + _SAMPLE * samples
    body += protobuf.encode({2: protobuf.encode({1: b"\x01", 2: b"\x01\x01\x01\x01"}) + _LABEL * labels})
    missing = size - len(body) - 8
    return body + protobuf.encode({6: b"p" * missing}) if missing > 0 else body


def gzipped(profile, members=1):
    """Of several members, as gzip allows: each is a stream of its own."""
    step = -(-len(profile) // members)
    out = b""
    for at in range(0, len(profile), step):
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        out += packer.compress(profile[at:at + step]) + packer.flush()
    return out


def padded(profile, size):
    """With a comment's string of random bytes, so that each body of a flood takes `size` on the disk."""
    text = os.urandom(max(1, size - len(profile))).hex()[:max(1, size - len(profile))]
    return gzipped(profile + protobuf.encode({6: text}))


def overlapping_elf(size=2 * MIB, segments=250):
    """An executable without sections whose segments all show the same bytes, each at an address of its own. Every
    8 bytes of it begin like a function table. When run, it waits."""
    base, step = 0x10000000, 1 << 24
    code = bytes.fromhex("b822000000" "0f05" "ebf7")  # mov eax, 34 (pause); syscall; again
    table = struct.pack("<II", 0xFFFFFFF1, 0x08010000)
    code_at = 64 + 56 * segments
    data = bytearray(table * (size // 8))
    data[code_at:code_at + len(code)] = code
    entry = base + code_at
    data[0:64] = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 2, 62, 1, entry, 64, 0, 0, 64, 56, segments, 64, 0, 0)
    for number in range(segments):
        data[64 + 56 * number:120 + 56 * number] = struct.pack(
            "<IIQQQQQQ", 1, 5, 0, base + number * step, 0, size, size, 4096)
    return bytes(data)
