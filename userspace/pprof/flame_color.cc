// SPDX-License-Identifier: Apache-2.0
#include "pprof/flame_color.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "pprof/group.h"
#include "pprof/saturating.h"

namespace oomw::pprof {
namespace {

// FNV-1a, 32 bits.
std::uint32_t hash_of(std::string_view text) {
  std::uint32_t hash = 2166136261u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash;
}

// Hue in degrees, the others 0 to 1.
std::string from_hsl(double hue, double saturation, double lightness) {
  const auto channel = [&](double n) {
    const double k = std::fmod(n + hue / 30, 12);
    const double value =
        lightness - saturation * std::min(lightness, 1 - lightness) * std::max(-1.0, std::min({k - 3, 9 - k, 1.0}));
    return static_cast<unsigned>(std::lround(value * 255));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", channel(0), channel(8), channel(4));
}

bool is_runtime(std::string_view package) {
  return package == "runtime" || package.starts_with("runtime/") || package.starts_with("internal/runtime/");
}

}  // namespace

std::string package_color(std::string_view package) {
  const std::uint32_t hash = hash_of(package);
  // Three lightnesses distinguish neighbours in hue.
  return from_hsl(hash % 360, 0.45, 0.78 + 0.04 * static_cast<double>(hash / 360 % 3));
}

// Below 0.79 blue would be too dark for black text.
std::string group_color(std::string_view group) { return from_hsl(hash_of(group) % 360, 0.95, 0.80); }

std::string function_color(std::string_view function, std::string_view tint) {
  if (!tint.empty()) return group_color(tint);
  const std::string_view package = package_of(function);
  return is_runtime(package) ? kRuntimeColor : package_color(package);
}

std::string growth_color(std::int64_t net, std::int64_t size) {
  const double share = size == 0 ? 0 : static_cast<double>(magnitude(net)) / static_cast<double>(size);
  return from_hsl(net < 0 ? 212 : 6, 0.8, 0.93 - 0.19 * std::min(1.0, share));
}

}  // namespace oomw::pprof
