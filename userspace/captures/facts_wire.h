// SPDX-License-Identifier: Apache-2.0
// What a reader gets to make a profile, and a profile's facts on their way back.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "captures/capture_event.h"
#include "facts/profile_facts.h"
#include "reader/wire.h"
#include "runtimes/go/go_process.h"

namespace oomw {

// Components that would make the message too long are left out, the smallest first.
void write_facts(reader::WireWriter& out, const ProfileFacts& facts);

// Within the bounds of ProfileFacts whatever the message holds, and every text printable. What is missing is 0 or
// empty; the caller asks in.is_complete().
[[nodiscard]] ProfileFacts read_facts(reader::WireReader& in);

// The execution of a program, without its open executable, whose path is said beside it.
void write_process(reader::WireWriter& out, const GoProcess& process);
[[nodiscard]] std::shared_ptr<GoProcess> read_process(reader::WireReader& in, ProcessKey key, std::string& exe_path);
// With `exe` as its executable, a duplicate of which it keeps open.
void open_executable(GoProcess& process, int exe, const std::string& path);

// How a capture ended in the reader, which wrote its profile.
[[nodiscard]] std::string encode_end(const CaptureFinished& finished, std::uint64_t string_count);
// kInvalid if it is no such answer. string_count: of the profile.
[[nodiscard]] Result<CaptureFinished> decode_end(std::string_view answer, ProcessKey process, MonotonicTime taken_at,
                                                 CaptureFinished begun, std::uint64_t& string_count);

}  // namespace oomw
