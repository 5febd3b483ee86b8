// SPDX-License-Identifier: Apache-2.0
// What a reader gets to make a profile, and a profile's facts on their way back: see reader/wire_fields.h. For .cc
// files.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "captures/capture_event.h"
#include "events/event_fields.h"
#include "facts/collector_components.h"
#include "facts/profile_facts.h"
#include "reader/wire_fields.h"
#include "runtimes/go/binary_fields.h"
#include "runtimes/go/go_process.h"

namespace oomw {

void describe(auto& v, Of<ProfileFacts> auto& facts) {
  v("inuse_bytes", facts.inuse_bytes);
  v("sample_count", facts.sample_count);
  v("of", facts.of);
  v("components", facts.components, Items{kMaxCollectorComponents});
  v("sites", facts.sites.sites, Items{HeapSites::kMaxSites});
  v("operations", facts.sites.operations, Items{HeapSites::kMaxOperations});
}

// Leaves out the components that would make a message too long, the smallest.
void fit_in_message(ProfileFacts& facts);

// The execution of a program; its open executable goes with the files of a job, its path is said.
struct SentProcess {
  ProcessKey key;
  std::string exe_path;
  go::GoBinary binary;
  std::optional<go::HeapTarget> target;
};
[[nodiscard]] SentProcess sent(const GoProcess& process);
// exe: its executable, of which it keeps a duplicate; -1: there is none.
[[nodiscard]] std::shared_ptr<GoProcess> received(SentProcess sent, int exe);

void describe(auto& v, Of<SentProcess> auto& process) {
  v("pid", process.key.pid);
  v("start_ticks", process.key.start_ticks);
  v("exe_path", process.exe_path, Chars{4096});
  v("binary", process.binary);
  v("target", process.target);
}

// Rows of OperationPatterns.
inline constexpr Items kPatternRows{OperationPatterns::kMax, OperationPatterns::kMaxText};

// How a capture ended in the reader, which wrote its profile.
[[nodiscard]] std::string encode_end(const CaptureFinished& finished, std::uint64_t string_count);
// kInvalid if it is no such answer. string_count: of the profile.
[[nodiscard]] Result<CaptureFinished> decode_end(std::string_view answer, ProcessKey process, MonotonicTime taken_at,
                                                 CaptureFinished begun, std::uint64_t& string_count);

}  // namespace oomw
