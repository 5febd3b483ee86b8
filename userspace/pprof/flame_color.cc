// SPDX-License-Identifier: Apache-2.0
#include "pprof/flame_color.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "pprof/group.h"
#include "pprof/saturating.h"

namespace oomw::pprof {
namespace {

constexpr const char* kDarkPlain = "#3a3f47";

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

struct Hsl {
  double hue = 0, saturation = 0, lightness = 0;
};

double channel_of(std::string_view color, std::size_t at) {
  unsigned value = 0;
  std::from_chars(color.data() + at, color.data() + at + 2, value, 16);
  return value / 255.0;
}

Hsl to_hsl(std::string_view color) {
  const std::array<double, 3> rgb = {channel_of(color, 1), channel_of(color, 3), channel_of(color, 5)};
  const auto [least, most] = std::minmax_element(rgb.begin(), rgb.end());
  const double range = *most - *least;
  Hsl hsl{0, 0, (*most + *least) / 2};
  if (range == 0) return hsl;
  hsl.saturation = range / (1 - std::abs(2 * hsl.lightness - 1));
  const auto at = static_cast<std::size_t>(most - rgb.begin());
  const double sector = (rgb[(at + 1) % 3] - rgb[(at + 2) % 3]) / range + 2 * static_cast<double>(at);
  hsl.hue = std::fmod(60 * sector + 360, 360);
  return hsl;
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

std::string color_class(std::string_view color) { return color.empty() ? "" : "c" + std::string(color.substr(1)); }

// Pale fills become the darkest: what stands out from white paper stands out from black.
std::string dark_color(std::string_view color) {
  if (color.size() != 7) return kDarkPlain;
  const Hsl hsl = to_hsl(color);
  const double strength = std::clamp((0.93 - hsl.lightness) / 0.19, 0.0, 1.0);
  return from_hsl(hsl.hue, hsl.saturation / 2, 0.22 + 0.12 * strength);
}

}  // namespace oomw::pprof
