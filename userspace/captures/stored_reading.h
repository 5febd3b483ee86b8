// SPDX-License-Identifier: Apache-2.0
// The common end of every reading of a heap: a profile with the names of its code, made by a reader.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "captures/capture.h"
#include "facts/operation_patterns.h"
#include "reader/reader_group.h"
#include "runtimes/go/go_process.h"
#include "runtimes/runtime.h"

namespace oomw {

// "STOR"; every kind of job differs.
inline constexpr std::uint32_t kStoreReadingJob = 0x524f5453;

struct ReadingToStore {
  HeapReading reading;
  CaptureFinished begun;
  MonotonicTime taken_at;
  CaptureReason shortfall = CaptureReason::kNone;  // why it is not whole; kPartial if it is not and nothing is known
  std::string provenance;
  MonotonicTime deadline;  // of its names
};

// Names its addresses by the process's executable until the deadline and writes a profile, here. Addresses that could
// not be named stay, and the comments record it. Takes about 55 MB for 60,000 holdings of 20 frames while it runs and
// gives them back.
[[nodiscard]] CaptureOutcome store_reading(ReadingToStore stored, const RuntimeProcess& process,
                                           const OperationPatterns& patterns, const Clock& clock);

// As store_reading(), by a reader; the profile is in the outcome's file. If the executable cannot be read in time or
// within the reader's memory, addresses stay without names. Any worker; ends at most 5 s after the deadline.
[[nodiscard]] CaptureOutcome store_reading_apart(ReadingToStore stored, const GoProcess& process,
                                                 const OperationPatterns& patterns, reader::ReaderGroup& readers,
                                                 const Clock& clock);

// Runs in the reader. files: the reading, an empty file for the profile, and the executable, if it is known.
[[nodiscard]] Result<std::string> store_reading_job(std::string_view parameters, std::span<const UniqueFd> files);

// A job of a reader that makes a profile of `input`. Its files: the input, read-only, an empty one for the profile, one
// for a reading if on_reading wants it, and the executable, if there is one.
struct ProfileJob {
  std::uint32_t kind = 0;
  const ProfileFile& input;
  std::string parameters;
  int exe = -1;  // where names come from
  Nanoseconds named_limit{}, unnamed_limit{};
  std::function<void(int file)> on_reading;  // on this thread; may be empty
  std::span<const std::string> owners;       // see reader::Reader::run()
};

// The capture as it ended there. A reader that was ended for want of memory on the node is replaced once; with any
// other fault the second try is without names.
[[nodiscard]] CaptureOutcome make_profile_apart(const ProfileJob& job, CaptureFinished begun, ProcessKey process,
                                                MonotonicTime taken_at, reader::ReaderGroup& readers,
                                                const Clock& clock);

}  // namespace oomw
