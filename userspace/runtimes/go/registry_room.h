// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "base/clock.h"

namespace oomw {

// A place that a process takes in a registry.
struct RegistryPlace {
  std::string_view home;  // whose it is
  MonotonicTime registered;
  std::optional<MonotonicTime> gone;  // its process has exited since
};

struct RegistryRoom {
  enum class Kind { kFree, kMade, kNone };
  Kind kind = Kind::kFree;
  std::size_t made = 0;     // kMade: the place to be taken
  std::string_view over{};  // who was over its share: lost a living process, or gets no place; "": nobody
};

// One home has at most a quarter of `most` places, or 64. Those whose process is gone make room first, the oldest of
// them. If the living have all places, the home with the most gives up its newest for one with fewer. Pure.
[[nodiscard]] RegistryRoom room_for(std::string_view home, std::span<const RegistryPlace> places, std::size_t most);

}  // namespace oomw
