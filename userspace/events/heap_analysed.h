// SPDX-License-Identifier: Apache-2.0
// What an analysis of a living process's memory found out. Neutral: every runtime fills the same lists.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "events/capture_terms.h"
#include "events/goroutines_at_kill.h"
#include "events/ids.h"
#include "events/jvm_figures.h"
#include "events/pools_at_kill.h"

namespace oomw {

// Who keeps a part of the heap: a root, and the chain of references from it down.
struct HeapHolder {
  double share = 0;         // of the bytes whose root was found
  std::uint64_t bytes = 0;  // of the heap, estimated
  std::uint64_t samples = 0;
  bool is_owner = false;           // the evidence is enough to call it the owner
  std::string component;           // of a Collector: "exporter/otlp"; "" = none
  std::vector<std::string> chain;  // the root first, then ".field -> object" for each step
  friend bool operator==(const HeapHolder&, const HeapHolder&) = default;
};

// Goroutines that stand at the same place.
struct GoroutineStack {
  std::uint64_t count = 0;
  std::string state;
  std::vector<std::string> stack;  // innermost first
  std::string created_by;          // "" = not known
  std::string component;           // as in HeapHolder
  friend bool operator==(const GoroutineStack&, const GoroutineStack&) = default;
};

// What fills the memory: a type of object, a size, or a holder.
struct HeapFiller {
  std::string kind;     // type | site | size | holder
  std::string name;     // "dict", "com.acme.Session"
  std::string held_as;  // "`REQUEST_LOG` in module `app`"; "" = not known
  std::uint64_t bytes = 0, count = 0;
  double share = 0;                            // of the process's memory that was read
  std::optional<std::uint64_t> error_bytes{};  // of an estimate: two standard deviations; nullopt: it was counted
  friend bool operator==(const HeapFiller&, const HeapFiller&) = default;
};

// A part of the process's memory by what it is used for.
struct MemoryShare {
  std::string name;     // "Java heap", "thread stacks", "unexplained"
  std::string runtime;  // "jvm"; "" = none
  std::uint64_t bytes = 0;
  std::string source;  // what shows it: "mappings", "hotspot"
  friend bool operator==(const MemoryShare&, const MemoryShare&) = default;
};

// Its maker bounds every list by the constants, and every text to kMaxText printable characters.
struct HeapAnalysed {
  static constexpr std::size_t kMaxHolders = 8, kMaxChain = 16, kMaxGoroutines = 12, kMaxStack = 4;
  static constexpr std::size_t kMaxFillers = 16, kMaxParts = 32, kMaxNotes = 8, kMaxFiles = 2, kMaxText = 200;

  struct File {
    std::string name;  // beside an incident: "holders.json"
    std::string spool_file;
    friend bool operator==(const File&, const File&) = default;
  };

  MonotonicTime time;  // of the last byte read
  MonotonicTime started;
  ProcessKey process;
  CgroupId cgroup;  // the limiting one
  RuntimeKind of = RuntimeKind::kGo;
  CaptureTrigger trigger;
  CaptureResult result = CaptureResult::kFailed;
  CaptureReason reason = CaptureReason::kNone;
  std::string detail;                        // for humans
  std::optional<std::uint64_t> usage_bytes;  // of the limiting cgroup, at the trigger
  std::optional<std::uint64_t> limit_bytes;

  std::vector<HeapHolder> holders;  // largest first
  std::optional<double>
      rooted_ratio;  // of the sampled bytes: those with a root; nullopt: holders were not searched for
  std::uint64_t samples = 0;
  std::string
      why_no_owner;  // "rooted 41 % of 60 samples"; "" = the first holder is the owner, or none was searched for
  std::vector<GoroutineStack> goroutines;       // most first
  std::uint64_t goroutine_count = 0;            // listed or not
  std::vector<GoroutineList> goroutine_list;    // none or one: for the kernel, which counts them at the kill
  std::vector<PoolTable> pool_table;            // likewise, of its pools
  std::vector<PoolsAtKill> pools;               // none or one: what was counted so
  std::vector<HeapFiller> fillers;              // most bytes first
  std::vector<MemoryShare> parts;               // most bytes first
  std::optional<double> named_ratio;            // of the process's memory: what `parts` name; nullopt: no composition
  std::optional<double> sampled_ratio;          // of its objects' memory: what was read, if none 0; nullopt: no sample
  std::optional<std::uint64_t> max_heap_bytes;  // what the runtime lets its heap grow to; nullopt: not known
  std::vector<JvmFigures> jvm;                  // none or one: in place it would make every event 500 bytes larger
  std::vector<std::string> notes;
  std::vector<File> files;
};

// Its size in memory, nearly.
[[nodiscard]] std::uint64_t size_of(const HeapAnalysed& analysed);

}  // namespace oomw
