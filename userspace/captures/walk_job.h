// SPDX-License-Identifier: Apache-2.0
// A walk at the kill, decoded, named and made a profile by the reader: its job, and who asks for it. Records and the
// executable are what the container's program made of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "captures/capture.h"
#include "captures/profile_file.h"
#include "events/event.h"
#include "facts/operation_patterns.h"
#include "reader/reader_group.h"
#include "runtimes/go/go_process.h"
#include "runtimes/runtime.h"

namespace oomw {

// "WALK"; every kind of job differs.
inline constexpr std::uint32_t kWalkJob = 0x4b4c4157;

// The chunks of a walk, in the order of the list, in a file of memory: they never become part of this process.
class WalkRecords {
 public:
  [[nodiscard]] static Result<WalkRecords> make();
  // A chunk for which there is no room is missing in the profile, which then is not complete.
  void add(std::span<const std::byte> chunk);
  [[nodiscard]] const ProfileFile& file() const { return file_; }

 private:
  explicit WalkRecords(ProfileFile file) : file_(std::move(file)) {}
  ProfileFile file_;
};

// Runs in the reader. files: the records, an empty file for the profile, one for the reading (if the parameters want
// it), and the executable, if it is known.
[[nodiscard]] Result<std::string> walk_job(std::string_view parameters, std::span<const UniqueFd> files);

// As WalkDecoder::finish(), by the reader; the profile is in the outcome's file. If the executable cannot be read in
// time or within the reader's memory, addresses stay without names. Any worker; at most 40 s.
// process: null if it is not known. watcher: is called on this thread; may be empty.
[[nodiscard]] CaptureOutcome decode_walk(const HeapWalked& walk, const GoProcessPtr& process,
                                         const WalkRecords& records, reader::ReaderGroup& readers, const Clock& clock,
                                         const ReadingWatcher& watcher, const OperationPatterns& patterns = {});

}  // namespace oomw
