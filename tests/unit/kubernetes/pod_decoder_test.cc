// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/pod_decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "support/source_tree.h"

namespace oomw {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string repeated(const std::string& part, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += part;
  return text;
}

std::string fixture(const std::string& name) {
  auto text = read_file(test::source_tree() + "/tests/fixtures/kubernetes/" + name, 1u << 20);
  EXPECT_TRUE(text.has_value()) << name;
  return text.value_or("");
}

PodSeen decoded(const std::string& json) {
  auto pod = decode_pod(json);
  EXPECT_TRUE(pod.has_value()) << json.substr(0, 200);
  return pod.value_or(PodSeen{});
}

// A pod with `inner` in its metadata.
std::string pod_with(const std::string& inner, const std::string& status = "{}") {
  return R"({"metadata":{"uid":"u","name":"p","namespace":"n")" + inner + R"(},"status":)" + status + "}";
}

TEST(PodDecoder, a_pod_says_who_it_is) {
  const PodSeen pod = decoded(fixture("pod.json"));
  EXPECT_EQ(pod.uid, "0f3c1a52-9d41-4b5e-8a2b-6d1f0c9e7a11");
  EXPECT_EQ(pod.name_space, "payments");
  EXPECT_EQ(pod.name, "otelcol-7f9c6d5b8-x2x9k");
  EXPECT_EQ(pod.node, "node-1");
  EXPECT_EQ(pod.owner_kind, "ReplicaSet");
  EXPECT_EQ(pod.owner_name, "otelcol-7f9c6d5b8");
  EXPECT_EQ(pod.labels.at("app.kubernetes.io/component"), "gateway");
  EXPECT_FALSE(pod.is_cut);
}

TEST(PodDecoder, only_annotations_for_us_and_about_its_telemetry_are_kept) {
  EXPECT_THAT(decoded(fixture("pod.json")).annotations, ElementsAre(Pair("oomwitness.io/pprof-port", "6061")));
  const std::string annotations = R"(,"annotations":{"resource.opentelemetry.io/service.name":"shop","other":"x"})";
  EXPECT_THAT(decoded(pod_with(annotations)).annotations,
              ElementsAre(Pair("resource.opentelemetry.io/service.name", "shop")));
}

TEST(PodDecoder, a_restarted_container_has_its_last_termination) {
  const PodSeen pod = decoded(fixture("pod.json"));
  ASSERT_EQ(pod.containers.size(), 3u);
  const PodContainer& collector = pod.containers[0];
  EXPECT_EQ(collector.name, "collector");
  EXPECT_EQ(collector.id, repeated("5e1f", 16));
  EXPECT_EQ(collector.image, "docker.io/example/otelcol:1");
  EXPECT_EQ(collector.restart_count, 3u);
  EXPECT_EQ(collector.memory_limit_bytes, 512u << 20);
  EXPECT_TRUE(collector.is_running);
  ASSERT_TRUE(collector.last_termination.has_value());
  EXPECT_EQ(collector.last_termination->reason, "OOMKilled");
  EXPECT_EQ(collector.last_termination->exit_code, 137);
  EXPECT_EQ(collector.last_termination->container_id, repeated("0a2b", 16));
  EXPECT_EQ(to_rfc3339(*collector.last_termination->finished), "2026-11-21T03:00:08.000000000Z");
}

TEST(PodDecoder, a_run_that_ended_has_the_end_before_it_too) {
  const PodSeen pod = decoded(pod_with("", R"({"containerStatuses":[{"name":"c","containerID":"containerd://run2",
    "state":{"terminated":{"containerID":"containerd://run2","reason":"OOMKilled"}},
    "lastState":{"terminated":{"containerID":"containerd://run1","reason":"Error"}}}]})"));
  ASSERT_EQ(pod.containers.size(), 1u);
  EXPECT_EQ(pod.containers[0].last_termination.value_or(PodTermination{}).container_id, "run2");
  EXPECT_EQ(pod.containers[0].earlier_termination.value_or(PodTermination{}).container_id, "run1");
}

TEST(PodDecoder, a_container_without_a_status_has_the_limit_of_its_spec) {
  const PodSeen pod = decoded(R"({"metadata":{"uid":"u","name":"p"},"spec":{
    "containers":[{"name":"new","resources":{"limits":{"memory":"64Mi"}}},{"resources":{}},7],
    "initContainers":[{"name":"free"}]}})");
  ASSERT_EQ(pod.containers.size(), 2u);
  EXPECT_EQ(pod.containers[0].name, "new");
  EXPECT_EQ(pod.containers[0].id, "");
  EXPECT_EQ(pod.containers[0].restart_count, std::nullopt);
  EXPECT_EQ(pod.containers[0].memory_limit_bytes, 64u << 20);
  EXPECT_EQ(pod.containers[1].memory_limit_bytes, std::nullopt);
}

TEST(PodDecoder, container_without_status_of_a_pod_that_is_never_restarted_was_restarted_zero_times) {
  const PodSeen pod = decoded(R"({"metadata":{"uid":"u","name":"p"},"spec":{"restartPolicy":"Never",
      "containers":[{"name":"job"},{"name":"own","restartPolicy":"Always"}],
      "initContainers":[{"name":"sidecar","restartPolicy":"Always"},{"name":"init"}]}})");
  ASSERT_EQ(pod.containers.size(), 4u);
  EXPECT_EQ(pod.containers[0].restart_count, std::uint32_t{0});
  EXPECT_EQ(pod.containers[1].restart_count, std::nullopt);
  EXPECT_EQ(pod.containers[2].restart_count, std::nullopt);
  EXPECT_EQ(pod.containers[3].restart_count, std::uint32_t{0});
}

TEST(PodDecoder, container_that_is_being_created_in_a_pod_that_is_never_restarted_was_restarted_zero_times) {
  const PodSeen pod = decoded(R"({"metadata":{"uid":"u","name":"p"},"spec":{"restartPolicy":"Never",
      "containers":[{"name":"job"}]},"status":{"containerStatuses":[{"name":"job","restartCount":0,
      "state":{"waiting":{"reason":"ContainerCreating"}}}]}})");
  ASSERT_EQ(pod.containers.size(), 1u);
  EXPECT_EQ(pod.containers[0].restart_count, std::uint32_t{0});
}

TEST(PodDecoder, container_without_status_of_a_pod_that_may_be_restarted_has_no_count) {
  const PodSeen pod = decoded(R"({"metadata":{"uid":"u","name":"p"},"spec":{"restartPolicy":"OnFailure",
      "containers":[{"name":"job"}]}})");
  ASSERT_EQ(pod.containers.size(), 1u);
  EXPECT_EQ(pod.containers[0].restart_count, std::nullopt);
}

TEST(PodDecoder, an_ephemeral_container_was_never_restarted_whatever_its_id) {
  const PodSeen pod =
      decoded(R"({"metadata":{"uid":"u","name":"p"},"spec":{"ephemeralContainers":[{"name":"debugger"}]},
    "status":{"containerStatuses":[{"name":"main","restartCount":2}]}})");
  ASSERT_EQ(pod.containers.size(), 2u);
  EXPECT_EQ(pod.containers[0].restart_count, std::nullopt) << "a run that has no id yet";
  EXPECT_EQ(pod.containers[1].restart_count, 0u);
}

TEST(PodDecoder, the_label_that_shows_the_workload_is_kept_where_others_are_cut) {
  std::string labels = R"("pod-template-hash":"7d9f")";
  for (int i = 0; i < 500; ++i) labels += ",\"label-" + std::to_string(i) + "\":\"v\"";
  const PodSeen pod = decoded(pod_with(",\"labels\":{" + labels + "}"));
  EXPECT_TRUE(pod.is_cut);
  EXPECT_EQ(pod.labels.at("pod-template-hash"), "7d9f");
}

TEST(PodDecoder, a_container_that_never_ran_has_no_id) {
  const PodContainer sidecar = decoded(fixture("pod.json")).containers.at(1);
  EXPECT_EQ(sidecar.id, "");
  EXPECT_FALSE(sidecar.is_running);
  EXPECT_FALSE(sidecar.last_termination.has_value());
  EXPECT_EQ(sidecar.memory_limit_bytes, 128'974'848u);
}

TEST(PodDecoder, init_containers_are_containers_too) {
  const PodContainer init = decoded(fixture("pod.json")).containers.at(2);
  EXPECT_EQ(init.name, "wait");
  EXPECT_EQ(init.last_termination.value_or(PodTermination{}).reason, "Completed");
}

TEST(PodDecoder, a_mirror_pod_tells_the_uid_of_its_cgroups) {
  const std::string annotations = R"(,"annotations":{"kubernetes.io/config.hash":"9f3d"})";
  EXPECT_EQ(decoded(pod_with(annotations)).static_uid, "9f3d");
}

TEST(PodDecoder, what_no_controller_owns_has_no_owner) {
  const std::string owners = R"(,"ownerReferences":[{"kind":"Secret","name":"s"},7])";
  EXPECT_EQ(decoded(pod_with(owners)).owner_kind, "");
}

TEST(PodDecoder, many_labels_are_cut_at_the_budget) {
  std::string labels;
  for (int i = 0; i < 500; ++i) labels += (i == 0 ? "" : ",") + ("\"label-" + std::to_string(i) + "\":\"v\"");
  const PodSeen pod = decoded(pod_with(",\"labels\":{" + labels + "}"));
  EXPECT_TRUE(pod.is_cut);
  EXPECT_GT(pod.labels.size(), 10u);
  EXPECT_LE(memory_bytes(pod), kMaxPodBytes);
}

TEST(PodDecoder, a_label_too_long_is_left_out_and_said) {
  const PodSeen pod = decoded(pod_with(",\"labels\":{\"a\":\"" + std::string(2'000, 'x') + "\",\"b\":\"c\"}"));
  EXPECT_TRUE(pod.is_cut);
  EXPECT_THAT(pod.labels, ElementsAre(Pair("b", "c")));
}

TEST(PodDecoder, containers_go_before_labels) {
  std::string statuses;
  for (int i = 0; i < 50; ++i) {
    statuses += (i == 0 ? "" : ",") + ("{\"name\":\"c" + std::to_string(i) + "\",\"containerID\":\"containerd://" +
                                       std::string(64, 'a') + "\"}");
  }
  const PodSeen pod = decoded(pod_with(R"(,"labels":{"a":"b"})", "{\"containerStatuses\":[" + statuses + "]}"));
  EXPECT_GE(pod.containers.size(), 5u);
  EXPECT_TRUE(pod.is_cut);
  EXPECT_LE(memory_bytes(pod), kMaxPodBytes);
}

TEST(PodDecoder, what_a_pod_asks_of_us_goes_before_its_containers) {
  std::string statuses;
  for (int i = 0; i < 50; ++i) statuses += (i == 0 ? "" : ",") + ("{\"name\":\"container-" + std::to_string(i) + "\"}");
  const std::string annotations =
      R"({"oomwitness.io/a":"b","oomwitness.io/capture":"false","oomwitness.io/pprof-port":"6061"})";
  const PodSeen pod =
      decoded(pod_with(",\"annotations\":" + annotations, "{\"containerStatuses\":[" + statuses + "]}"));
  EXPECT_TRUE(pod.is_cut);
  EXPECT_THAT(pod.annotations,
              ElementsAre(Pair("oomwitness.io/capture", "false"), Pair("oomwitness.io/pprof-port", "6061")));
  EXPECT_LE(memory_bytes(pod), kMaxPodBytes);
}

TEST(PodDecoder, wrong_types_are_as_good_as_absent) {
  const PodSeen pod = decoded(pod_with(
      R"(,"labels":[1],"annotations":"x","ownerReferences":{})",
      R"({"containerStatuses":[{"name":"c","restartCount":-1,"containerID":7,"state":[],"lastState":null},3]})"));
  ASSERT_EQ(pod.containers.size(), 1u);
  EXPECT_EQ(pod.containers[0].restart_count, std::nullopt);
  EXPECT_EQ(pod.containers[0].id, "");
}

TEST(PodDecoder, what_is_no_pod_is_refused) {
  for (const char* json : {"", "{", "[]", "7", "{}", R"({"metadata":{"uid":"u"}})", R"({"metadata":{"name":"p"}})"}) {
    EXPECT_FALSE(decode_pod(json).has_value()) << json;
  }
}

TEST(PodDecoder, nesting_without_end_is_refused) {
  EXPECT_FALSE(decode_pod(std::string(100'000, '[')).has_value());
  EXPECT_FALSE(decode_pod(repeated("{\"a\":", 1'000) + "1" + std::string(1'000, '}')).has_value());
}

TEST(WatchDecoder, each_type_of_event_is_read) {
  const std::string text = fixture("watch.jsonl");
  const auto lines = split(text, '\n');
  const auto added = decode_watch_line(lines[0]), bookmark = decode_watch_line(lines[1]);
  const auto deleted = decode_watch_line(lines[2]), error = decode_watch_line(lines[3]);
  ASSERT_TRUE(added && bookmark && deleted && error);
  EXPECT_EQ(added->kind, WatchKind::kAdded);
  EXPECT_EQ(added->pod.name_space, "payments");
  EXPECT_EQ(added->resource_version, "184467");
  EXPECT_EQ(bookmark->kind, WatchKind::kBookmark);
  EXPECT_EQ(bookmark->resource_version, "184999");
  EXPECT_EQ(deleted->kind, WatchKind::kDeleted);
  EXPECT_EQ(error->kind, WatchKind::kError);
  EXPECT_EQ(error->code, 410);
  EXPECT_THAT(error->message, HasSubstr("too old resource version"));
}

TEST(WatchDecoder, what_is_no_event_is_refused) {
  for (const char* json : {"garbage", "{}", R"({"type":"NEW","object":{}})", R"({"type":"ADDED","object":{}})"}) {
    EXPECT_FALSE(decode_watch_line(json).has_value()) << json;
  }
}

TEST(ListDecoder, the_end_of_a_page_names_the_next) {
  const auto end =
      decode_list_end(R"({"kind":"PodList","metadata":{"resourceVersion":"9","continue":"abc"},"items":[]})");
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->resource_version, "9");
  EXPECT_EQ(end->continue_token, "abc");
}

TEST(ListDecoder, a_list_of_something_else_is_refused) {
  EXPECT_FALSE(decode_list_end(R"({"kind":"NodeList","metadata":{"resourceVersion":"9"}})").has_value());
  EXPECT_FALSE(decode_list_end(R"({"kind":"PodList","metadata":{}})").has_value());
}

TEST(StatusMessage, a_refusal_says_why) {
  EXPECT_THAT(status_message(fixture("forbidden.json")), HasSubstr("cannot list resource"));
  EXPECT_EQ(status_message("<html>"), "");
}

// As API servers from 1.15 on answer a create.
TEST(NamespaceEnding, is_told_apart_from_a_missing_permission) {
  EXPECT_TRUE(is_namespace_ending(
      R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"events \"a\" is forbidden: unable to create new )"
      R"(content in namespace shop because it is being terminated","reason":"Forbidden","details":{"name":"a",)"
      R"("kind":"events","causes":[{"reason":"NamespaceTerminating","message":"namespace shop is being terminated",)"
      R"("field":"metadata.namespace"}]},"code":403})"));
  EXPECT_FALSE(is_namespace_ending(fixture("forbidden.json")));
  EXPECT_FALSE(is_namespace_ending(R"({"kind":"Pod","details":{"causes":[{"reason":"NamespaceTerminating"}]}})"));
  EXPECT_FALSE(is_namespace_ending(R"({"kind":"Status","details":{"causes":["NamespaceTerminating",7]}})"));
  EXPECT_FALSE(is_namespace_ending(R"({"kind":"Status","details":[]})"));
  EXPECT_FALSE(is_namespace_ending("<html>"));
}

TEST(StatusMessage, its_text_is_made_harmless) {
  EXPECT_EQ(status_message(R"({"kind":"Status","message":"a\u001b[31m\nb"})"), "a\\x1b[31m\\x0ab");
}

}  // namespace
}  // namespace oomw
