// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/quantity.h"

#include <charconv>
#include <cmath>

namespace oomw {
namespace {

constexpr std::size_t kMaxLength = 32;
constexpr double kMost = 9.2e18;

// "" and powers of 1000, or of 1024 where an 'i' follows.
std::optional<double> factor_of(std::string_view suffix) {
  constexpr std::string_view kDecimal = "num kMGTPE", kBinary = " KMGTPE";
  if (suffix.empty()) return 1.0;
  const bool is_binary = suffix.size() == 2 && suffix[1] == 'i';
  const std::size_t at = (is_binary ? kBinary : kDecimal).find(suffix[0]);
  if ((suffix.size() != 1 && !is_binary) || suffix[0] == ' ' || at == std::string_view::npos) return std::nullopt;
  return is_binary ? std::pow(1024.0, static_cast<double>(at)) : std::pow(1000.0, static_cast<double>(at) - 3);
}

}  // namespace

std::optional<std::uint64_t> parse_quantity(std::string_view text) {
  // from_chars reads "inf", "nan" and a sign too.
  if (text.empty() || text.size() > kMaxLength || text[0] < '0' || text[0] > '9') return std::nullopt;
  double value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  const auto factor = factor_of(text.substr(static_cast<std::size_t>(stop - text.data())));
  if (!factor || !std::isfinite(value * *factor) || value * *factor > kMost) return std::nullopt;
  return static_cast<std::uint64_t>(value * *factor);
}

}  // namespace oomw
