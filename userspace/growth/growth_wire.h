// SPDX-License-Identifier: Apache-2.0
// What the daemon and its reader say to each other about growth samples.
#pragma once

#include <oomwitness/growth.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "growth/unwound.h"
#include "reader/protocol.h"

namespace oomw::growth {

// Files of a job: the records, one for the answer, a map of run-time code or an empty file, the process's memory and
// page map or empty files, the executables.
inline constexpr std::size_t kRecordsFile = 0, kAnswerFile = 1, kPerfMapFile = 2, kMemoryFile = 3, kPageMapFile = 4,
                             kFirstCodeFile = 5;
inline constexpr std::size_t kMaxCodeFiles = reader::kMaxFiles - kFirstCodeFile;
inline constexpr std::size_t kMaxRecordBytes = 4u << 20, kMaxAnswerBytes = 2u << 20;
inline constexpr std::size_t kMaxSamples = 256, kMaxRanges = 400, kMaxRangeName = 64;
inline constexpr std::size_t kMaxFrames = 8192, kMaxFramesOfStack = 64, kMaxText = 200, kMaxBuildId = 64;

// A range of a process's code in a job.
struct JobRange {
  static constexpr std::uint64_t kNoFile = 0, kUnreadFile = 1, kFirstFile = 2;

  std::uint64_t begin = 0, end = 0, file_offset = 0;
  std::uint64_t file = kNoFile;  // kFirstFile + its number among the executables
  std::string name;
  bool is_data = false;  // no code: a file from which the runtime's names are read
};

// Ranges in order, apart; at most kMaxRanges of them.
[[nodiscard]] std::string encode_ranges(std::span<const JobRange> ranges);
[[nodiscard]] Result<std::vector<JobRange>> decode_ranges(std::string_view bytes, std::size_t code_files);

// One record with its stack. Points into the records.
struct Sample {
  oomw_growth_sample head{};
  std::span<const std::byte> stack;
  [[nodiscard]] bool has_stack() const { return (head.flags & OOMW_GROWTH_NO_STACK) == 0 && !stack.empty(); }
};
// kInvalid: not records, one after the other; kLimit: more than kMaxSamples.
[[nodiscard]] Result<std::vector<Sample>> parse_samples(std::span<const std::byte> records);

// Bounded and printable, whatever the reader answers. `stacks`: how many there must be.
[[nodiscard]] std::string encode_unwound(const UnwoundSamples& unwound);
[[nodiscard]] Result<UnwoundSamples> decode_unwound(std::string_view bytes, std::size_t stacks);

}  // namespace oomw::growth
