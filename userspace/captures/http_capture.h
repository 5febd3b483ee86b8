// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/memory_budget.h"
#include "captures/capture.h"
#include "facts/operation_patterns.h"
#include "reader/reader.h"

namespace oomw {

struct HttpCaptureConfig {
  std::vector<std::uint16_t> ports = {1777, 6060};
  std::string path = "/debug/pprof/heap";  // never gc=1: 30 s on a busy process
  Nanoseconds timeout = std::chrono::seconds(5);
  std::uint64_t max_body_bytes = 32u << 20;  // as sent (gzip)
  std::string proc_root = "/proc";
  OperationPatterns patterns;  // of what a profile is summed by
};

// Heap profiles over the process's own pprof endpoint, as people fetch them by hand, from inside its network namespace:
// the socket is made there (setns, socket, setns back: 0.02 ms measured) and used from ours. Guarantees:
//   - only a listener whose socket the target itself holds is asked (containers of a pod share a
//     namespace; a neighbour must not answer for the victim);
//   - GET only, no redirect followed, no proxy, connection to the listener's own address only;
//   - deadline, size cap and cap on the inflated size; the body never becomes part of this process: it goes to a file
//     in memory, and the reader process parses it. It must be a whole pprof profile
//     with the heap's sample types, otherwise result failed with a reason;
//   - the process is alive and still holds that listener once connected, before anything is sent;
//     a whole answer then counts, also when the process has been killed meanwhile;
//   - a whole profile is followed by one request for the process's MemStats (memstats_fetch.h), within the same
//     deadline and a budget (memstats_budget.h); without them the capture is still whole;
//   - the stored profile = the body's profile with comments appended (method, trigger, process, time);
//   - with several targets the first whole profile wins; otherwise the failure that got furthest is reported. One
//     target may use half of the time left, the last one all of it;
//   - the port in a pod's annotation comes first and under the same rules: one that another process of the pod listens
//     on is not asked;
//   - endpoints are cached per process until forget(); at most 4096 entries.
// Thread-safe: several workers call it. A thread that fails to return to its own network namespace aborts the daemon:
// it must never continue in a container's namespace.
class HttpCapture final : public CaptureBackend {
 public:
  // memory: the budget that an answer's bytes are leased from; null: nothing else needs any. reader: see
  // check_profile().
  HttpCapture(HttpCaptureConfig config, const Clock& clock, MemoryBudget* memory = nullptr,
              reader::Reader* reader = nullptr);
  ~HttpCapture() override;
  [[nodiscard]] CaptureOutcome capture(const CaptureRequest& request) override;
  void prepare(const CaptureRequest& request) override;
  void forget(ProcessKey process) override;
  [[nodiscard]] std::uint64_t memstats_left_out() const;  // for the budget. Any thread

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomw
