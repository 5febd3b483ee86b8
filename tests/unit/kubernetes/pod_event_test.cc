// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/pod_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace oomw {
namespace {

using testing::HasSubstr;

PodEvent make_event() {
  return {
      "20261121T030405Z-1a2b3c4d", {1'795'000'000'000'000'000}, "payments", "otelcol-7f", "uid", "collector", "why"};
}

TEST(EventJson, kubectl_finds_it_by_the_pods_name_and_uid) {
  const auto json = nlohmann::json::parse(event_json(make_event(), "node-1"));
  EXPECT_EQ(json["kind"], "Event");
  EXPECT_EQ(json["metadata"]["name"], "oomwitness-20261121t030405z-1a2b3c4d");
  EXPECT_EQ(json["metadata"]["namespace"], json["involvedObject"]["namespace"]);
  EXPECT_EQ(json["involvedObject"]["name"], "otelcol-7f");
  EXPECT_EQ(json["involvedObject"]["uid"], "uid");
  EXPECT_EQ(json["involvedObject"]["fieldPath"], "spec.containers{collector}");
  EXPECT_EQ(json["type"], "Warning");
  EXPECT_EQ(json["source"]["host"], "node-1");
  EXPECT_FALSE(json.contains("eventTime"));
}

TEST(EventJson, its_message_is_bounded_and_printable) {
  PodEvent event = make_event();
  event.message = std::string(5'000, '\x1b');
  const std::string message = nlohmann::json::parse(event_json(event, "n"))["message"];
  EXPECT_LE(message.size(), 1'024u);
  EXPECT_THAT(message, HasSubstr("\\x1b"));
}

TEST(EventJson, a_pod_named_like_a_path_is_not_posted) {
  for (const char* name : {"../../x", "a/b", "", ".", "A", "a b", "-a"}) {
    PodEvent event = make_event();
    event.name_space = name;
    EXPECT_EQ(event_json(event, "n"), "") << name;
  }
}

}  // namespace
}  // namespace oomw
