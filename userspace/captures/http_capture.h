// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "captures/capture.h"

namespace oomw {

struct HttpCaptureConfig {
  std::vector<std::uint16_t> ports = {1777, 6060};
  std::string path = "/debug/pprof/heap";  // never gc=1: 30 s on a busy process
  Nanoseconds timeout = std::chrono::seconds(5);
  std::uint64_t max_body_bytes = 32u << 20;  // as sent (gzip)
  std::string proc_root = "/proc";
};

// A pprof listener proved to belong to a process: the listening socket's inode is among its fds.
struct PprofEndpoint {
  std::string address;  // numeric, as to be connected to: 127.0.0.1, ::1 or the bound address
  std::uint16_t port = 0;
  std::uint64_t netns_inode = 0;
};

// Heap profiles over the process's own pprof endpoint, as people fetch them by hand, from inside
// its network namespace: the socket is made there (setns, socket, setns back: 0.02 ms measured)
// and used from ours. Guarantees:
//   - only a listener whose socket the target itself holds is asked (containers of a pod share a
//     namespace; a neighbour must not answer for the victim);
//   - GET only, no redirect followed, no proxy, connection to the listener's own address only;
//   - deadline, size cap and cap on the inflated size; the body must be a whole pprof profile
//     with the heap's sample types, otherwise result failed with a reason:
//     no_endpoint | refused | timeout | http_status | redirect | too_large | not_a_profile |
//     truncated | gone | netns
//   - what is stored = the body's profile with comments appended (method, trigger, process, time);
//   - endpoints are cached per process until forget(); at most 4096 entries.
// Thread-safe: several workers call it. A thread that fails to return to its own network
// namespace aborts the daemon: it must never go on in a container's namespace.
class HttpCapture final : public CaptureBackend {
 public:
  explicit HttpCapture(HttpCaptureConfig config, const Clock& clock);
  ~HttpCapture() override;
  [[nodiscard]] CaptureOutcome capture(const CaptureRequest& request) override;
  void prepare(const CaptureRequest& request) override;
  void forget(ProcessKey process) override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomw
