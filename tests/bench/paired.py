# SPDX-License-Identifier: Apache-2.0
"""Paired figures of a machine whose speed drifts.

A chain off, on, off, on, ... off: each "on" is held against the mean of the two "off" around it, which
takes out drift. The same is done with each "off" and the two "off" around it, where nothing differs:
what that finds is noise, from twice the distance, so rather more than there is in the figures.
"""
import statistics


def interval(values):
    """Bounds of the median that hold with 95 %, by rank: assumes nothing of how values spread."""
    ordered = sorted(values)
    reach = 0.98 * len(ordered) ** 0.5
    low = max(0, int(len(ordered) / 2 - reach))
    high = min(len(ordered) - 1, int(len(ordered) / 2 + reach))
    return ordered[low], ordered[high]


def ratios(middle, before, after):
    return [m / ((b + a) / 2) for m, b, a in zip(middle, before, after)]


class Chain:
    """One load's figures, off and on in turn."""

    def __init__(self):
        self.off, self.on = [], []

    def pairs(self):
        return len(self.on)

    def effect(self):
        """Median of on / off; 1.0 = no difference."""
        return statistics.median(self._effects())

    def effect_interval(self):
        return interval(self._effects())

    def floor(self):
        """How far from 1 the empty pairs leave their median, with 95 %. None before three of them."""
        empty = ratios(self.off[1:-1], self.off, self.off[2:])
        if len(empty) < 3:
            return None
        low, high = interval(empty)
        return max(abs(statistics.median(empty) - 1), (high - low) / 2)

    def _effects(self):
        return ratios(self.on, self.off, self.off[1:])
