// SPDX-License-Identifier: Apache-2.0
#include "report/own_captures.h"

#include <algorithm>
#include <string>
#include <unordered_set>

namespace oomw {

std::uint64_t remove_http_captures(pprof::Profile& profile, std::string_view type) {
  constexpr std::string_view kHandlers = "net/http/pprof.";
  std::unordered_set<std::uint64_t> functions, locations;
  for (const pprof::Function& function : profile.functions) {
    if (function.name.starts_with(kHandlers)) functions.insert(function.id);
  }
  if (functions.empty()) return 0;
  for (const pprof::Location& location : profile.locations) {
    const bool is_handlers = std::ranges::any_of(
        location.lines, [&](const pprof::Line& line) { return functions.contains(line.function_id); });
    if (is_handlers) locations.insert(location.id);
  }
  const int index = profile.type_index(std::string(type));
  std::uint64_t bytes = 0;
  std::erase_if(profile.samples, [&](const pprof::Sample& sample) {
    const bool is_handlers =
        std::ranges::any_of(sample.location_ids, [&](std::uint64_t id) { return locations.contains(id); });
    if (!is_handlers || index < 0 || static_cast<std::size_t>(index) >= sample.values.size()) return is_handlers;
    bytes += static_cast<std::uint64_t>(std::max<std::int64_t>(sample.values[static_cast<std::size_t>(index)], 0));
    return true;
  });
  return bytes;
}

}  // namespace oomw
