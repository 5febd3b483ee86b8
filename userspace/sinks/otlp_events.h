// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "base/worker_pool.h"
#include "sinks/delivery.h"
#include "sinks/otlp_record.h"

namespace oomw {

// Log records that no incident on disk stands behind, in order and from a thread of their own. What may work later is
// tried again, kMaxTries times in all; they are lost with the daemon. At most kMax wait.
class OtlpEvents {
 public:
  static constexpr std::size_t kMax = 256;
  static constexpr unsigned kMaxTries = 20;  // some 15 minutes
  using Post = std::function<Delivery(const std::string& body)>;
  struct Stats {
    std::uint64_t sent = 0;
    std::map<std::string, std::uint64_t> dropped;  // by reason; "full"
  };

  // The wait before the next try is `first_wait`, and twice as long each time, up to a minute. `stopping`: what post
  // looks at while it waits; set when this ends.
  OtlpEvents(bool is_json, Post post, std::shared_ptr<std::atomic<bool>> stopping,
             Nanoseconds first_wait = std::chrono::seconds(1));
  ~OtlpEvents();
  OtlpEvents(const OtlpEvents&) = delete;
  OtlpEvents& operator=(const OtlpEvents&) = delete;

  void offer(OtlpRecord record);      // returns at once
  [[nodiscard]] Stats stats() const;  // any thread

 private:
  void send(const OtlpRecord& record);
  void count(const Delivery& delivery);
  void rest(Nanoseconds wait);

  const bool is_json_;
  const Post post_;
  const std::shared_ptr<std::atomic<bool>> stopping_;
  const Nanoseconds first_wait_;

  mutable std::mutex mutex_;  // of the next ones
  std::condition_variable stopped_;
  Stats stats_;

  WorkerPool thread_{"oomw-events", 1, kMax};  // last: it uses all of the above
};

}  // namespace oomw
