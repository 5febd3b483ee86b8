// SPDX-License-Identifier: Apache-2.0
#include "sinks/webhook.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/builders.h"

namespace oomw {
namespace {

Incident pod_incident() { return test::in_pod("web-0"); }

TEST(CloudEventOf, has_the_required_attributes_and_the_incident_as_data) {
  const Incident incident = pod_incident();
  const std::string source = event_source_of(incident, "/clusters/prod");
  const auto event = nlohmann::json::parse(cloud_event_of(incident, R"({"id":"x","n":1})", source, 2));
  EXPECT_EQ(event, nlohmann::json::parse(R"({"specversion":"1.0","id":"20261121T030405Z-1a2b3c4d",
      "source":"/clusters/prod/nodes/n1","type":"io.oomwitness.oom_kill.v1","time":"2026-11-21T03:04:05.123456789Z",
      "subject":"shop/web-0/web","oomwrevision":2,"datacontenttype":"application/json","data":{"id":"x","n":1}})"));
}

TEST(CloudEventOf, what_is_not_json_has_no_envelope) { EXPECT_EQ(cloud_event_of(pod_incident(), "{", "/", 1), ""); }

TEST(HeaderFieldOf, what_is_known_of_the_incident_and_nothing_else) {
  Incident incident = pod_incident();
  EXPECT_EQ(header_field_of(incident, 2, "id"), incident.id);
  EXPECT_EQ(header_field_of(incident, 2, "revision"), "2");
  EXPECT_EQ(header_field_of(incident, 2, "namespace"), "shop");
  EXPECT_EQ(header_field_of(incident, 2, "node"), "n1");
  EXPECT_EQ(header_field_of(incident, 2, "cause"), "");
  EXPECT_EQ(header_field_of(incident, 2, "token"), std::nullopt);
}

TEST(FilledHeader, fields_are_filled_in_and_break_out_of_no_line) {
  const HeaderField field = [](std::string_view name) {
    return name == "pod" ? std::optional<std::string>("a\r\nEvil: \xc3\xa4{pod}") : std::nullopt;
  };
  EXPECT_EQ(filled_header("X: <{pod}>", field), "X: <a??Evil: ??{pod}>");
  EXPECT_EQ(filled_header("Authorization: Bearer {a{pod}}{", field), "Authorization: Bearer {aa??Evil: ??{pod}}{");
  EXPECT_EQ(filled_header("{pod}", field), "{pod}") << "no name of a header";
  EXPECT_EQ(filled_header("X: {pod}", {}), "X: {pod}");
  EXPECT_EQ(filled_header("X: {pod}", [](auto) { return std::string(1'000, 'x'); }).size(), 3u + 256u);
}

TEST(EventSourceOf, a_node_cannot_leave_its_place) {
  Incident incident = pod_incident();
  incident.pod->node = "../x y";
  EXPECT_EQ(event_source_of(incident, "/p").find(' '), std::string::npos);
  incident.pod.reset();
  EXPECT_EQ(event_source_of(incident, "/p"), "/p");
}

}  // namespace
}  // namespace oomw
