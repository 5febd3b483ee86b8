# SPDX-License-Identifier: Apache-2.0
"""How containers came to their limits, for a test's message: way_up.py INCIDENT.json..."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "e2e"))

from harness.text_time import unix

LAST_S = 12


def way_up(incident):
    kill = unix(incident["time"])
    series = [f"{kill - unix(point['t']):.1f}: {point['usage_bytes'] >> 10}"
              + (f" ({point['nonreclaimable_bytes'] >> 10})" if point.get("nonreclaimable_bytes") is not None else "")
              for point in incident["series"] if kill - unix(point["t"]) < LAST_S]
    pressure = {name: value for name, value in incident["pressure"].items() if name != "watermarks"}
    levels = [f"{mark['lead_seconds']:.1f}: {mark.get('level_percent')} %" for mark in incident["pressure"]["watermarks"]]
    trend = incident.get("contents_trend") or {}
    read = [f"{kill - unix(point['time']):.1f}" for point in trend.get("points", [])]
    sampled = incident.get("growth", {}).get("as_of")
    return (f"[{incident['victims'][0]['comm']}: seconds before the kill: KiB (not reclaimable): {'; '.join(series)}; "
            f"levels {'; '.join(levels)}; contents read {', '.join(read)}; "
            f"growth until {f'{kill - unix(sampled):.1f}' if sampled else 'unknown'}; {pressure}]")


for path in sys.argv[1:]:
    try:
        with open(path, encoding="utf-8") as file:
            print(way_up(json.load(file)))
    except (OSError, LookupError, ValueError, AssertionError) as e:  # the other ones are worth having
        print(f"[{path}: {type(e).__name__}: {e}]")
