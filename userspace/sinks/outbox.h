// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/rate_limit.h"
#include "sinks/delivery.h"
#include "sinks/delivery_marker.h"
#include "sinks/incident_sink.h"
#include "sinks/outbox_queue.h"
#include "sinks/sink_status.h"

namespace oomw {

struct SinkStats {
  std::uint64_t sent = 0;
  std::map<DeliveryReason, std::uint64_t> failed, dead_lettered;
  std::size_t waiting = 0;
  std::optional<WallTime> oldest_unsent;  // time of its kill
};

// Delivers every incident on disk to one destination, at least once, from a thread of its own: a destination that hangs
// holds up nobody else.
//   - the incidents' directories are the queue: what is not marked as delivered (DeliveryMarker) is found again after a
//     kill -9. In memory are names only;
//   - first forms go at once; revisions kRevisionDelay later, so that several become one;
//   - what may work later is tried again (OutboxQueue); what would fail again, or is beyond the budget, is
//     dead-lettered: marked with its reason, counted and logged;
//   - publish() returns at once: it takes a lock under which nobody reads, writes or waits.
class Outbox final : public IncidentSink {
 public:
  static constexpr Nanoseconds kRevisionDelay = std::chrono::seconds(3);

  // health and clock outlive this. `stopping`: what the destination looks at while it waits; set when this ends.
  Outbox(std::string name, const std::string& data_dir, OutboxBudget budget, std::unique_ptr<Destination> destination,
         std::shared_ptr<std::atomic<bool>> stopping, SinkHealth& health, const Clock& clock);
  ~Outbox() override;
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  void publish(const Incident& incident, const StoredAt& at) override;
  // Any thread: whether retention must keep the incident with this directory name. True for all until the first scan.
  [[nodiscard]] bool holds(const std::string& directory_name) const;
  [[nodiscard]] SinkStats stats() const;  // any thread
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  void run();
  void scan();
  [[nodiscard]] bool is_due(const std::string& directory) const;
  void measure();
  void drop_over_budget();
  [[nodiscard]] std::optional<std::string> take();
  void handle(const std::string& name);
  [[nodiscard]] Delivery deliver(const std::string& directory, const DeliveryMarker& marker);
  void finish(const std::string& name, const Delivery& delivery, DeliveryMarker marker);
  void bury(const std::string& name, DeliveryReason reason, const std::string& detail);

  const std::string name_, root_;
  const std::unique_ptr<Destination> destination_;
  const std::shared_ptr<std::atomic<bool>> stopping_;
  SinkHealth& health_;
  const Clock& clock_;

  mutable std::mutex mutex_;  // of the next ones
  std::condition_variable changed_;
  OutboxQueue queue_;
  SinkStats stats_;
  bool is_scanned_ = false;

  // Of the thread.
  std::mt19937_64 random_{std::random_device{}()};
  RateLimit dead_lines_{3, std::chrono::minutes(1)};
  std::thread thread_;  // last: it uses all of the above
};

}  // namespace oomw
