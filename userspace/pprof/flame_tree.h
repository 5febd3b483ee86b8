// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "pprof/frame_names.h"
#include "pprof/profile.h"

namespace oomw::pprof {

struct FlameLimits {
  double min_ratio = 0.001;           // of the whole: smaller frames are folded into "(n more)"
  std::uint32_t max_depth = 128;      // calls from the root
  std::size_t max_frames = 20'000;    // drawn; the largest stay
  std::size_t max_nodes = 1'000'000;  // read: further different stacks are cut short
};

struct FlameFrame {
  enum class Kind { kRoot, kFunction, kMore, kDeeper };
  Kind kind = Kind::kFunction;
  std::uint32_t name = 0;   // of a function
  std::uint32_t depth = 0;  // the root's is 0
  std::size_t folded = 0;   // of kMore: how many frames it stands for
  std::int64_t net = 0;     // the sum of the stacks through it
  std::int64_t size = 0;    // how wide it is: the sum of |value| of these stacks
  std::int64_t start = 0;   // where it begins, in the unit of size
  std::int64_t own = 0;     // of size: the stacks that end here; 0 for kMore and kDeeper
};

// The stacks of a profile as one tree of calls, pruned to what can be seen. A stack counts once, with
// the sum of all its samples: the two sides of a diff() are added up, and an unchanged stack takes no
// room.
//   - frames come parents first; siblings by size, then by name; the folded ones last;
//   - bounded by FlameLimits, and deterministic.
class FlameTree {
 public:
  FlameTree(const Profile& profile, int type_index, const FlameLimits& limits = {});

  [[nodiscard]] const std::vector<FlameFrame>& frames() const { return frames_; }  // empty: nothing to draw
  [[nodiscard]] const std::string& name(const FlameFrame& frame) const { return names_.name(frame.name); }
  [[nodiscard]] std::uint32_t max_depth() const { return max_depth_; }
  [[nodiscard]] std::size_t cut_stacks() const { return cut_stacks_; }  // by max_nodes, or a FrameBudget

 private:
  FrameNames names_;
  std::vector<FlameFrame> frames_;
  std::uint32_t max_depth_ = 0;
  std::size_t cut_stacks_ = 0;
};

}  // namespace oomw::pprof
