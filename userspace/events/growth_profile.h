// SPDX-License-Identifier: Apache-2.0
// Who grew a process: its anonymous memory by the stacks that touched it first. Neutral: any language.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "events/capture_terms.h"
#include "events/ids.h"

namespace oomw {

// What a frame is shown with. All texts come from files and memory of the workload: printable and bounded by its maker.
struct GrowthFrame {
  static constexpr std::size_t kMaxUses = 48, kMaxUse = 64;

  std::string function;  // "Session::put", "handle_report", "libfoo.so!fn_1ab0"; never empty
  std::string file;      // of a managed or a Go frame, or ""
  std::string module;    // the mapped file's name, or "" (a managed frame, code without a file)
  std::uint64_t line = 0;
  bool is_managed = false;    // Python, or code that a runtime made: `function` is the program's own name for it
  bool is_allocator = false;  // malloc, operator new, the interpreter's own: never the code to name
  bool is_library = false;    // of the language or an installed package, by the path that `file` no longer has
  std::vector<std::string> uses = {};  // by its code: names in Python, texts of native code that has no name
  friend bool operator==(const GrowthFrame&, const GrowthFrame&) = default;
};

struct GrowthStack {
  std::uint64_t bytes = 0;          // first touched through it, and not given back since
  bool is_complete = false;         // unwound to the thread's first frame
  std::vector<GrowthFrame> frames;  // innermost first
  // Of `bytes`, by the part of the sampled time in which it came: GrowthProfile::kParts equal ones, or none.
  std::vector<std::uint64_t> parts = {};
  // Of `bytes`, what came in the last quarter of the time from the first sample to the newest, rests included.
  std::uint64_t late_bytes = 0;
  friend bool operator==(const GrowthStack&, const GrowthStack&) = default;
};

// Growth by first touch: who touched first, which is neither who allocated nor who keeps. Two biases are known: a
// temporary that tops the heap takes the blame of the leak that is carved from its warm pages, and a collector's
// threads take that of the code they work for.
struct GrowthProfile {
  static constexpr std::size_t kMaxStacks = 128, kMaxFrames = 64, kMaxNotes = 4, kMaxText = 200, kParts = 8;

  MonotonicTime time;     // of the newest sample
  MonotonicTime started;  // of the first
  ProcessKey process;
  CgroupId cgroup;                  // the limiting one
  std::uint64_t slot_bytes = 0;     // the resolution
  std::uint64_t grown_bytes = 0;    // the sum of all slots that are held; >= the sum of `stacks`
  std::uint64_t samples = 0;        // taken
  std::uint64_t lost = 0;           // not sampled, unread or over a budget
  std::vector<GrowthStack> stacks;  // most bytes first
  std::vector<std::string> notes;
  std::map<std::string, std::string> builds;  // of modules in `stacks`: the linker's build id in hex; none is left out
  std::string spool_file;                     // growth.pb.gz; "" = none
  std::uint64_t sampled_ms = 0;               // from the first sample to the newest, without the rests between bursts
  friend bool operator==(const GrowthProfile&, const GrowthProfile&) = default;
};

}  // namespace oomw
