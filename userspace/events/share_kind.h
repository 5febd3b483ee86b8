// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string_view>

#include "base/enum_names.h"
#include "base/fair_share.h"

namespace oomw {

// What a container may use only its share of: the label `what` of share_exceeded_total. Meanings: runbook.md.
enum class ShareKind : std::uint8_t {
  kSpool,           // profiles that wait for their incident
  kProcesses,       // processes that are remembered
  kCaptures,        // places of captures that wait or run
  kCaptureSeconds,  // time of capture workers
  kGoProcesses,     // processes that are known to run Go programs
  kInspections,     // time of those who inspect programs
  kWalks,           // time of walks at kills
  kLogLines,
  kGrowthProcesses,  // places of processes whose growth is sampled
  kGrowthSeconds,    // time of reading their samples
};
template <>
inline constexpr auto kEnumNames<ShareKind> = std::to_array<std::string_view>({"spool", "processes", "captures",
                                                                               "capture_seconds", "go_processes",
                                                                               "inspections", "walks", "log_lines",
                                                                               "growth_processes", "growth_seconds"});

// Cumulative.
using ShareExcesses = std::map<ShareKind, ShareExcess>;

}  // namespace oomw
