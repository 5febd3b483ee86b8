// SPDX-License-Identifier: Apache-2.0
// Growth by first touch (events/growth_profile.h) as an incident keeps it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "events/growth_profile.h"

namespace oomw {

inline constexpr char kGrowthFile[] = "growth.pb.gz";

// All texts are printable. Shares are of grown_bytes.
struct IncidentGrowth {
  static constexpr std::size_t kMaxStacks = 12, kMaxFrames = 40, kMaxPlaces = 8, kParts = GrowthProfile::kParts;

  struct Place {                  // stacks with the same code and operation, together
    std::string code, operation;  // "" = the stacks show none
    std::string operation_kind;
    std::uint64_t bytes = 0;
    double share = 0;
    bool is_collector = false;  // threads of a garbage collector
    std::string build_id = {};  // of the native module that `code` is in, in hex; "" = not native, or not known
    // Names that the program's own code on these stacks refers to, up to the operation's, and the file of that code.
    // Not part of the JSON.
    std::set<std::pair<std::string, std::string>> uses = {};
    std::vector<std::string> callers = {};  // as of GrowthPlace, of the largest stack. Not part of the JSON
    // Of `bytes`, by the part of sampled_seconds in which it came: kParts equal ones, or none.
    std::vector<std::uint64_t> parts = {};
    std::string pattern = {};      // a GrowthPattern (growth_pattern.h); "" = neither is shown
    std::uint64_t late_bytes = 0;  // as of GrowthStack
  };
  struct Stack {
    std::uint64_t bytes = 0;
    double share = 0;
    bool is_complete = false;
    std::vector<std::string> frames;  // innermost first; at most kMaxFrames
    std::string code, operation, operation_kind;
    std::uint64_t late_bytes = 0;
  };
  std::int32_t pid = 0;
  WallTime as_of;  // the newest sample
  std::uint64_t slot_bytes = 0, grown_bytes = 0, samples = 0, lost = 0;
  std::uint64_t late_bytes = 0;           // of all stacks
  std::vector<Place> places;              // most bytes first
  std::vector<Stack> stacks;              // likewise
  std::optional<double> sampled_seconds;  // from the first sample to the newest, without the rests between bursts
  std::vector<std::string> notes;
  std::string file;        // in the incident's directory; "" = none
  std::string spool_file;  // where its bytes are until then; not part of the JSON
};

}  // namespace oomw
