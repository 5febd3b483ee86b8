// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "correlate/incident_builder.h"

namespace oomw {

// Failed and skipped attempts explain a missing profile. A few of the newest are enough (each decision tries two
// methods).
inline constexpr std::size_t kMaxAttempts = 8;
// Victims of one decision whose walks are kept beyond max_captures.
inline constexpr std::size_t kMaxWalks = 64;

// Of the captures that belong(), by time: at most selection.max_captures successful ones (the newest, but always the
// best of each method, every walk at the kill and a victim's first), and the newest kMaxAttempts others.
[[nodiscard]] std::vector<CaptureFinished> select_captures(const KillEvidence& evidence,
                                                           const std::vector<const CaptureFinished*>& captures,
                                                           const MemoryModel& model, const CaptureSelection& selection);

}  // namespace oomw
