// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "pprof/flame_tree.h"
#include "pprof/profile.h"

namespace oomw::pprof {

struct FlameOptions {
  std::string type = {};         // "" = the profile's default
  unsigned width_px = 1200;      // at least kMinFlameWidth
  std::string subject = {};      // pod, container, limit and incident, for the title; "" = the program is the title
  std::string source = {};       // where the profile is from, for the header
  std::string base_source = {};  // for a diff: the source of the profile compared with
  // Names the group of functions that share a colour; "" = colour by package.
  std::function<std::string(const std::string& function)> tint = {};
  FlameLimits limits = {};
};

inline constexpr unsigned kMinFlameWidth = 400;

struct FlamePicture {
  std::string svg;
  unsigned width_px = 0, height_px = 0;
};

// A profile as an SVG flame graph, root at the top: it is read from the header down, and if it is cut
// off at the bottom it still shows what matters.
//   - a frame is as wide as the stacks through it; in a diff(), as their changes, growth plus shrinkage:
//     red grew, blue shrank, unchanged stacks are left out. Width by the later profile alone would hide
//     freed memory, and make a leak disappear among memory that was always there;
//   - self-contained: a header, each frame's name as text cut to its box, the whole name and figures
//     as tooltip. As wide as the page, light or dark as the reader prefers;
//   - the script is optional, works on what is drawn and loads nothing: it lays the frames out anew at
//     the window's width so that text keeps its size on a phone, zooms (#zoom=0.2.1 is the rank of each child on
//     the way, as in the page's flame graph), searches, and answers the keyboard;
//   - names are hostile: no control or bidi character, no markup gets through;
//   - deterministic. kInvalid: no such sample type.
[[nodiscard]] Result<FlamePicture> flame_graph(const Profile& profile, const FlameOptions& options);

}  // namespace oomw::pprof
