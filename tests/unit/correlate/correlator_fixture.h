// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "correlate/correlator.h"
#include "unit/model/event_builders.h"

namespace oomw::test {

// A model and a correlator that see the same events.
class CorrelatorFixture : public ::testing::Test {
 protected:
  static constexpr std::int64_t kWallOffset = 1'795'000'000'000'000'000;

  explicit CorrelatorFixture(std::initializer_list<Event> events) {
    for (const Event& event : events) apply(event);
  }
  void apply(const Event& event) {
    model_.apply(event);
    correlator_.apply(event, model_);
  }
  std::vector<Incident> take(std::int64_t ms) { return correlator_.take_ready(at_ms(ms), model_, kWallOffset); }
  Incident take_one(std::int64_t ms) {
    std::vector<Incident> ready = take(ms);
    EXPECT_EQ(ready.size(), 1u);
    return ready.empty() ? Incident{} : ready.front();
  }
  // Of process 10, killed at the limit of cgroup 2.
  Incident killed_at_limit() {
    apply(killed(10, 5, 2, 2, 1000));
    return take_one(1005);
  }

  MemoryModel model_;
  Correlator correlator_{CorrelatorConfig{}};
};

// pod 1 > container 2 > nested 3, and container 4 beside it; process 10 lives in 2.
class PodCorrelatorFixture : public CorrelatorFixture {
 protected:
  PodCorrelatorFixture()
      : CorrelatorFixture({created(1, 0, "/pod"), created(2, 1, "/pod/web"), created(3, 2, "/pod/web/nested"),
                           created(4, 1, "/pod/db"), identified(2, std::string(64, 'a'), "web"),
                           identified(4, std::string(64, 'b'), "db"), seen(10, 5, 2), seen(20, 5, 4)}) {}
  static CaptureFinished capture(std::int64_t ms, std::uint64_t id = 1) {
    CaptureFinished e;
    e.time = at_ms(ms);
    e.started = at_ms(ms - 4);
    e.capture_id = id;
    e.cgroup = {2};
    e.process = {10, 5};
    e.trigger = CaptureTrigger::watermark(90);
    e.result = CaptureResult::kOk;
    e.inuse_bytes = 100 * kMiB;
    e.complete = true;
    e.spool_file = std::to_string(id) + "-http.pb.gz";
    return e;
  }
  static CaptureFinished refused(std::int64_t ms, CaptureReason reason, std::uint64_t id = 1) {
    CaptureFinished e = capture(ms, id);
    e.result = CaptureResult::kFailed;
    e.reason = reason;
    e.spool_file = "";
    e.inuse_bytes.reset();
    return e;
  }
};

}  // namespace oomw::test
