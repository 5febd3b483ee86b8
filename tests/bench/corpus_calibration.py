# SPDX-License-Identifier: Apache-2.0
"""Whether verdicts are as often right as they say: of those said with 90 %, 90 % are right."""
from bench_support import table

SURE = 0.9
STEPS = (0.0, 0.5, 0.6, 0.7, 0.8, SURE)


def rows_of(said):
    """said: [(confidence, whether it was right)]. [(from, to, how many, mean confidence, share right)] of steps with any."""
    rows = []
    for low, high in zip(STEPS, (*STEPS[1:], 1.01)):
        of_step = [(confidence, is_right) for confidence, is_right in said if low <= confidence < high]
        if of_step:
            rows.append((low, min(high, 1.0), len(of_step), sum(c for c, _ in of_step) / len(of_step),
                         sum(is_right for _, is_right in of_step) / len(of_step)))
    return rows


def judge(outcomes, bars):
    """Killed runs with a verdict."""
    said = [(o.confidence, o.is_right) for o in outcomes if o.confidence is not None and not o.run.is_healthy]
    if not said:
        return
    print("Confidence, said and right:\n")
    table(("confidence", "runs", "said", "right"),
          [(f"{low:.1f} to {high:.1f}", count, f"{100 * mean:.0f} %", f"{100 * right:.0f} %")
           for low, high, count, mean, right in rows_of(said)])
    sure = [is_right for confidence, is_right in said if confidence >= SURE]
    if sure:
        bars.require(f"of those said with {100 * SURE:.0f} % or more, {100 * SURE:.0f} % are right",
                     sum(sure) >= SURE * len(sure))
