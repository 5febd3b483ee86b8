// SPDX-License-Identifier: Apache-2.0
#include "captures/memstats_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/text.h"

namespace oomw {
namespace {

constexpr std::string_view kTitle = "\n# runtime.MemStats\n";
constexpr std::uint64_t kMostBytes = 1ull << 53;  // the largest that JSON keeps exact

// A line's name, which of its numbers is wanted ("Stack = in use / of the system"), and the name to store it by.
struct Wanted {
  std::string_view line;
  bool is_second;
  const char* name;
};
constexpr std::array<Wanted, 11> kWanted = {{{"HeapAlloc", false, "HeapAlloc"},
                                             {"HeapInuse", false, "HeapInuse"},
                                             {"HeapIdle", false, "HeapIdle"},
                                             {"HeapReleased", false, "HeapReleased"},
                                             {"Stack", false, "StackInuse"},
                                             {"MSpan", true, "MSpanSys"},
                                             {"MCache", true, "MCacheSys"},
                                             {"BuckHashSys", false, "BuckHashSys"},
                                             {"GCSys", false, "GCSys"},
                                             {"OtherSys", false, "OtherSys"},
                                             {"NextGC", false, "NextGC"}}};

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole && value < kMostBytes ? std::optional(value) : std::nullopt;
}

// "# Stack = 491520 / 524288"
void read_line(std::string_view line, MemStats& stats) {
  constexpr std::string_view kIs = " = ", kOf = " / ";
  const std::size_t is = line.find(kIs);
  if (!line.starts_with("# ") || is == std::string_view::npos) return;
  const auto wanted =
      std::ranges::find(kWanted, line.substr(2, is - 2), [](const Wanted& candidate) { return candidate.line; });
  if (wanted == kWanted.end()) return;
  std::string_view value = line.substr(is + kIs.size());
  const std::size_t of = value.find(kOf);
  if (wanted->is_second && of == std::string_view::npos) return;
  value = wanted->is_second ? value.substr(of + kOf.size()) : value.substr(0, of);
  if (const auto number = number_of(value)) stats.emplace(wanted->name, *number);
}

bool is_consistent(const MemStats& stats) {
  return stats.at("HeapAlloc") <= stats.at("HeapInuse") && stats.at("HeapReleased") <= stats.at("HeapIdle");
}

}  // namespace

MemStats memstats_of(std::string_view text) {
  MemStats stats;
  const std::size_t title = text.rfind(kTitle);
  if (title == std::string_view::npos) return stats;
  for (const std::string_view line : split(text.substr(title + kTitle.size()), '\n')) read_line(line, stats);
  if (stats.size() != kWanted.size() || !is_consistent(stats)) stats.clear();
  return stats;
}

}  // namespace oomw
