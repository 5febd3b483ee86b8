// SPDX-License-Identifier: Apache-2.0
// The heap of a living process, read in the reader: its job, and what the daemon sends and gets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "process/open_memory.h"
#include "runtimes/go/go_reading.h"
#include "runtimes/go/heap_reader.h"

namespace oomw::go {

// "GORH"; every kind of job differs.
inline constexpr std::uint32_t kReadHeapJob = 0x48524f47;

// Walks the list in the pages that the process has, until `deadline` of the monotonic clock, from when on a part of the
// heap is what there is. An Error: nothing of it could be read.
[[nodiscard]] Result<HeapEvidence> read_evidence(const OpenMemory& process, const HeapTarget& target,
                                                 const Clock& clock, MonotonicTime deadline);

// As the other read_cycle(), but waits for no file system.
[[nodiscard]] Result<std::optional<std::uint32_t>> read_cycle(const OpenMemory& process, const HeapTarget& target);

// Runs in the reader. files: an empty file for the reading, /proc/PID/mem, and pagemap where there is one.
[[nodiscard]] Result<std::string> read_heap_job(std::string_view parameters, std::span<const UniqueFd> files);

[[nodiscard]] std::string read_heap_parameters(const OpenMemory& process, const HeapTarget& target,
                                               MonotonicTime deadline);
// What the reader answered and wrote, which may be anything: kInvalid unless it is a reading within its bounds.
[[nodiscard]] Result<HeapEvidence> decode_evidence(std::string_view answer, int reading_fd);

}  // namespace oomw::go
