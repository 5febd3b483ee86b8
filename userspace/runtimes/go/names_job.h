// SPDX-License-Identifier: Apache-2.0
// Names of a Go program's return addresses, looked up in the reader: its job, and what the daemon sends and gets.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "runtimes/go/frame_table.h"

namespace oomw::go {

// "GONM"; every kind of job differs.
inline constexpr std::uint32_t kNameFramesJob = 0x4d4e4f47;

// Runs in the reader. files: an empty one for the names, the addresses, and the executable.
[[nodiscard]] Result<std::string> name_frames_job(std::string_view parameters, std::span<const UniqueFd> files);

[[nodiscard]] std::string name_frames_parameters(MonotonicTime deadline);
[[nodiscard]] Result<> write_wanted(int fd, std::span<const WantedAddress> wanted);
[[nodiscard]] Result<> write_named(int fd, const NamedFrames& named);
// What the reader wrote, which may be anything: kInvalid unless all of it is in its bounds and answers `wanted`.
[[nodiscard]] Result<NamedFrames> read_named(int fd, std::span<const WantedAddress> wanted);

}  // namespace oomw::go
