// SPDX-License-Identifier: Apache-2.0
#include "system/go_environment.h"

#include <array>
#include <limits>
#include <optional>
#include <utility>

#include "base/text.h"

namespace oomw {
namespace {

// The value of the first "NAME=value\0"; nullopt: no such entry, or one that was cut off.
std::optional<std::string_view> value_of(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::size_t end = environment.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view entry = environment.substr(0, end);
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return entry.substr(name.size() + 1);
    }
    environment.remove_prefix(end + 1);
  }
  return std::nullopt;
}

std::optional<std::int32_t> gogc_of(std::string_view value) {
  constexpr std::int32_t kOff = -1;
  if (value == "off") return kOff;
  const bool is_negative = value.starts_with('-');
  const auto number = parse_u64(is_negative ? value.substr(1) : value);
  if (!number || *number > std::numeric_limits<std::int32_t>::max()) return std::nullopt;
  return is_negative ? kOff : static_cast<std::int32_t>(*number);
}

std::optional<std::uint64_t> byte_count_of(std::string_view value) {
  constexpr std::array<std::pair<std::string_view, int>, 5> kUnits = {
      {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}, {"TiB", 40}, {"B", 0}}};
  int shift = 0;
  for (const auto& [unit, bits] : kUnits) {
    if (!value.ends_with(unit)) continue;
    value.remove_suffix(unit.size());
    shift = bits;
    break;
  }
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const auto number = parse_u64(value);
  // Go uses the largest count to mean that there is no limit.
  if (!number || *number > kMax >> shift || *number << shift == kMax) return std::nullopt;
  return *number << shift;
}

}  // namespace

GoConfig go_config_of(std::string_view environment) {
  GoConfig config;
  if (const auto value = value_of(environment, "GOGC")) config.gogc_percent = gogc_of(*value);
  if (const auto value = value_of(environment, "GOMEMLIMIT")) config.memory_limit_bytes = byte_count_of(*value);
  return config;
}

}  // namespace oomw
