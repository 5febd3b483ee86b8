# SPDX-License-Identifier: Apache-2.0
"""RFC 3339 in UTC with nanoseconds, the only form of time in incident.json."""
import datetime
import re

_FORM = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d{9})Z")


def is_time(text):
    return _FORM.fullmatch(text) is not None


def unix(text):
    """Seconds since 1970."""
    match = _FORM.fullmatch(text)
    assert match, f"not RFC 3339 UTC with nanoseconds: {text!r}"
    whole = datetime.datetime.fromisoformat(match[1]).replace(tzinfo=datetime.timezone.utc)
    return whole.timestamp() + int(match[2]) / 1e9
