// SPDX-License-Identifier: Apache-2.0
#include "system/memory_files.h"

#include <array>
#include <utility>

#include "base/text.h"

namespace oomw {
namespace {

// PAGE_COUNTER_MAX in bytes: LONG_MAX rounded down to a page, for 4 KiB pages. Larger pages round
// further down (64 KiB: ...775807 & ~65535), hence the margin of the largest page size.
constexpr std::uint64_t kNoLimit = 9'223'372'036'854'771'712ULL - 65'536;

struct Line {
  std::string_view key;
  std::uint64_t value;
};

// Takes the next line off `rest`; lines that are not "key value" are skipped.
std::optional<Line> next_line(std::string_view& rest) {
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || space == 0) continue;
    if (const auto value = parse_u64(line.substr(space + 1))) return Line{line.substr(0, space), *value};
  }
  return std::nullopt;
}

std::string_view v2_name(std::string_view v1_name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kRenamed = {{
      {"cache", "file"},
      {"rss", "anon"},
      {"rss_huge", "anon_thp"},
      {"mapped_file", "file_mapped"},
      {"dirty", "file_dirty"},
      {"writeback", "file_writeback"},
  }};
  for (const auto& [from, to] : kRenamed) {
    if (from == v1_name) return to;
  }
  return v1_name;
}

}  // namespace

LimitText parse_limit(std::string_view text) {
  text = trim(text);
  if (text == "max") return {true, std::nullopt};
  const auto bytes = parse_u64(text);
  if (!bytes) return {};
  return {true, *bytes >= kNoLimit ? std::nullopt : bytes};
}

std::optional<std::uint64_t> find_value(std::string_view text, std::string_view key) {
  while (const auto line = next_line(text)) {
    if (line->key == key) return line->value;
  }
  return std::nullopt;
}

std::map<std::string, std::uint64_t> parse_stat(std::string_view text, CgroupVersion version) {
  constexpr std::string_view kTotal = "total_", kMemswLimit = "hierarchical_memsw_limit";
  const bool is_v1 = version == CgroupVersion::kV1;
  std::map<std::string, std::uint64_t> stat;
  while (stat.size() < kMaxStatKeys) {
    const auto line = next_line(text);
    if (!line) break;
    const bool is_own = is_v1 && !line->key.starts_with(kTotal);  // without what is below
    if (is_own && line->key != kMemswLimit) continue;
    stat.insert_or_assign(std::string(is_v1 && !is_own ? v2_name(line->key.substr(kTotal.size())) : line->key),
                          line->value);
  }
  return stat;
}

std::optional<std::uint64_t> reclaimable(std::string_view stat_text, CgroupVersion version) {
  const bool is_v1 = version == CgroupVersion::kV1;
  const auto active = find_value(stat_text, is_v1 ? "total_active_file" : "active_file");
  const auto inactive = find_value(stat_text, is_v1 ? "total_inactive_file" : "inactive_file");
  if (!active || !inactive) return std::nullopt;
  return *active + *inactive + (is_v1 ? 0 : find_value(stat_text, "slab_reclaimable").value_or(0));
}

}  // namespace oomw
