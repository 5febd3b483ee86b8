# SPDX-License-Identifier: Apache-2.0
"""The wire format of protocol buffers, without descriptors: numbers are written where the message is made."""


def _varint(number):
    number &= (1 << 64) - 1  # negative numbers take ten bytes
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


class Fixed64(int):
    """A number of eight bytes on the wire: times."""


def _field(number, value):
    if isinstance(value, Fixed64):
        return _varint(number << 3 | 1) + value.to_bytes(8, "little")
    if isinstance(value, int):  # bool is one, too
        return _varint(number << 3) + _varint(int(value))
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def encode(message):
    """{number: value}: int, bool, str, bytes, a message as dict of numbers, a list (repeated), or a dict of
    strings (map<string, string>)."""
    out = b""
    for number, value in message.items():
        if isinstance(value, dict) and any(isinstance(key, str) for key in value):
            value = [{1: k, 2: v} for k, v in value.items()]
        for one in value if isinstance(value, list) else [value]:
            if one is not None:
                out += _field(number, encode(one) if isinstance(one, dict) else one)
    return out


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    """(number, int or bytes) of each field of a message: bytes where a string or a message stands. A double is the
    Fixed64 of its bits."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key & 7 == 0:
            value, at = read_varint(data, at)
        elif key & 7 == 1:
            value, at = Fixed64(int.from_bytes(data[at:at + 8], "little")), at + 8
        elif key & 7 == 2:
            length, at = read_varint(data, at)
            value, at = data[at:at + length], at + length
            if len(value) != length:
                raise ValueError("cut short")
        else:
            raise ValueError(f"wire type {key & 7} is not used here")
        yield key >> 3, value


def decode(data):
    """{number: [values]}."""
    found = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


def text_map(entries):
    """A decoded map<string, string>."""
    pairs = (decode(entry) for entry in entries)
    return {p[1][0].decode(): p.get(2, [b""])[0].decode() for p in pairs}
