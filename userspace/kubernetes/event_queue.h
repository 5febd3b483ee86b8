// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/rate_limit.h"
#include "kubernetes/api_error.h"
#include "kubernetes/backoff.h"

namespace oomw {

// A Kubernetes Event about a pod, not posted yet.
struct PodEvent {
  std::string id;  // of the incident; the Event is named after it, so that posting it twice creates only one
  WallTime time;
  std::string name_space, pod, pod_uid, container;
  std::string message;
};

// Events that wait to be posted, and the pace at which they may be. No clock, thread or lock.
//   - at most kMax wait, further ones are dropped;
//   - kBurst at once, then one each kEvery: a pod that is killed in a loop must not fill etcd;
//   - 429, 5xx and an unreachable server: retried later, not before Retry-After, with kMaxTries tries in all;
//     403: dropped, and nothing is tried for kForbiddenPause; any other refusal: dropped;
//   - everything dropped is counted by its reason.
class EventQueue {
 public:
  static constexpr std::size_t kMax = 64;
  static constexpr int kBurst = 10;
  static constexpr Nanoseconds kEvery = std::chrono::seconds(6);
  static constexpr unsigned kMaxTries = 5;
  static constexpr Nanoseconds kForbiddenPause = std::chrono::minutes(5);

  bool add(PodEvent event);  // false: dropped
  // The next one if its time has come; on_outcome() is then due before the next take().
  [[nodiscard]] std::optional<PodEvent> take(MonotonicTime now);
  [[nodiscard]] std::optional<MonotonicTime> due(MonotonicTime now) const;  // nullopt: nothing waits
  void on_outcome(PodEvent event, const ApiOutcome& outcome, MonotonicTime now, double random);

  [[nodiscard]] std::size_t size() const { return waiting_.size(); }
  // "posted", "queue_full", "forbidden", "refused", "given_up" -> how many
  [[nodiscard]] const std::map<std::string, std::uint64_t>& counts() const { return counts_; }

 private:
  void drop(const char* reason);

  std::deque<PodEvent> waiting_;
  unsigned tries_ = 0;  // of the first in the queue
  MonotonicTime paused_until_;
  RateLimit pace_{kBurst, kEvery};
  Backoff backoff_;
  std::map<std::string, std::uint64_t> counts_;
};

// core/v1 Event as JSON; "" if its namespace or pod name is not valid in the API.
[[nodiscard]] std::string event_json(const PodEvent& event, const std::string& node);
[[nodiscard]] std::string event_path(const PodEvent& event);

}  // namespace oomw
