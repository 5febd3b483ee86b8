// SPDX-License-Identifier: Apache-2.0
// What is known of a Go program, in messages between the daemon and its reader: see reader/wire_fields.h. For .cc
// files.
#pragma once

#include "events/json_fields.h"
#include "runtimes/go/binary.h"
#include "runtimes/go/heap_reader.h"

namespace oomw::elf {

void describe(auto& v, Of<AddressRange> auto& range) {
  v("begin", range.begin);
  v("end", range.end);
}

}  // namespace oomw::elf

namespace oomw::go {

// Only the place of these: no file has them.
struct Wire {};

inline constexpr Chars kMaxVersionChars{GoBinary::kMaxVersion}, kMaxBuildIdChars{256}, kMaxWhyChars{512};

void describe(auto& v, Of<HeapVariables> auto& variables) {
  v("buckets", variables.buckets);
  v("rate", variables.rate);
  v("cycle", variables.cycle);
}

void describe(auto& v, Of<GoBinary> auto& binary) {
  v("is_go", binary.is_go);
  v("is_collector", binary.is_collector);
  v("go_version", binary.go_version, kMaxVersionChars);
  v("build_id", binary.build_id, kMaxBuildIdChars);
  v("machine", binary.machine, UpTo{elf::Machine::kArm64});
  v("is_position_independent", binary.is_position_independent);
  v("entry", binary.entry);
  v("bss", binary.bss);
  v("text_start", binary.text_start);
  v("text", binary.text);
  v("variables", binary.variables);
  v("method", binary.method, UpTo{LocateMethod::kScan});
  v("cross_checked", binary.cross_checked);
  v("profiling", binary.profiling, UpTo{Profiling::kNarrow});
  v("why", binary.why, kMaxWhyChars);
}

// Without its image.
void describe(auto& v, Of<HeapTarget> auto& target) {
  v("load_bias", target.load_bias);
  v("variables", target.variables);
  v("method", target.method, UpTo{LocateMethod::kScan});
  v("go_version", target.go_version, kMaxVersionChars);
}

}  // namespace oomw::go
