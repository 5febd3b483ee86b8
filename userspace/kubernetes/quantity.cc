// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/quantity.h"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace oomw {
namespace {

constexpr std::size_t kMaxLength = 32;
constexpr double kMost = 9.2e18;

constexpr std::array<std::pair<std::string_view, double>, 16> kSuffixes = {{
    {"", 1.0},
    {"n", 1e-9},
    {"u", 1e-6},
    {"m", 1e-3},
    {"k", 1e3},
    {"M", 1e6},
    {"G", 1e9},
    {"T", 1e12},
    {"P", 1e15},
    {"E", 1e18},
    {"Ki", 1024.0},
    {"Mi", 1024.0 * 1024},
    {"Gi", 1024.0 * 1024 * 1024},
    {"Ti", 1024.0 * 1024 * 1024 * 1024},
    {"Pi", 1024.0 * 1024 * 1024 * 1024 * 1024},
    {"Ei", 1024.0 * 1024 * 1024 * 1024 * 1024 * 1024},
}};

}  // namespace

std::optional<std::uint64_t> parse_quantity(std::string_view text) {
  // from_chars reads "inf", "nan" and a sign too.
  if (text.empty() || text.size() > kMaxLength || text[0] < '0' || text[0] > '9') return std::nullopt;
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  const std::string_view suffix = text.substr(static_cast<std::size_t>(stop - text.data()));
  for (const auto& [name, factor] : kSuffixes) {
    if (name != suffix) continue;
    const double bytes = value * factor;
    if (!std::isfinite(bytes) || bytes > kMost) return std::nullopt;
    return static_cast<std::uint64_t>(bytes);
  }
  return std::nullopt;
}

}  // namespace oomw
