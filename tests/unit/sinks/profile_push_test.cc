// SPDX-License-Identifier: Apache-2.0
#include "sinks/profile_push.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "support/builders.h"
#include "unit/base/set_clock.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

using ::testing::Contains;
using ::testing::Pair;

Incident go_incident(WallTime time) {
  Incident incident = test::in_pod("cart-7d9f-x2", "cart", "cart");
  incident.time = time;
  IncidentCapture capture;
  capture.file = "capture-01-at_kill.pb.gz";
  capture.method = "at_kill";
  capture.result = "ok";
  capture.complete = true;
  capture.pid = 7;
  capture.time = time;
  incident.captures.push_back(capture);
  return incident;
}

TEST(ProfileLabels, a_heap_is_no_delta_and_names_its_service) {
  OtlpMapping mapping;
  mapping.cluster_name = "prod";
  const ProfileLabels labels = profile_labels_of(go_incident({}), mapping);
  for (const auto& [name, value] : ProfileLabels{{"__name__", "memory"},
                                                 {"__delta__", "false"},
                                                 {"service_name", "cart"},
                                                 {"namespace", "shop"},
                                                 {"pod", "cart-7d9f-x2"},
                                                 {"container", "cart"},
                                                 {"node", "n1"},
                                                 {"cluster", "prod"}}) {
    EXPECT_THAT(labels, Contains(Pair(name, value)));
  }
}

TEST(PushBody, pyroscope_gets_one_series_with_a_raw_profile) {
  const auto body = nlohmann::json::parse(push_body({{"__name__", "memory"}}, "an-id", "\x1f\x8b!", false));
  EXPECT_EQ(body["series"][0]["labels"][0]["value"], "memory");
  EXPECT_EQ(body["series"][0]["samples"][0]["ID"], "an-id");
  EXPECT_EQ(body["series"][0]["samples"][0]["rawProfile"], "H4sh");
}

TEST(PushBody, parca_gets_a_label_set_without_the_delta) {
  const auto body =
      nlohmann::json::parse(push_body({{"__name__", "memory"}, {"__delta__", "false"}}, "an-id", "x", true));
  EXPECT_EQ(body["series"][0]["labels"]["labels"].size(), 1u);
  EXPECT_FALSE(body["series"][0]["samples"][0].contains("ID"));
}

// RFC 4648, section 10.
TEST(Base64, the_published_vectors_hold) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(UuidOf, is_a_uuid_and_the_same_for_the_same_text) {
  const std::string uuid = uuid_of("a");
  EXPECT_EQ(uuid.size(), 36u);
  EXPECT_EQ(uuid[14], '8');
  EXPECT_EQ(uuid, uuid_of("a"));
  EXPECT_NE(uuid, uuid_of("b"));
}

class ProfilePushTest : public ::testing::Test {
 protected:
  static constexpr WallTime kKill{1'800'000'000'000'000'000};

  // Nothing listens on port 1: an attempt to send ends in "connect".
  Delivery deliver(Nanoseconds age, bool has_profile = true) {
    Incident incident = go_incident(kKill);
    if (!has_profile) incident.captures.clear();
    EXPECT_TRUE(write_file_atomic(directory_ / "incident.json", to_json(incident)).has_value());
    EXPECT_TRUE(write_file_atomic(directory_ / "capture-01-at_kill.pb.gz", "profile").has_value());
    const test::SetClock clock({1}, {kKill.ns + age.count()});
    HttpEndpoint endpoint;
    endpoint.url = "http://127.0.0.1:1";
    const auto stopping = std::make_shared<std::atomic<bool>>(false);
    const auto fold = [this](const StoredFile&) { return ++folds_, std::string("small"); };
    ProfilePush push(pyroscope_store(endpoint, false, {}, fold, stopping), stopping, clock);
    return push.deliver({directory_ / "", incident}, 1);
  }

  test::TemporaryDirectory directory_;
  int folds_ = 0;
};

TEST_F(ProfilePushTest, a_store_that_is_away_is_tried_again) {
  const Delivery delivery = deliver(std::chrono::minutes(1));
  EXPECT_EQ(delivery.outcome, Delivery::Outcome::kRetry);
  EXPECT_EQ(delivery.reason, DeliveryReason::kConnect);
  EXPECT_EQ(folds_, 1);
}

TEST_F(ProfilePushTest, after_55_minutes_it_is_dead_lettered_unsent) {
  const Delivery delivery = deliver(std::chrono::minutes(56));
  EXPECT_EQ(delivery.outcome, Delivery::Outcome::kRefused);
  EXPECT_EQ(delivery.reason, DeliveryReason::kAge);
  EXPECT_EQ(folds_, 0);
}

TEST_F(ProfilePushTest, an_incident_without_a_profile_is_done) {
  EXPECT_EQ(deliver(std::chrono::minutes(1), false).outcome, Delivery::Outcome::kNothing);
}

TEST_F(ProfilePushTest, one_that_was_sent_before_is_not_sent_again) {
  ASSERT_TRUE(write_file_atomic(directory_ / ".profile-pyroscope", "capture-01-at_kill.pb.gz\n").has_value());
  EXPECT_EQ(deliver(std::chrono::minutes(1)).outcome, Delivery::Outcome::kNothing);
  EXPECT_EQ(folds_, 0);
}

}  // namespace
}  // namespace oomw
