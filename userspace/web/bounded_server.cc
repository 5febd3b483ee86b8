// SPDX-License-Identifier: Apache-2.0
#include "web/bounded_server.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"

namespace oomw {
namespace {

using SteadyClock = std::chrono::steady_clock;

class BoundedTasks : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> task) override {
    if (queued_ >= BoundedServer::kMaxQueued) return task();
    ++queued_;
    pool_.enqueue([this, task = std::move(task)] {
      --queued_;
      task();
    });
  }
  void shutdown() override { pool_.shutdown(); }

 private:
  std::atomic<std::size_t> queued_ = 0;
  httplib::ThreadPool pool_{BoundedServer::kThreads};
};

// True once `fd` is ready; false at the deadline or on cancellation.
bool wait_for(int fd, short events, SteadyClock::time_point deadline, const std::atomic<bool>& cancelled) {
  constexpr std::chrono::milliseconds kSlice{100};
  while (!cancelled) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyClock::now());
    if (left.count() <= 0) return false;
    pollfd poll_fd{fd, events, 0};
    if (::poll(&poll_fd, 1, static_cast<int>(std::min(left, kSlice).count())) > 0) return true;
  }
  return false;
}

enum class HeadResult { kComplete, kTooLarge, kGone };

HeadResult read_head(int fd, std::string& head, const std::atomic<bool>& cancelled) {
  const auto deadline = SteadyClock::now() + BoundedServer::kHeadDeadline;
  head.resize(BoundedServer::kMaxHeadBytes);
  std::size_t filled = 0;
  while (wait_for(fd, POLLIN, deadline, cancelled)) {
    const ssize_t n = ::recv(fd, head.data() + filled, head.size() - filled, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return HeadResult::kGone;
    filled += static_cast<std::size_t>(n);
    const std::size_t end = std::string_view(head.data(), filled).find("\r\n\r\n");
    if (end != std::string_view::npos) {
      head.resize(end + 4);
      return HeadResult::kComplete;
    }
    if (filled == head.size()) return HeadResult::kTooLarge;
  }
  return HeadResult::kGone;
}

// The stream that httplib uses. It reads a whole head from memory, then nothing; it writes to the socket.
class ConnectionStream : public httplib::Stream {
 public:
  ConnectionStream(int fd, std::string_view head, const std::atomic<bool>& cancelled)
      : fd_(fd), head_(head), cancelled_(cancelled), deadline_(SteadyClock::now() + BoundedServer::kAnswerDeadline) {}

  [[nodiscard]] bool is_readable() const override { return !head_.empty(); }
  [[nodiscard]] bool is_writable() const override { return wait_for(fd_, POLLOUT, deadline_, cancelled_); }

  ssize_t read(char* to, size_t size) override {
    const std::size_t n = std::min(size, head_.size());
    std::memcpy(to, head_.data(), n);
    head_.remove_prefix(n);
    return static_cast<ssize_t>(n);
  }

  ssize_t write(const char* from, size_t size) override {
    if (!is_writable()) return -1;
    return ::send(fd_, from, size, MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  // Addresses are not used here.
  void get_remote_ip_and_port(std::string& ip, int& port) const override { forget(ip, port); }
  void get_local_ip_and_port(std::string& ip, int& port) const override { forget(ip, port); }
  [[nodiscard]] socket_t socket() const override { return fd_; }

 private:
  static void forget(std::string& ip, int& port) {
    ip.clear();
    port = 0;
  }

  int fd_;
  std::string_view head_;
  const std::atomic<bool>& cancelled_;
  SteadyClock::time_point deadline_;
};

void send_too_large(int fd) {
  constexpr std::string_view kAnswer =
      "HTTP/1.1 431 Request Header Fields Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
  [[maybe_unused]] const ssize_t n = ::send(fd, kAnswer.data(), kAnswer.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

// A close with unread bytes resets the connection, and the client may lose the answer. So this reads on
// for a moment, at most 64 KiB.
void close_gently(UniqueFd fd, const std::atomic<bool>& cancelled) {
  ::shutdown(fd.get(), SHUT_WR);
  const auto deadline = SteadyClock::now() + std::chrono::milliseconds(200);
  char ignored[4096];
  for (int i = 0; i < 16 && wait_for(fd.get(), POLLIN, deadline, cancelled); ++i) {
    if (::recv(fd.get(), ignored, sizeof(ignored), MSG_DONTWAIT) <= 0) return;
  }
}

void allow_gzip_only(httplib::Request& request) {
  const bool takes_gzip = request.get_header_value("Accept-Encoding").find("gzip") != std::string::npos;
  request.headers.erase("Accept-Encoding");
  if (takes_gzip) request.headers.emplace("Accept-Encoding", "gzip");
}

}  // namespace

BoundedServer::BoundedServer() {
  new_task_queue = [] { return std::make_unique<BoundedTasks>().release(); };  // httplib deletes it
  set_payload_max_length(0);
  // Without httplib's default SO_REUSEPORT: with it, a second daemon on the same port would start
  // without an error and take half of the scrapes.
  set_socket_options([](socket_t fd) {
    const int yes = 1, no = 0;
    ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));  // "::" serves IPv4 too; IPv4: no effect
  });
}

bool BoundedServer::process_and_close_socket(socket_t socket) {
  UniqueFd fd(socket);
  std::string head;
  const HeadResult result = read_head(fd.get(), head, cancelled_);
  if (result == HeadResult::kGone) return false;
  if (result == HeadResult::kTooLarge) {
    send_too_large(fd.get());
  } else {
    ConnectionStream stream(fd.get(), head, cancelled_);
    bool is_closed = false;
    process_request(stream, /*close_connection=*/true, is_closed, allow_gzip_only);
  }
  close_gently(std::move(fd), cancelled_);
  return true;
}

}  // namespace oomw
