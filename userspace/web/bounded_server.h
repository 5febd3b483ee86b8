// SPDX-License-Identifier: Apache-2.0
// Private to web/: includes httplib, which is 2 s of compile time.
#pragma once

#include <atomic>
#include <chrono>

#include <httplib.h>

namespace oomw {

// httplib's server with bounds for what a stranger can make it spend. As shipped (0.11) it reads
// a header line of any length into memory: 20 MB sent without a newline cost 20 MB of RSS, and a
// byte every four seconds holds a thread for ever. Here:
//   - a request head has kMaxHeadBytes and kHeadDeadline, its answer kAnswerDeadline;
//   - one request per connection: an idle keep-alive connection would hold one of two threads;
//   - request bodies are never read;
//   - at most kMaxQueued connections wait for a thread; beyond that, the accepting thread serves
//     them itself, so the kernel's backlog holds the rest;
//   - answers are compressed with gzip only: brotli at its default level takes seconds per MB.
// Configure, bind, then listen_after_bind() on a thread of its own; cancel() before stop().
class BoundedServer : public httplib::Server {
 public:
  static constexpr std::size_t kMaxHeadBytes = 8'192;
  static constexpr std::chrono::milliseconds kHeadDeadline{2'000};
  static constexpr std::chrono::milliseconds kAnswerDeadline{10'000};
  static constexpr std::size_t kThreads = 2;
  static constexpr std::size_t kMaxQueued = 16;

  BoundedServer();
  // Ends requests in flight within 100 ms. Any thread.
  void cancel() { cancelled_ = true; }

 private:
  bool process_and_close_socket(socket_t socket) override;

  std::atomic<bool> cancelled_ = false;
};

}  // namespace oomw
