// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace oomw {

// Helps us survive the event being observed: locks what we touch into memory (on fault only: locking all mappings
// would make 8 MiB thread stacks resident), asks the OOM killer to prefer others, runs us before the workloads. Each
// is best effort; returns one line per thing that was refused.
[[nodiscard]] std::vector<std::string> protect_self();

// Makes malloc give back at once what a capture took: fewer arenas, since each keeps its own free memory, and blocks
// of the size of a walk's chunk (64 KiB) in mappings of their own. Call before threads are started.
void keep_heap_small();

// The number of files that may be open, after raising it as far as allowed up to 65,536: a shell's 1,024 are too few
// to watch the limits of 1,000 containers.
[[nodiscard]] std::size_t allow_open_files();

// Returns to the kernel the free memory that malloc holds, if more is resident than after the last time: milliseconds
// then, and a quiet daemon pays for nothing but a look. Any thread.
class FreeHeap {
 public:
  void give_back_if_grown();

 private:
  std::atomic<std::uint64_t> resident_after_ = 0;
};

struct SelfUsage {
  double cpu_seconds = 0;
  std::uint64_t resident_bytes = 0;
};
[[nodiscard]] SelfUsage self_usage();

// "" when this process may load programs and reach into other namespaces; else one line that
// names what is missing ("needs root" or the capabilities).
[[nodiscard]] std::string missing_privilege();

}  // namespace oomw
