// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <thread>

#include "sinks/memory_events.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinks/otlp_events.h"

namespace oomw {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

// Time passes only where a test lets it.
class MemoryEventsTest : public ::testing::Test {
 protected:
  void add(std::uint64_t id) {
    model.apply(CgroupCreated{now, {id}, {}, "/" + std::to_string(id), true});
    ContainerIdentity identity;
    identity.runtime = "containerd";
    identity.id = "id-" + std::to_string(id);
    identity.name = "c" + std::to_string(id);
    model.apply(ContainerIdentified{now, {id}, identity, true});
  }
  void sample(std::uint64_t id, std::optional<std::uint64_t> held, std::uint64_t usage = 100) {
    model.apply(MemorySampled{now, {id}, usage, 100, held, 0, false, {}, {}});
  }
  void start(std::int32_t pid, std::uint64_t cgroup) {
    ProcessSeen seen;
    seen.time = now;
    seen.process = {pid, 7};
    seen.cgroup = {cgroup};
    seen.comm = "p\x1b";
    model.apply(seen);
  }
  std::vector<std::string> look() {
    std::vector<std::string> names;
    records = events.observe(model, suspicions, now, 5, {"prod", "host"});
    for (const OtlpRecord& record : records) names.push_back(record.event_name);
    return names;
  }
  // Names of all events of this time, every 5 s a look, each container with the same reading before it.
  std::vector<std::string> pass(Nanoseconds time, const std::map<std::uint64_t, std::uint64_t>& held) {
    std::vector<std::string> names;
    for (const MonotonicTime until = now + time; now < until;) {
      now = now + 5s;
      for (const auto& [id, bytes] : held) sample(id, bytes);
      const std::vector<std::string> more = look();
      names.insert(names.end(), more.begin(), more.end());
    }
    return names;
  }

  MonotonicTime now{1'000'000'000};
  MemoryModel model;
  MemoryEvents events{5min};
  LeakSuspicions suspicions;
  std::vector<OtlpRecord> records;
};

TEST_F(MemoryEventsTest, five_minutes_near_the_limit_are_one_event_an_hour) {
  add(1);
  EXPECT_THAT(pass(5min, {{1, 90}}), IsEmpty());
  EXPECT_THAT(pass(5s, {{1, 90}}), ElementsAre("oomwitness.near_limit"));
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].body, "c1 was at 90 % of its limit or more for 300 s, page cache not counted.");
  EXPECT_EQ(records[0].time.ns, now.ns + 5);
  EXPECT_EQ(records[0].severity, 13);
  EXPECT_THAT(records[0].attributes, ::testing::Contains(OtlpAttribute{"oomwitness.limit", std::int64_t{100}}));
  EXPECT_THAT(records[0].resource, ::testing::Contains(OtlpAttribute{"container.name", std::string("c1")}));
  EXPECT_THAT(pass(59min + 55s, {{1, 95}}), IsEmpty());
  EXPECT_THAT(pass(5s, {{1, 95}}), ElementsAre("oomwitness.near_limit"));
}

TEST_F(MemoryEventsTest, one_reading_below_begins_the_time_anew) {
  add(1);
  EXPECT_THAT(pass(4min, {{1, 95}}), IsEmpty());
  EXPECT_THAT(pass(5s, {{1, 89}}), IsEmpty());
  EXPECT_THAT(pass(5min, {{1, 95}}), IsEmpty());
  EXPECT_THAT(pass(5s, {{1, 95}}), ElementsAre("oomwitness.near_limit"));
}

TEST_F(MemoryEventsTest, page_cache_and_readings_that_are_old_or_lack_the_figure_are_not_near) {
  add(1);
  sample(1, 10, 100);
  EXPECT_THAT(pass(6min, {{1, 10}}), IsEmpty());
  sample(1, std::nullopt);
  EXPECT_THAT(pass(6min, {}), IsEmpty());
  sample(1, 95);
  EXPECT_THAT(pass(6min, {}), IsEmpty());
}

TEST_F(MemoryEventsTest, a_suspected_leak_is_said_once_in_a_containers_life) {
  add(1);
  sample(1, 50);
  start(42, 1);
  suspicions[{42, 7}] = {};
  EXPECT_THAT(look(), IsEmpty());
  suspicions[{42, 7}].is_suspected = true;
  EXPECT_THAT(look(), ElementsAre("oomwitness.suspected_leak"));
  EXPECT_EQ(records[0].body, "Suspected leak in c1: the heap of p\\x1b keeps growing where it was.");
  EXPECT_THAT(records[0].attributes, ::testing::Contains(OtlpAttribute{"process.pid", std::int64_t{42}}));
  EXPECT_THAT(pass(2h, {{1, 50}}), IsEmpty());
  model.apply(CgroupRemoved{now, {1}});
  EXPECT_THAT(pass(30s, {}), IsEmpty());
  add(2);
  start(43, 2);
  suspicions[{43, 7}] = {true, {"list of dict, held as `LOG`", 40u << 20, 120u << 20, 310}};
  EXPECT_THAT(look(), ElementsAre("oomwitness.suspected_leak"));
  EXPECT_THAT(records[0].body,
              testing::EndsWith(" What grows most: list of dict, held as `LOG`: 40.0 MiB to 120 MiB in 310 s."));
}

TEST_F(MemoryEventsTest, beyond_the_bound_of_an_hour_they_are_counted_and_not_said) {
  std::map<std::uint64_t, std::uint64_t> all;
  for (std::uint64_t id = 1; id <= MemoryEvents::kMostAnHour + 3; ++id) {
    add(id);
    all[id] = 95;
  }
  EXPECT_EQ(pass(5min + 5s, all).size(), MemoryEvents::kMostAnHour);
  EXPECT_EQ(events.left_out(), 3u);
  EXPECT_EQ(pass(1h, all).size(), MemoryEvents::kMostAnHour);
}

// A sender with the answers it gets; the last one is repeated.
class OtlpEventsTest : public ::testing::Test {
 protected:
  std::unique_ptr<OtlpEvents> make(std::vector<Delivery> answers) {
    answers_ = std::move(answers);
    return std::make_unique<OtlpEvents>(
        true,
        [this](const std::string& body) {
          const std::lock_guard lock(mutex_);
          bodies_.push_back(body);
          return answers_[std::min(bodies_.size(), answers_.size()) - 1];
        },
        std::make_shared<std::atomic<bool>>(false), Nanoseconds(1));
  }
  static OtlpEvents::Stats stats_after(const OtlpEvents& events, std::uint64_t ended) {
    while (true) {
      const OtlpEvents::Stats stats = events.stats();
      std::uint64_t sum = stats.sent;
      for (const auto& [reason, count] : stats.dropped) sum += count;
      if (sum >= ended) return stats;
      std::this_thread::yield();
    }
  }
  static OtlpRecord record(const char* body) {
    OtlpRecord made;
    made.event_name = kNearLimitEvent;
    made.body = body;
    return made;
  }
  std::mutex mutex_;
  std::vector<Delivery> answers_;
  std::vector<std::string> bodies_;
};

TEST_F(OtlpEventsTest, what_may_work_later_is_tried_again_and_the_order_stays) {
  const Delivery refused = Delivery::retry(DeliveryReason::kConnect, "refused");
  const auto events = make({refused, refused, Delivery::sent()});
  events->offer(record("first"));
  events->offer(record("second"));
  EXPECT_EQ(stats_after(*events, 2).sent, 2u);
  EXPECT_THAT(bodies_, ElementsAre(HasSubstr("first"), HasSubstr("first"), HasSubstr("first"), HasSubstr("second")));
}

TEST_F(OtlpEventsTest, what_would_fail_again_is_counted_by_its_reason) {
  const auto refusing = make({Delivery::refused(DeliveryReason::kRejected, "no")});
  refusing->offer(record("one"));
  EXPECT_THAT(stats_after(*refusing, 1).dropped, ElementsAre(std::pair("rejected", 1u)));
}

TEST_F(OtlpEventsTest, what_failed_too_often_is_given_up) {
  const auto events = make({Delivery::retry(DeliveryReason::kTimeout, "slow", Nanoseconds(1))});
  events->offer(record("one"));
  EXPECT_THAT(stats_after(*events, 1).dropped, ElementsAre(std::pair("timeout", 1u)));
  EXPECT_EQ(bodies_.size(), OtlpEvents::kMaxTries);
}

}  // namespace
}  // namespace oomw
