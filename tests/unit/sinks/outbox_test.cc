// SPDX-License-Identifier: Apache-2.0
#include "sinks/outbox.h"

#include <functional>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "store/incident_store.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// What a destination was given, and the answers it gives.
struct Script {
  std::mutex mutex;
  std::vector<std::string> delivered;  // "<id> <nth>"
  std::vector<Delivery> answers;       // then kSent
};

class Scripted final : public Destination {
 public:
  Scripted(Script& script, bool takes_revisions) : script_(script), takes_revisions_(takes_revisions) {}
  Delivery deliver(const StoredIncident& stored, unsigned nth) override {
    const std::lock_guard lock(script_.mutex);
    script_.delivered.push_back(stored.incident.id + " " + std::to_string(nth));
    if (script_.answers.empty()) return Delivery::sent();
    const Delivery answer = script_.answers.front();
    script_.answers.erase(script_.answers.begin());
    return answer;
  }
  bool takes_revisions() const override { return takes_revisions_; }

 private:
  Script& script_;
  const bool takes_revisions_;
};

class OutboxTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = std::make_unique<IncidentStore>(data_dir(), [](const auto&, const auto&) { return Result<>{}; });
  }
  std::string data_dir() const { return directory_.path() + "/data"; }
  // The second of the kill is part of an id.
  static std::string id_of(WallTime time, const std::string& end) {
    std::string second = to_rfc3339(time).substr(0, 19);
    std::erase_if(second, [](char c) { return c == '-' || c == ':'; });
    return second + "Z-" + end;
  }
  Incident incident(const std::string& comm = "app", const std::string& end = "0000000a") const {
    Incident made;
    made.time = now_;
    made.id = id_of(now_, end);
    made.scope = "container";
    made.victims.resize(1);
    made.victims[0].comm = comm;
    return made;
  }
  StoredAt write(const Incident& made, bool is_revision = false) {
    auto written = store_->write(made);
    EXPECT_TRUE(written.has_value());
    return {written->directory, is_revision};
  }
  std::unique_ptr<Outbox> start(bool takes_revisions = true, OutboxBudget budget = {}) {
    return std::make_unique<Outbox>("test", data_dir(), budget, std::make_unique<Scripted>(script_, takes_revisions),
                                    std::make_shared<std::atomic<bool>>(false), health_, clock_);
  }
  // The test's own time limit ends a wait that never ends.
  static void wait_for(const std::function<bool()>& is_true) {
    while (!is_true()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  static void wait_idle(const Outbox& outbox) {
    wait_for([&] { return !outbox.holds("scanned?") && outbox.stats().waiting == 0; });
  }
  std::vector<std::string> delivered() {
    const std::lock_guard lock(script_.mutex);
    return script_.delivered;
  }

  test::TemporaryDirectory directory_;
  SystemClock clock_;
  SinkHealth health_{data_dir(), clock_};
  const WallTime now_ = clock_.wall_now();
  const std::string id_ = id_of(now_, "0000000a");
  Script script_;
  std::unique_ptr<IncidentStore> store_;
};

TEST_F(OutboxTest, an_incident_is_delivered_and_marked) {
  auto outbox = start();
  const Incident made = incident();
  const StoredAt at = write(made);
  outbox->publish(made, at);
  wait_for([&] { return outbox->stats().sent == 1; });
  wait_idle(*outbox);
  EXPECT_THAT(delivered(), ElementsAre(id_ + " 1"));
  const auto marker = read_marker(at.directory, "test");
  ASSERT_TRUE(marker.has_value());
  EXPECT_EQ(marker->state, MarkerState::kSent);
  EXPECT_EQ(marker->sent, 1u);
  EXPECT_EQ(marker->revision, revision_of(at.directory));
}

TEST_F(OutboxTest, what_lies_on_disk_is_found_at_the_start_and_once_only) {
  write(incident());
  {
    auto outbox = start();
    wait_for([&] { return outbox->stats().sent == 1; });
  }
  auto again = start();
  wait_idle(*again);
  EXPECT_EQ(again->stats().sent, 0u);
  EXPECT_EQ(delivered().size(), 1u);
}

TEST_F(OutboxTest, a_torn_marker_costs_a_second_delivery_under_the_same_id) {
  const StoredAt at = write(incident());
  ASSERT_TRUE(write_file_atomic(at.directory + "/.delivery-test", "{\"state\":\"se").has_value());
  auto outbox = start();
  wait_for([&] { return outbox->stats().sent == 1; });
  EXPECT_THAT(delivered(), ElementsAre(id_ + " 1"));
}

TEST_F(OutboxTest, a_revision_is_delivered_with_its_number) {
  write(incident());
  {
    auto outbox = start();
    wait_for([&] { return outbox->stats().sent == 1; });
  }
  write(incident("renamed"), true);
  auto again = start();
  wait_for([&] { return again->stats().sent == 1; });
  EXPECT_THAT(delivered(), ElementsAre(id_ + " 1", id_ + " 2"));
}

TEST_F(OutboxTest, a_destination_without_revisions_gets_the_first_form_only) {
  write(incident());
  {
    auto outbox = start(false);
    wait_for([&] { return outbox->stats().sent == 1; });
  }
  write(incident("renamed"), true);
  auto again = start(false);
  wait_idle(*again);
  EXPECT_EQ(delivered().size(), 1u);
}

TEST_F(OutboxTest, a_failure_that_may_pass_is_tried_again_and_held_meanwhile) {
  script_.answers = {Delivery::retry(DeliveryReason::kConnect, "refused")};
  const StoredAt at = write(incident());
  auto outbox = start();
  wait_for([&] { return outbox->stats().failed.contains(DeliveryReason::kConnect); });
  EXPECT_TRUE(outbox->holds(at.directory.substr(at.directory.rfind('/') + 1)));
  wait_for([&] { return outbox->stats().sent == 1; });
  EXPECT_EQ(delivered().size(), 2u);
}

TEST_F(OutboxTest, a_refusal_is_dead_lettered_with_its_reason) {
  script_.answers = {Delivery::refused(DeliveryReason::kTooLarge, "HTTP status 413")};
  const StoredAt at = write(incident());
  auto outbox = start();
  wait_for([&] { return outbox->stats().dead_lettered.contains(DeliveryReason::kTooLarge); });
  wait_idle(*outbox);
  const SinkSurvey survey = survey_sink(data_dir(), "test");
  EXPECT_EQ(survey.dead, 1u);
  EXPECT_EQ(survey.unsent, 0u);
  EXPECT_THAT(to_text(survey), HasSubstr(id_ + ": too_large: HTTP status 413"));
}

TEST_F(OutboxTest, where_there_is_nothing_to_deliver_nothing_is_counted_and_nothing_comes_again) {
  script_.answers = {Delivery::nothing()};
  const StoredAt at = write(incident());
  auto outbox = start();
  wait_for([&] { return read_marker(at.directory, "test").has_value(); });
  wait_idle(*outbox);
  EXPECT_EQ(outbox->stats().sent, 0u);
  outbox = start();
  wait_idle(*outbox);
  EXPECT_EQ(delivered().size(), 1u);
  EXPECT_EQ(to_text(survey_sink(data_dir(), "test")), "0 delivered, 0 not yet, 0 dead-lettered, 1 with nothing for it");
}

TEST_F(OutboxTest, a_first_form_that_was_refused_stays_so_where_revisions_are_not_wanted) {
  script_.answers = {Delivery::refused(DeliveryReason::kForbidden, "")};
  write(incident());
  wait_idle(*start(false));
  write(incident("later"), true);
  wait_idle(*start(false));
  EXPECT_EQ(delivered().size(), 1u);
}

TEST_F(OutboxTest, an_incident_beyond_the_budget_is_dead_lettered_without_a_try) {
  Incident old = incident();
  old.time = *parse_rfc3339("2020-01-01T00:00:00Z");
  old.id = id_of(old.time, "0000000b");
  write(old);
  auto outbox = start();
  wait_for([&] { return outbox->stats().dead_lettered.contains(DeliveryReason::kAge); });
  EXPECT_TRUE(delivered().empty());
}

TEST_F(OutboxTest, an_unreadable_incident_stops_nobody) {
  ASSERT_TRUE(make_directories(data_dir() + "/incidents", 0700).has_value());
  const StoredAt at = write(incident());
  ASSERT_TRUE(write_file_atomic(at.directory + "/incident.json", "{").has_value());
  write(incident("app", "0000000c"));
  auto outbox = start();
  wait_for([&] { return outbox->stats().sent == 1; });
  wait_for([&] { return outbox->stats().dead_lettered.contains(DeliveryReason::kUnreadable); });
}

TEST_F(OutboxTest, the_status_says_since_when_a_sink_fails) {
  script_.answers = {Delivery::retry(DeliveryReason::kTls, "wrong certificate")};
  write(incident());
  auto outbox = start();
  wait_for([&] {
    const auto status = load_sink_status(data_dir(), "test");
    return status && status->is_failing;
  });
  EXPECT_THAT(to_text(survey_sink(data_dir(), "test")), HasSubstr("tls: wrong certificate"));
  wait_for([&] { return !load_sink_status(data_dir(), "test")->is_failing; });
}

TEST_F(OutboxTest, an_undelivered_incident_is_not_pruned) {
  script_.answers.assign(100, Delivery::retry(DeliveryReason::kConnect, "refused"));
  for (int i = 0; i < 5; ++i) write(incident("app", "0000000" + std::to_string(i)));
  auto outbox = start();
  wait_for([&] { return outbox->stats().waiting == 5; });
  Retention retention;
  retention.count = 1;
  const ClockReading now{clock_.wall_now(), std::chrono::hours(24), "b"};
  const auto is_held = [&](const std::string& name) { return outbox->holds(name); };
  EXPECT_EQ(store_->prune(retention, now, is_held)->dropped(), 0u);
  EXPECT_EQ(store_->prune(retention, now)->dropped(), 4u);
}

}  // namespace
}  // namespace oomw
