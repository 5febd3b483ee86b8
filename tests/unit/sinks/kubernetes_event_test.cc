// SPDX-License-Identifier: Apache-2.0
#include "sinks/kubernetes_event.h"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/builders.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

using ::testing::HasSubstr;

Incident make_incident() {
  Incident incident = test::in_pod("web-0");
  incident.scope = "container";
  incident.container.pod_uid = "9f3d";
  incident.limit_bytes = 512u << 20;
  incident.victims.resize(1);
  incident.victims[0].comm = "web\x1b[31m";
  incident.victims[0].process.pid = 42;
  incident.verdict = IncidentVerdict{"spike", 0.8, {"usage rose"}};
  return incident;
}

TEST(PodEventOf, says_who_why_and_where) {
  const auto event = pod_event_of(make_incident(), "/var/lib/oomwitness/incidents/x", "");
  ASSERT_TRUE(event.has_value());
  EXPECT_THAT(event->message, HasSubstr("OOM-killed web\\x1b[31m (pid 42) because its limit of 512 MiB was used up."));
  EXPECT_THAT(event->message, HasSubstr("Likely cause: spike."));
  EXPECT_THAT(event->message, HasSubstr("/var/lib/oomwitness/incidents/x"));
  EXPECT_THAT(event->message, HasSubstr("oomwitness show 20261121T030405Z-1a2b3c4d"));
}

TEST(PodEventOf, has_the_answer) {
  Incident incident = make_incident();
  incident.answer = IncidentAnswer{"Sudden growth in web\x1b[31m: usage rose.", "spike", 0.8, {}, "Bound it."};
  EXPECT_THAT(pod_event_of(incident, "/d", "")->message, HasSubstr("Sudden growth in web\\x1b[31m: usage rose."));
}

TEST(PodEventOf, names_the_workload_where_it_is_known) {
  Incident incident = make_incident();
  incident.pod.emplace().workload = {"Deployment", "web", "pod_template_hash"};
  EXPECT_THAT(pod_event_of(incident, "/d", "")->message, HasSubstr("(pid 42) of Deployment web because its limit"));
}

TEST(PodEventOf, says_whose_limit_it_was) {
  Incident incident = make_incident();
  incident.scope = "pod";
  const auto message = [&] { return pod_event_of(incident, "/d", "")->message; };
  EXPECT_THAT(message(), HasSubstr("because the limit of 512 MiB of its pod was used up."));
  incident.limit_shares.resize(2);
  EXPECT_THAT(message(),
              HasSubstr("because the limit of 512 MiB of its pod, which its containers share, was used up."));
  incident.scope = "ancestor";
  EXPECT_THAT(message(), HasSubstr("because a limit of 512 MiB above it was used up."));
}

TEST(PodEventOf, says_what_to_do_and_a_long_answer_leaves_room_for_the_evidence) {
  Incident incident = make_incident();
  incident.answer = IncidentAnswer{"Leak in web.", "leak", 0.8, {}, "Bound it."};
  EXPECT_THAT(pod_event_of(incident, "/d", "")->message, HasSubstr("Leak in web. What to do: Bound it. Evidence"));
  incident.answer->again = "Killed again.";
  EXPECT_THAT(pod_event_of(incident, "/d", "")->message, HasSubstr("Bound it. Killed again. Evidence"));
  incident.answer->sentence = incident.answer->action = std::string(5'000, 's');
  const std::string directory = "/" + std::string(400, 'd');
  const std::string message = pod_event_of(incident, directory, "")->message;
  EXPECT_LE(message.size(), 1'024u);
  EXPECT_THAT(message, HasSubstr(directory + ", or `oomwitness show 20261121T030405Z-1a2b3c4d`."));
}

TEST(PodEventOf, a_static_pods_event_bears_its_mirrors_uid) {
  EXPECT_EQ(pod_event_of(make_incident(), "/d", "mirror")->pod_uid, "mirror");
  EXPECT_EQ(pod_event_of(make_incident(), "/d", "")->pod_uid, "9f3d");
}

TEST(PodEventOf, what_is_no_pod_has_none) {
  Incident incident = make_incident();
  incident.container.pod_name.clear();
  EXPECT_FALSE(pod_event_of(incident, "/d", "").has_value());
}

TEST(EventDeliveryOf, what_was_posted_or_is_there_already_is_sent) {
  EXPECT_EQ(event_delivery_of({ApiError::kNone, "", {}}).outcome, Delivery::Outcome::kSent);
  EXPECT_EQ(event_delivery_of({ApiError::kConflict, "", {}}).outcome, Delivery::Outcome::kSent);
}

TEST(EventDeliveryOf, a_refusal_is_final) {
  for (const ApiError error : {ApiError::kForbidden, ApiError::kHttp, ApiError::kRedirect}) {
    EXPECT_EQ(event_delivery_of({error, "", {}}).outcome, Delivery::Outcome::kRefused) << to_string(error);
  }
  EXPECT_EQ(event_delivery_of({ApiError::kForbidden, "", {}}).reason, DeliveryReason::kForbidden);
}

TEST(EventDeliveryOf, everything_else_comes_again) {
  for (int i = 0; i < kApiErrors; ++i) {
    const auto error = static_cast<ApiError>(i);
    const bool is_final = error == ApiError::kNone || error == ApiError::kConflict || error == ApiError::kForbidden ||
                          error == ApiError::kHttp || error == ApiError::kRedirect;
    if (is_final) continue;
    const Delivery delivery = event_delivery_of({error, "why", {}});
    EXPECT_EQ(delivery.outcome, Delivery::Outcome::kRetry) << to_string(error);
    EXPECT_NE(delivery.reason, DeliveryReason::kNone) << to_string(error);
  }
  EXPECT_EQ(event_delivery_of({ApiError::kRateLimited, "", std::chrono::seconds(17)}).retry_after,
            std::chrono::seconds(17));
}

// An API server that nobody serves: each delivery fails to connect.
class KubernetesEventsTest : public ::testing::Test {
 protected:
  KubernetesEventsTest() {
    std::ofstream(directory_ / "token") << "t";
    ApiTarget target{"https://127.0.0.1:1", directory_ / "token", directory_ / "ca.crt", "n1"};
    sink_ = std::make_unique<KubernetesEvents>(target, nullptr, std::make_shared<std::atomic<bool>>(false), clock_);
  }
  test::TemporaryDirectory directory_;
  SystemClock clock_;
  std::unique_ptr<KubernetesEvents> sink_;
};

TEST_F(KubernetesEventsTest, only_the_first_form_of_an_incident_of_a_pod_is_delivered) {
  EXPECT_FALSE(sink_->takes_revisions());
  Incident incident = make_incident();
  incident.container.pod_name.clear();
  EXPECT_EQ(sink_->deliver({"/d", incident}, 1).outcome, Delivery::Outcome::kNothing);
  EXPECT_EQ(sink_->deliver({"/d", make_incident()}, 1).outcome, Delivery::Outcome::kRetry);
}

TEST_F(KubernetesEventsTest, after_a_burst_it_pauses) {
  for (int i = 0; i + 1 < KubernetesEvents::kBurst; ++i) {
    EXPECT_EQ(sink_->pause(), Nanoseconds(0)) << i;
    (void)sink_->deliver({"/d", make_incident()}, 1);
  }
  (void)sink_->deliver({"/d", make_incident()}, 1);
  EXPECT_GT(sink_->pause(), Nanoseconds(0));
  EXPECT_LE(sink_->pause(), KubernetesEvents::kEvery);
}

TEST_F(KubernetesEventsTest, a_name_that_the_api_would_not_take_is_refused) {
  Incident incident = make_incident();
  incident.container.pod_name = "../x";
  EXPECT_EQ(sink_->deliver({"/d", incident}, 1).reason, DeliveryReason::kRefused);
}

}  // namespace
}  // namespace oomw
