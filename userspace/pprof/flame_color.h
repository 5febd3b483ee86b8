// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace oomw::pprof {

// Fills of frames as "#rrggbb", all light enough for black text (contrast 7:1 or better).

// Stable in all versions: the same package, or group of packages, has the same colour in every
// picture. Groups are more vivid: readers search for them first.
[[nodiscard]] std::string package_color(std::string_view package);
[[nodiscard]] std::string group_color(std::string_view group);
// The group_color() of `tint` if it is not empty; else grey for the Go runtime, and the package_color() for others.
[[nodiscard]] std::string function_color(std::string_view function, std::string_view tint);
// Red where the stacks through a frame grew, blue where they shrank; paler the more they did both.
[[nodiscard]] std::string growth_color(std::int64_t net, std::int64_t size);

// The fill for a dark page: the same hue, dark enough for kDarkText (contrast 4.5:1 or better). "#rrggbb" only.
[[nodiscard]] std::string dark_color(std::string_view color);

// The CSS class of a fill, "cff0000": flame graphs have one rule for each, with its dark_color().
[[nodiscard]] std::string color_class(std::string_view color);

inline constexpr const char* kDarkText = "#f2f4f7";
inline constexpr const char* kRuntimeColor = "#cfcfcf";
inline constexpr const char* kPlainColor = "#e4e4e4";  // frames that are not functions

}  // namespace oomw::pprof
