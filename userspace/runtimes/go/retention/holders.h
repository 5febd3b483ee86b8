// SPDX-License-Identifier: Apache-2.0
// Who keeps a Go heap: the roots that hold most of its bytes, found from outside the process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "memory/byte_source.h"

namespace oomw::go::retention {

// What is read. No paths and no threads: everything may be given to a sandboxed process. Sources are borrowed.
struct Subject {
  const ByteSource& memory;      // of the process, by its addresses
  const ByteSource& pagemap;     // the bytes of /proc/PID/pagemap: pages that are not present are never read
  const ByteSource& executable;  // the file
  std::uint64_t load_bias = 0;
  double profile_rate_bytes = 512 << 10;  // runtime.MemProfileRate; only the weights of samples depend on it
};

struct HolderLimits {
  Nanoseconds budget = std::chrono::seconds(2);
  std::uint64_t max_bytes_read = std::uint64_t{8} << 30;  // over all passes
  std::size_t max_nodes = 700'000, max_edges = 900'000;   // 35 MiB
  std::uint32_t max_passes = 20;
  std::uint64_t seed = 1;
};

// One step down from a root. `field` belongs to the step before: ".queue.items" of it leads to `object`.
struct HolderStep {
  std::string field;
  std::string object;
  double share = 0;      // of the rooted bytes, 0 to 1
  bool is_list = false;  // leads to more of its kind
};

// What waits on the way from a root: a list, of which each object refers to the next, or a channel.
struct Queue {
  bool is_channel = false;
  std::string item;  // "queuebatch.node", of a channel its element: "*main.job"
  std::uint64_t length = 0;
};

struct Holder {
  std::string root;  // "goroutine main.main in main.(*server).work", "global main.sessions", ...
  double share = 0;  // of the rooted bytes, 0 to 1
  double bytes = 0;  // of the heap, estimated
  std::uint32_t samples = 0;
  bool is_running = false;           // on the stack of a goroutine that ran: which of its words live is not known
  std::string component;             // "exporter/otlp/tempo", of a Collector's instrumentation beside it; "" if unknown
  std::optional<Queue> queue;        // most of it lies in, counted; nullopt: there is none, or it was not proved
  std::vector<HolderStep> steps;     // as long as one child keeps half of its parent
  std::vector<HolderStep> branches;  // where the chain splits: the next steps with at least 10 %
};

// Texts are printable; type and function names come from the program and are whatever it says.
struct Holders {
  bool is_named = false;        // the first holder may be called the owner
  std::string why_not_named;    // "rooted 41 % of 60 samples"
  std::vector<Holder> holders;  // largest first, from 5 % on, at most 8
  double rooted_share = 0;      // of the sampled bytes: the rest has no path from a root and is garbage, or not found
  std::uint32_t samples = 0, rooted_samples = 0;
  bool is_from_profile = false;  // samples are those of the heap profile; else random live objects
  std::string layout;            // of the spans
  std::uint64_t heap_bytes = 0;  // in spans in use
  std::uint32_t passes = 0, goroutines = 0;
  std::uint64_t objects = 0, references = 0, references_gone = 0;  // gone: no longer true at the end, dropped
  std::uint64_t bytes_read = 0, swapped_pages = 0;
};

// Searches from sampled objects upward to the roots while the process runs, then reads every reference again.
// - Bounded by limits; about 60 MiB at 700,000 objects.
// - An owner is named only if layouts and all root sets proved themselves, the search came to its end, at least 30
//   samples and half of the sampled bytes have a root, and one root keeps half of those.
// Errors: kUnsupported (not amd64, a layout that does not verify), kInvalid (torn or forged structures), kLimit,
// kTimeout, and those of the sources.
[[nodiscard]] Result<Holders> find_holders(const Subject& subject, const Clock& clock, const HolderLimits& limits = {});

}  // namespace oomw::go::retention
