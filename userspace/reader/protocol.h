// SPDX-License-Identifier: Apache-2.0
// The messages over the socket between the daemon and its reader: one job, one answer, in turn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oomw::reader {

// What does not fit into a message goes through a file in memory that the daemon made.
inline constexpr std::size_t kMaxMessage = 64u << 10;
inline constexpr std::size_t kMaxFiles = 16;
inline constexpr std::string_view kAhead = "ahead";  // a word of its command: see ReaderConfig::is_ahead
inline constexpr int kSocketFd = 3;                  // of the reader
inline constexpr int kVictimsFd = 4;                 // of the reader as it starts: VictimMarks, if there are any
// A job that every reader knows: it does nothing, and its process is no longer idle.
inline constexpr std::uint32_t kWakeJob = 0;

struct Job {
  std::uint32_t kind = 0;
  std::uint64_t number = 0;  // the answer has the same
  std::string parameters;
};

struct Answer {
  enum class Status : std::uint32_t {
    kOk,
    kError,  // the job's own: `code` and a message
    kLimit,  // the reader ran out of the memory it may have
  };
  std::uint64_t number = 0;
  Status status = Status::kOk;
  ErrorCode code = ErrorCode::kInternal;
  std::string payload;
};

// kLimit: longer than a message may be.
[[nodiscard]] Result<std::string> encode(const Job& job);
[[nodiscard]] Result<std::string> encode(const Answer& answer);
// kInvalid: not such a message.
[[nodiscard]] Result<Job> decode_job(std::string_view bytes);
[[nodiscard]] Result<Answer> decode_answer(std::string_view bytes);

// One message of a SOCK_SEQPACKET socket, with open files; waits until it is sent. kUnavailable: nobody is there.
[[nodiscard]] Result<> send_message(int socket, std::string_view bytes, std::span<const int> files);

struct Message {
  std::string bytes;
  std::vector<UniqueFd> files;
};
// The message that waits. kUnavailable: the other end is closed; kInvalid: longer than kMaxMessage, or with more than
// kMaxFiles. max_files 0: any file is refused and closed.
[[nodiscard]] Result<Message> receive_message(int socket, std::size_t max_files);

}  // namespace oomw::reader
