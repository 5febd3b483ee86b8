// SPDX-License-Identifier: Apache-2.0
// A container's files in the page cache belong to its memory, those of the code that runs, too. When the rest of the
// limit is full, the kernel takes them back and the program reads them again at once (the kernel's "refault"). As long
// as a few of them can be reclaimed, nobody is killed: for a second or for a minute, in which the program hardly runs
// or grows. What its memory does then says nothing of what it did before.
#pragma once

#include <optional>
#include <string>

#include "incident/incident.h"

namespace oomw {

// From when on, in seconds before the kill: the memory that cannot be reclaimed stayed above threshold::kFull of the
// limit, for 3 s or more; more was reclaimed than fits into the limit; and
//   - threads waited for reclaim for a quarter of that time, or
//   - as much was read again, and the container had not been at its limit before.
// All these are counted over the container's life: hours near a limit are no thrashing, but a few seconds after a life
// of much reclaim may be taken for it. nullopt: not so, not known, or too little is known of the time before.
[[nodiscard]] std::optional<double> thrashing_seconds(const Incident& incident);

// The incident as if the kill had come when that began, for judging how the memory came there: its time, and what was
// read over time until then. What was judged of a trend and what was found at one moment stay as they are.
[[nodiscard]] Incident killed_before(Incident incident, double seconds);

[[nodiscard]] std::string thrashing_text(const Incident& incident, double seconds);

}  // namespace oomw
