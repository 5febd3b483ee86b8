// SPDX-License-Identifier: Apache-2.0
#include "web/site/daemon_link.h"

#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "base/files.h"
#include "reader/protocol.h"

namespace oomw {
namespace {

constexpr int kPatienceMs = 2'000;
constexpr std::size_t kMaxAnswer = 4u << 20;

}  // namespace

Result<std::string> DaemonLink::ask(LiveQuestion question) {
  if (!socket_.is_valid()) return fail(ErrorCode::kUnavailable, "the daemon does not answer");
  const char letter = static_cast<char>(question);
  RETURN_IF_ERROR(reader::send_message(socket_.get(), std::string_view(&letter, 1), {}));
  pollfd waiting{socket_.get(), POLLIN, 0};
  if (::poll(&waiting, 1, kPatienceMs) != 1) {
    socket_.reset();
    return fail(ErrorCode::kUnavailable, "the daemon does not answer");
  }
  ASSIGN_OR_RETURN(const reader::Message message, reader::receive_message(socket_.get(), 1));
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
