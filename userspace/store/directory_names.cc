// SPDX-License-Identifier: Apache-2.0
#include "store/directory_names.h"

#include <fmt/format.h>

#include "base/text.h"

namespace oomw {

namespace {

constexpr std::size_t kTimeLength = 16;  // 20261121T030405Z
constexpr std::size_t kShortIdLength = 8;
constexpr std::size_t kLeastLength = kTimeLength + 1 + kShortIdLength;
constexpr std::string_view kTemporaryPrefix = ".tmp-";

}  // namespace

std::optional<WallTime> time_of_directory(std::string_view name) {
  if (name.size() < kTimeLength) return std::nullopt;
  const auto part = [&](std::size_t at, std::size_t length) { return name.substr(at, length); };
  if (name[8] != 'T' || name[15] != 'Z') return std::nullopt;
  return parse_rfc3339(
      fmt::format("{}-{}-{}T{}:{}:{}Z", part(0, 4), part(4, 2), part(6, 2), part(9, 2), part(11, 2), part(13, 2)));
}

bool is_incident_directory(std::string_view name) {
  if (name.size() < kLeastLength || !time_of_directory(name)) return false;
  const std::string_view short_id = name.substr(name.size() - kShortIdLength);
  return name[kTimeLength] == '-' && name[name.size() - kShortIdLength - 1] == '-' && is_lower_hex(short_id);
}

std::string id_of_directory(std::string_view name) {
  if (name.size() < kLeastLength) return "";
  return fmt::format("{}-{}", name.substr(0, kTimeLength), name.substr(name.size() - kShortIdLength));
}

std::string temporary_name(const std::string& id, int pid) {
  return fmt::format("{}{}-{}", kTemporaryPrefix, to_file_component(id), pid);
}

std::optional<int> pid_of_temporary(std::string_view name) {
  if (!name.starts_with(kTemporaryPrefix)) return std::nullopt;
  const auto pid = parse_u64(name.substr(name.rfind('-') + 1));
  if (!pid || *pid > INT32_MAX) return std::nullopt;
  return static_cast<int>(*pid);
}

}  // namespace oomw
