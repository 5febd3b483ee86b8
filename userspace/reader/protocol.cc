// SPDX-License-Identifier: Apache-2.0
#include "reader/protocol.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "reader/wire.h"

namespace oomw::reader {
namespace {

constexpr std::uint64_t kLastStatus = static_cast<std::uint64_t>(Answer::Status::kLimit);
constexpr std::uint64_t kLastCode = static_cast<std::uint64_t>(ErrorCode::kInternal);

Result<std::string> bounded(std::string bytes) {
  if (bytes.size() > kMaxMessage) return fail(ErrorCode::kLimit, "a message to or from the reader is too long");
  return bytes;
}

union ControlBuffer {
  cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int) * kMaxFiles)];
};

std::vector<UniqueFd> files_of(msghdr& header) {
  std::vector<UniqueFd> files;
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(item) + i * sizeof(int), sizeof fd);
      files.emplace_back(fd);
    }
  }
  return files;
}

}  // namespace

Result<std::string> encode(const Job& job) {
  return bounded(WireWriter().number(job.kind).number(job.number).text(job.parameters).take());
}

Result<std::string> encode(const Answer& answer) {
  return bounded(WireWriter()
                     .number(answer.number)
                     .number(static_cast<std::uint64_t>(answer.status))
                     .number(static_cast<std::uint64_t>(answer.code))
                     .text(answer.payload)
                     .take());
}

Result<Job> decode_job(std::string_view bytes) {
  WireReader in(bytes);
  Job job;
  job.kind = static_cast<std::uint32_t>(in.number());
  job.number = in.number();
  job.parameters = in.text();
  if (!in.is_complete()) return fail(ErrorCode::kInvalid, "not a job for a reader");
  return job;
}

Result<Answer> decode_answer(std::string_view bytes) {
  WireReader in(bytes);
  Answer answer;
  answer.number = in.number();
  const std::uint64_t status = in.number(), code = in.number();
  answer.payload = in.text();
  if (!in.is_complete() || status > kLastStatus || code > kLastCode) {
    return fail(ErrorCode::kInvalid, "not an answer of a reader");
  }
  answer.status = static_cast<Answer::Status>(status);
  answer.code = static_cast<ErrorCode>(code);
  return answer;
}

Result<> send_message(int socket, std::string_view bytes, std::span<const int> files) {
  if (files.size() > kMaxFiles) return fail(ErrorCode::kLimit, "too many files for one message to the reader");
  iovec part{const_cast<char*>(bytes.data()), bytes.size()};
  ControlBuffer control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (!files.empty()) {
    header.msg_control = &control;
    header.msg_controllen = CMSG_SPACE(files.size_bytes());
    cmsghdr* item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(item), files.data(), files.size_bytes());
  }
  for (;;) {
    if (::sendmsg(socket, &header, MSG_NOSIGNAL) >= 0) return {};
    if (errno == EINTR) continue;
    if (errno == EPIPE || errno == ECONNRESET) return fail(ErrorCode::kUnavailable, "the other end is closed");
    return fail_errno(errno, "sendmsg");
  }
}

Result<Message> receive_message(int socket, std::size_t max_files) {
  Message message;
  message.bytes.resize(kMaxMessage);
  iovec part{message.bytes.data(), message.bytes.size()};
  ControlBuffer control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (max_files > 0) {
    header.msg_control = &control;
    header.msg_controllen = sizeof control;
  }
  ssize_t size = -1;
  do {
    size = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  } while (size < 0 && errno == EINTR);
  if (size == 0 || (size < 0 && errno == ECONNRESET)) {
    return fail(ErrorCode::kUnavailable, "the other end is closed");
  }
  if (size < 0) return fail_errno(errno, "recvmsg");
  if (max_files > 0) message.files = files_of(header);
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0 || message.files.size() > max_files) {
    return fail(ErrorCode::kInvalid, "a message with more than it may have");
  }
  message.bytes.resize(static_cast<std::size_t>(size));
  return message;
}

}  // namespace oomw::reader
