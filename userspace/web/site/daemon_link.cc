// SPDX-License-Identifier: Apache-2.0
#include "web/site/daemon_link.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "base/files.h"
#include "reader/protocol.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxAnswer = 4u << 20;

tl::unexpected<Error> no_answer() { return fail(ErrorCode::kUnavailable, "the daemon does not answer"); }

bool has_message(int socket, std::chrono::milliseconds patience) {
  pollfd waiting{socket, POLLIN, 0};
  return ::poll(&waiting, 1, static_cast<int>(patience.count())) == 1;
}

}  // namespace

Result<> DaemonLink::drop_late_answers() {
  for (; owed_ > 0 && has_message(socket_.get(), std::chrono::milliseconds(0)); --owed_) {
    RETURN_IF_ERROR(reader::receive_message(socket_.get(), 1));
  }
  return {};
}

Result<std::string> DaemonLink::ask(LiveQuestion question) {
  using Steady = std::chrono::steady_clock;
  RETURN_IF_ERROR(drop_late_answers());
  if (owed_ >= kMaxOwed) return no_answer();
  const char letter = static_cast<char>(question);
  RETURN_IF_ERROR(reader::send_message(socket_.get(), std::string_view(&letter, 1), {}));
  const auto deadline = Steady::now() + patience_;
  reader::Message message;
  for (++owed_; owed_ > 0; --owed_) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Steady::now());
    if (!has_message(socket_.get(), std::max(left, std::chrono::milliseconds(0)))) return no_answer();
    ASSIGN_OR_RETURN(message, reader::receive_message(socket_.get(), 1));
  }
  if (message.files.size() != 1) return fail(ErrorCode::kUnavailable, "the daemon has no answer yet");
  if (::lseek(message.files[0].get(), 0, SEEK_SET) != 0) return fail_errno(errno, "lseek");
  return read_open_file(message.files[0].get(), "the daemon's answer", kMaxAnswer);
}

Result<> answer_one(int socket, const std::function<std::string(LiveQuestion)>& answer) {
  ASSIGN_OR_RETURN(const reader::Message message, reader::receive_message(socket, 0));
  const char letter = message.bytes.size() == 1 ? message.bytes[0] : '\0';
  if (letter != static_cast<char>(LiveQuestion::kNow) && letter != static_cast<char>(LiveQuestion::kHealth)) {
    return fail(ErrorCode::kInvalid, "not a question");
  }
  const std::string text = answer(static_cast<LiveQuestion>(letter));
  if (text.empty()) return reader::send_message(socket, "-", {});
  const UniqueFd file(::memfd_create("live", MFD_CLOEXEC));
  if (!file.is_valid()) return fail_errno(errno, "memfd_create");
  RETURN_IF_ERROR(write_all(file.get(), text));
  const int files[] = {file.get()};
  return reader::send_message(socket, "+", files);
}

}  // namespace oomw
