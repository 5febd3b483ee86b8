// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "events/ids.h"

namespace oomw {

// What grows most in a process that is suspected of a leak.
struct GrowingContents {
  std::string name;  // "list of dict, held as `LOG`", printable; "" = its names are not at hand, as those of a Go heap
  std::uint64_t first_bytes = 0, last_bytes = 0;
  double seconds = 0;  // between the readings that found them
  // "list of dict, held as `LOG`: 41 MiB to 118 MiB in 310 s"; "" without a name.
  [[nodiscard]] std::string text() const;
};

// The judgement of a living process whose memory was read often enough for one.
struct LeakSuspicion {
  bool is_suspected = false;
  GrowingContents growing;
};
using LeakSuspicions = std::map<ProcessKey, LeakSuspicion>;

}  // namespace oomw
