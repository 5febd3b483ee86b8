// SPDX-License-Identifier: Apache-2.0
#include "incident/share_queries.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace oomw {

namespace {

// The sandbox alone holds half a MiB, which needs no mention; more than a twentieth of a limit does.
constexpr double kWorthAWord = 0.05;
// The kernel rounds each limit to whole pages, of 64 KiB at most.
constexpr std::uint64_t kPage = 64 << 10;

// The bytes that the limit counted at the kill; if they were not read, the whole limit.
std::uint64_t counted(const Incident& incident) {
  return incident.usage_bytes.value_or(incident.limit_bytes.value_or(0));
}

}  // namespace

std::string bytes_or_unknown(const std::optional<std::uint64_t>& bytes) {
  return bytes ? human_bytes(*bytes) : "unknown";
}

std::optional<double> victims_share(const Incident& incident) {
  if (incident.limit_shares.size() == 1) return 1;  // the pod's only container
  if (incident.limit_shares.empty() || !incident.limit_shares.front().usage_bytes || counted(incident) == 0) {
    return std::nullopt;
  }
  const auto held = static_cast<double>(*incident.limit_shares.front().usage_bytes);
  return std::min(held / static_cast<double>(counted(incident)), 1.0);
}

std::optional<std::uint64_t> most_of_limit(const Incident& incident) {
  const auto held = victims_anon_bytes(incident);
  const std::uint64_t whole = counted(incident);
  return held && whole != 0 && *held > whole / 2 ? held : std::nullopt;
}

// A container without a limit, such as one from kubectl debug, adds nothing to the sum.
bool is_sum_of_containers(const Incident& incident) {
  std::uint64_t sum = 0;
  for (const LimitShare& share : incident.limit_shares) sum += share.limit_bytes.value_or(0);
  const std::uint64_t limit = incident.limit_bytes.value_or(0);
  return sum != 0 && (sum > limit ? sum - limit : limit - sum) <= kPage * incident.limit_shares.size();
}

std::uint64_t unexplained_bytes(const Incident& incident) {
  std::uint64_t left = incident.limit_shares.empty() ? 0 : counted(incident);
  for (const LimitShare& share : incident.limit_shares) left -= std::min(left, share.usage_bytes.value_or(left));
  return static_cast<double>(left) > kWorthAWord * static_cast<double>(counted(incident)) ? left : 0;
}

std::string shares_text(const Incident& incident, std::size_t max) {
  std::vector<LimitShare> shares = incident.limit_shares;
  std::ranges::stable_sort(shares, std::ranges::greater(),
                           [](const LimitShare& share) { return share.usage_bytes.value_or(0); });
  std::string text;
  for (std::size_t i = 0; i < std::min(shares.size(), max); ++i) {
    text += fmt::format("{}{} {}", i == 0 ? "" : ", ", printable(shares[i].container),
                        bytes_or_unknown(shares[i].usage_bytes));
  }
  if (shares.size() > max) text += fmt::format(" and {} more", shares.size() - max);
  const std::uint64_t rest = unexplained_bytes(incident);
  if (rest != 0) text += fmt::format(", and {} that no container's reading explains", human_bytes(rest));
  return text;
}

}  // namespace oomw
