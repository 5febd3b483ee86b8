// SPDX-License-Identifier: Apache-2.0
#include "sinks/kubernetes_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw {
namespace {

using testing::HasSubstr;

Incident make_incident() {
  Incident incident;
  incident.id = "20261121T030405Z-1a2b3c4d";
  incident.scope = "container";
  incident.container.pod_name = "web-0";
  incident.container.pod_namespace = "shop";
  incident.container.pod_uid = "9f3d";
  incident.container.name = "web";
  incident.limit_bytes = 512u << 20;
  incident.victims.resize(1);
  incident.victims[0].comm = "web\x1b[31m";
  incident.victims[0].process.pid = 42;
  incident.verdict = IncidentVerdict{"spike", 0.8, {"usage rose"}};
  return incident;
}

TEST(PodEventOf, says_who_why_and_where) {
  const auto event = pod_event_of(make_incident(), "/var/lib/oomwitness/incidents/x", nullptr);
  ASSERT_TRUE(event.has_value());
  EXPECT_THAT(event->message, HasSubstr("OOM-killed web\\x1b[31m (pid 42) because its limit of 512 MiB was used up."));
  EXPECT_THAT(event->message, HasSubstr("Likely cause: spike."));
  EXPECT_THAT(event->message, HasSubstr("/var/lib/oomwitness/incidents/x"));
  EXPECT_THAT(event->message, HasSubstr("oomwitness show 20261121T030405Z-1a2b3c4d"));
}

TEST(PodEventOf, has_the_answer) {
  Incident incident = make_incident();
  incident.answer = IncidentAnswer{"Sudden growth in web\x1b[31m: usage rose.", "spike", 0.8, {}, "Bound it."};
  EXPECT_THAT(pod_event_of(incident, "/d", nullptr)->message, HasSubstr("Sudden growth in web\\x1b[31m: usage rose."));
}

TEST(PodEventOf, names_the_workload_where_it_is_known) {
  Incident incident = make_incident();
  incident.pod.emplace().workload = {"Deployment", "web", "pod_template_hash"};
  EXPECT_THAT(pod_event_of(incident, "/d", nullptr)->message,
              HasSubstr("(pid 42) of Deployment web because its limit"));
}

TEST(PodEventOf, says_whose_limit_it_was) {
  Incident incident = make_incident();
  incident.scope = "pod";
  const auto message = [&] { return pod_event_of(incident, "/d", nullptr)->message; };
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
  EXPECT_THAT(pod_event_of(incident, "/d", nullptr)->message, HasSubstr("Leak in web. What to do: Bound it. Evidence"));
  incident.answer->sentence = incident.answer->action = std::string(5'000, 's');
  const std::string directory = "/" + std::string(400, 'd');
  const std::string message = pod_event_of(incident, directory, nullptr)->message;
  EXPECT_LE(message.size(), 1'024u);
  EXPECT_THAT(message, HasSubstr(directory + ", or `oomwitness show 20261121T030405Z-1a2b3c4d`."));
}

TEST(PodEventOf, a_static_pods_event_bears_its_mirrors_uid) {
  PodSeen mirror;
  mirror.uid = "mirror";
  EXPECT_EQ(pod_event_of(make_incident(), "/d", &mirror)->pod_uid, "mirror");
  EXPECT_EQ(pod_event_of(make_incident(), "/d", nullptr)->pod_uid, "9f3d");
}

TEST(PodEventOf, what_is_no_pod_has_none) {
  Incident incident = make_incident();
  incident.container.pod_name.clear();
  EXPECT_FALSE(pod_event_of(incident, "/d", nullptr).has_value());
}

TEST(KubernetesEventSink, an_incident_is_posted_once_whatever_its_revisions) {
  std::vector<PodEvent> posted;
  KubernetesEventSink sink([](const ContainerIdentity&) { return nullptr; },
                           [&posted](PodEvent event) {
                             posted.push_back(std::move(event));
                             return true;
                           });
  sink.publish(make_incident(), {"/d", false});
  sink.publish(make_incident(), {"/d", true});
  ASSERT_EQ(posted.size(), 1u);
  EXPECT_EQ(posted[0].id, "20261121T030405Z-1a2b3c4d");
  EXPECT_THAT(posted[0].message, HasSubstr("/d, or `oomwitness show"));
}

}  // namespace
}  // namespace oomw
