// SPDX-License-Identifier: Apache-2.0
#include "sinks/otlp_record.h"

#include <map>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <protozero/pbf_reader.hpp>

#include "base/worker_pool.h"
#include "sinks/otlp_logs.h"

namespace oomw {
namespace {

using Value = OtlpRecord::Value;

constexpr WallTime kKill{1'795'230'245'000'000'000};  // 2026-11-21T03:04:05Z
constexpr WallTime kExport{kKill.ns + 20'000'000};

void add_pod(Incident& incident) {
  ContainerIdentity& who = incident.container;
  who.runtime = "containerd";
  who.id = std::string(64, 'a');
  who.name = "web";
  who.image = "registry:5000/shop/web:1.2@sha256:beef";
  who.pod_name = "web-7f9c-x";
  who.pod_namespace = "shop";
  who.pod_uid = "9f3d";
  who.labels = {{"app.kubernetes.io/instance", "shop-web"}};
  IncidentPod& pod = incident.pod.emplace();
  pod.node = "n1";
  pod.owner_kind = "ReplicaSet";
  pod.owner_name = "web-7f9c";
  pod.workload = {"Deployment", "web", "pod_template_hash"};
  pod.restart_count = 3;
  pod.disagreement_kind = "kill_not_in_status";
  pod.last_termination.emplace();
  pod.last_termination->container_id = who.id;
  pod.last_termination->reason = "OOMKilled";
}

void add_victim(Incident& incident) {
  IncidentVictim& victim = incident.victims.emplace_back();
  victim.process = {42, 7};
  victim.comm = "web\x1b";
  victim.exe = "/bin/web";
  victim.cmdline = "/bin/web --token=x";
  victim.started = *parse_rfc3339("2026-11-21T03:00:00Z");
  victim.uid = 1000;
  victim.is_init = true;
  victim.cgroup_path = "/kubepods/web";
  victim.rss = RssSplit{100, 20, 3, 4};
  incident.victim_count = 2;
  IncidentCapture& capture = incident.captures.emplace_back();
  capture.pid = 42;
  capture.result = "ok";
  capture.complete = true;
  capture.of = "go";
  capture.method = "at_kill";
  capture.file = "capture-01-at_kill.pb.gz";
  capture.inuse_bytes = 90;
  incident.coverage_ratio = 0.9;
}

Incident whole_incident() {
  Incident incident;
  incident.id = "20261121T030405Z-1a2b3c4d";
  incident.time = kKill;
  incident.scope = "container";
  incident.limit_bytes = 512u << 20;
  incident.usage_bytes = 511u << 20;
  incident.limit_owner_cgroup_path = "/kubepods/web";
  incident.trigger_pid = 43;
  incident.trigger_comm = "helper";
  incident.trigger_same_cgroup = true;
  incident.reclaim.emplace().stall_ns = 1'500'000'000;
  add_pod(incident);
  add_victim(incident);
  incident.verdict = IncidentVerdict{"leak", 0.8, {"it grew", "and grew"}, SuggestedLimit{1u << 30, false, "why"}};
  AnswerCulprit culprit;
  culprit.claim = "allocates";
  culprit.code = "main.(*Cache).Put (cache.go:44)";
  culprit.operation = "GET /items";
  culprit.share = 0.7;
  culprit.bytes = 63;
  incident.answer = IncidentAnswer{"Leak in web: Cache.Put.", "leak", 0.8, culprit, "Bound the cache."};
  IncidentCollector& collector = incident.collector.emplace();
  collector.components.emplace().push_back({"receiver", "otlp", "m", 10, 0.5});
  collector.exporters.emplace().push_back({"otlp/backend", 139, 1000, 100});
  return incident;
}

std::map<std::string, Value> map_of(const std::vector<OtlpRecord::Attribute>& attributes) {
  std::map<std::string, Value> map;
  for (const auto& [key, value] : attributes) EXPECT_TRUE(map.emplace(key, value).second) << key << " twice";
  return map;
}

OtlpRecord record_of(const Incident& incident, const OtlpMapping& mapping = {"prod", "host"}) {
  return otlp_record_of(incident, "/d/x", 2, kExport, mapping);
}

using Texts = std::vector<std::string>;
Value text(const char* value) { return std::string(value); }
Value integer(std::int64_t value) { return value; }

TEST(OtlpRecordOf, the_resource_is_the_victims_container) {
  const std::map<std::string, Value> expected = {
      {"service.name", text("web")},
      {"service.namespace", text("shop")},
      {"service.instance.id", text("shop.web-7f9c-x.web")},
      {"service.version", text("1.2@sha256:beef")},
      {"k8s.cluster.name", text("prod")},
      {"k8s.node.name", text("n1")},
      {"k8s.namespace.name", text("shop")},
      {"k8s.pod.name", text("web-7f9c-x")},
      {"k8s.pod.uid", text("9f3d")},
      {"k8s.container.name", text("web")},
      {"k8s.container.restart_count", integer(3)},
      {"k8s.deployment.name", text("web")},
      {"k8s.replicaset.name", text("web-7f9c")},
      {"container.id", std::string(64, 'a')},
      {"container.name", text("web")},
      {"container.runtime.name", text("containerd")},
      {"container.image.name", text("registry:5000/shop/web")},
      {"container.image.tags", Texts{"1.2"}},
      {"container.image.repo_digests", Texts{"registry:5000/shop/web@sha256:beef"}},
  };
  EXPECT_EQ(map_of(record_of(whole_incident()).resource), expected);
}

TEST(OtlpRecordOf, every_field_of_the_mapping_is_there) {
  const std::map<std::string, Value> expected = {
      {"oomwitness.incident.id", text("20261121T030405Z-1a2b3c4d")},
      {"oomwitness.incident.revision", integer(2)},
      {"oomwitness.incident.directory", text("/d/x")},
      {"error.type", text("oom_kill")},
      {"oomwitness.scope", text("container")},
      {"oomwitness.victim.count", integer(2)},
      {"oomwitness.victim.is_init", true},
      {"oomwitness.limit", integer(512 << 20)},
      {"oomwitness.limit.owner", text("/kubepods/web")},
      {"oomwitness.usage", integer(511 << 20)},
      {"oomwitness.trigger.pid", integer(43)},
      {"oomwitness.trigger.comm", text("helper")},
      {"oomwitness.trigger.same_cgroup", true},
      {"oomwitness.reclaim.stall_seconds", 1.5},
      {"oomwitness.disagreement", text("kill_not_in_status")},
      {"k8s.container.status.reason", text("OOMKilled")},
      {"process.pid", integer(42)},
      {"process.executable.name", text("web\\x1b")},
      {"process.executable.path", text("/bin/web")},
      {"process.creation.time", text("2026-11-21T03:00:00.000000000Z")},
      {"process.user.id", integer(1000)},
      {"process.linux.cgroup", text("/kubepods/web")},
      {"process.runtime.name", text("go")},
      {"oomwitness.rss.anon", integer(100)},
      {"oomwitness.rss.file", integer(20)},
      {"oomwitness.rss.shmem", integer(3)},
      {"oomwitness.rss.pgtables", integer(4)},
      {"oomwitness.verdict.cause", text("leak")},
      {"oomwitness.verdict.confidence", 0.8},
      {"oomwitness.verdict.why", Texts{"it grew", "and grew"}},
      {"oomwitness.verdict.suggested_limit", integer(1 << 30)},
      {"oomwitness.answer.action", text("Bound the cache.")},
      {"oomwitness.verdict.culprit", text("main.(*Cache).Put (cache.go:44)")},
      {"oomwitness.culprit.claim", text("allocates")},
      {"oomwitness.culprit.operation", text("GET /items")},
      {"oomwitness.culprit.share", 0.7},
      {"oomwitness.culprit.bytes", integer(63)},
      {"oomwitness.heap.method", text("at_kill")},
      {"oomwitness.heap.inuse", integer(90)},
      {"oomwitness.heap.coverage", 0.9},
      {"oomwitness.collector.receiver", text("otlp")},
      {"oomwitness.collector.exporter", text("otlp/backend")},
      {"oomwitness.collector.queue_size", integer(139)},
  };
  const OtlpRecord record = record_of(whole_incident());
  EXPECT_EQ(map_of(record.attributes), expected);
  EXPECT_LE(record.attributes.size() + record.resource.size(), 100u);  // Loki takes 128
  EXPECT_EQ(record.time, kKill);
  EXPECT_EQ(record.observed, kExport);
  EXPECT_EQ(record.event_name, "oomwitness.oom_kill");
  EXPECT_EQ(record.severity, 17);
  EXPECT_EQ(record.body,
            "OOM kill of web\\x1b in shop/web-7f9c-x/web on node n1, limit 512 MiB: Leak in web: Cache.Put.");
}

TEST(OtlpRecordOf, what_is_not_known_has_no_attribute) {
  Incident incident;
  incident.id = "20261121T030405Z-1a2b3c4d";
  incident.time = kKill;
  const OtlpRecord record = record_of(incident, {});
  EXPECT_TRUE(record.resource.empty());
  const auto attributes = map_of(record.attributes);
  EXPECT_EQ(attributes.size(), 5u);  // id, revision, directory, error.type, victim.count
  EXPECT_EQ(record.body, "OOM kill of a process.");
}

TEST(OtlpRecordOf, a_command_line_comes_only_when_asked_for) {
  const auto has = [](const OtlpMapping& mapping) {
    return map_of(record_of(whole_incident(), mapping).attributes).contains("process.command_line");
  };
  EXPECT_FALSE(has({}));
  EXPECT_TRUE(has({"", "", true}));
}

TEST(OtlpRecordOf, service_name_follows_the_conventions) {
  Incident incident = whole_incident();
  const auto name = [&](bool from_labels) {
    return std::get<std::string>(map_of(record_of(incident, {"", "", false, from_labels}).resource)["service.name"]);
  };
  EXPECT_EQ(name(true), "shop-web");
  incident.pod->workload = {};
  EXPECT_EQ(name(false), "web-7f9c");
  incident.pod.reset();
  EXPECT_EQ(name(false), "web-7f9c-x");
  incident.container = {};
  incident.container.unit = "db.service";
  EXPECT_EQ(name(false), "db");
  incident.container = {};
  incident.victims[0].comm = "db";
  EXPECT_EQ(name(false), "unknown_service:db");
}

TEST(OtlpRecordOf, a_pods_annotations_say_what_its_service_is) {
  Incident incident = whole_incident();
  incident.container.labels["app.kubernetes.io/version"] = "label";
  incident.pod->resource_attributes = {{"service.name", "checkout"},
                                       {"service.namespace", "payments"},
                                       {"service.instance.id", "checkout-0"},
                                       {"service.version", "7"},
                                       {"deployment.environment.name", "prod"}};
  auto resource = map_of(record_of(incident, {"", "", false, true}).resource);
  for (const auto& [key, value] : incident.pod->resource_attributes) EXPECT_EQ(resource[key], Value(value)) << key;
  incident.pod->resource_attributes.clear();
  resource = map_of(record_of(incident, {"", "", false, true}).resource);
  EXPECT_EQ(resource["service.version"], text("label"));
  EXPECT_EQ(resource["service.namespace"], text("shop"));
}

TEST(OtlpRecordOf, a_pods_annotations_do_not_make_it_another_pod) {
  Incident incident = whole_incident();
  const auto before = map_of(record_of(incident).resource);
  incident.pod->resource_attributes = {
      {"k8s.pod.name", "other"}, {"k8s.new", "x"}, {"host.name", "x"}, {"oomwitness.cgroup", "/"}, {"", "x"}};
  EXPECT_EQ(map_of(record_of(incident).resource), before);
  for (int i = 0; i < 50; ++i) incident.pod->resource_attributes["own." + std::to_string(i)] = "x";
  EXPECT_EQ(record_of(incident).resource.size(), before.size() + 16);
  incident.pod->resource_attributes = {{"own.\n", "a\x1b"}};
  EXPECT_EQ(map_of(record_of(incident).resource)["own.\\x0a"], text("a\\x1b"));
}

TEST(OtlpRecordOf, a_status_of_another_run_is_not_this_one) {
  Incident incident = whole_incident();
  incident.pod->last_termination->container_id = "other";
  EXPECT_FALSE(map_of(record_of(incident).attributes).contains("k8s.container.status.reason"));
}

TEST(OtlpRecordOf, a_kill_for_the_node_is_fatal_and_a_host_without_kubernetes_is_named) {
  Incident incident = whole_incident();
  incident.scope = "node";
  incident.pod.reset();
  EXPECT_EQ(record_of(incident).severity, 21);
  EXPECT_EQ(map_of(record_of(incident).resource)["host.name"], text("host"));
}

// --- encodings

std::map<std::string, std::string> attributes_of(protozero::pbf_reader message, unsigned number) {
  std::map<std::string, std::string> found;
  while (message.next()) {
    if (message.tag() != number) {
      message.skip();
      continue;
    }
    protozero::pbf_reader pair = message.get_message();
    std::string key, value;
    while (pair.next()) {
      if (pair.tag() == 1) {
        key = pair.get_string();
      } else {
        value = std::string(pair.get_view());
      }
    }
    found[key] = value;
  }
  return found;
}

protozero::pbf_reader field_of(protozero::pbf_reader message, unsigned number) {
  protozero::pbf_reader found;
  while (message.next()) {
    if (message.tag() == number) {
      found = message.get_message();
    } else {
      message.skip();
    }
  }
  return found;
}

TEST(OtlpProtobuf, has_the_field_numbers_of_the_protocol) {
  const std::string bytes = to_otlp_protobuf(record_of(whole_incident()));
  const auto resource_logs = field_of(protozero::pbf_reader(bytes), 1);
  const auto resource = attributes_of(field_of(resource_logs, 1), 1);
  EXPECT_EQ(resource.at("service.name"), std::string("\x0a\x03web"));              // string_value
  EXPECT_EQ(resource.at("k8s.container.restart_count"), std::string("\x18\x03"));  // int_value
  EXPECT_EQ(resource.at("container.image.tags"), std::string("\x2a\x07\x0a\x05\x0a\x03"
                                                             "1.2"));
  const auto log = field_of(field_of(resource_logs, 2), 2);
  const auto attributes = attributes_of(log, 6);
  EXPECT_EQ(attributes.at("oomwitness.trigger.same_cgroup"), std::string("\x10\x01"));  // bool_value
  EXPECT_EQ(attributes.at("oomwitness.reclaim.stall_seconds"), std::string("\x21\0\0\0\0\0\0\xf8\x3f", 9));
  std::map<unsigned, std::uint64_t> numbers;
  std::string name;
  for (protozero::pbf_reader fields = log; fields.next();) {
    const unsigned tag = fields.tag();
    if (tag == 1 || tag == 11) {
      numbers[tag] = fields.get_fixed64();
    } else if (tag == 2) {
      numbers[2] = static_cast<std::uint64_t>(fields.get_enum());
    } else if (tag == 12) {
      name = fields.get_string();
    } else {
      fields.skip();
    }
  }
  EXPECT_EQ(numbers[1], static_cast<std::uint64_t>(kKill.ns));
  EXPECT_EQ(numbers[11], static_cast<std::uint64_t>(kExport.ns));
  EXPECT_EQ(numbers[2], 17u);
  EXPECT_EQ(name, "oomwitness.oom_kill");
}

TEST(OtlpJson, is_one_line_with_numbers_as_the_protocol_writes_them) {
  const std::string line = to_otlp_json(record_of(whole_incident()));
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto document = nlohmann::json::parse(line);
  const auto& log = document.at("/resourceLogs/0/scopeLogs/0/logRecords/0"_json_pointer);
  EXPECT_EQ(log.at("timeUnixNano"), "1795230245000000000");
  EXPECT_EQ(log.at("severityNumber"), 17);
  EXPECT_EQ(log.at("eventName"), "oomwitness.oom_kill");
  std::map<std::string, nlohmann::json> attributes;
  for (const auto& pair : log.at("attributes")) attributes[pair.at("key")] = pair.at("value");
  EXPECT_EQ(attributes.at("process.pid"), nlohmann::json({{"intValue", "42"}}));
  EXPECT_EQ(attributes.at("oomwitness.trigger.same_cgroup"), nlohmann::json({{"boolValue", true}}));
  EXPECT_EQ(attributes.at("oomwitness.reclaim.stall_seconds"), nlohmann::json({{"doubleValue", 1.5}}));
  EXPECT_EQ(attributes.at("oomwitness.verdict.why").at("arrayValue").at("values").size(), 2u);
}

// --- answers

HttpAnswer success(const std::string& body, const std::string& content_type) {
  HttpAnswer answer;
  answer.status = 200;
  answer.body = body;
  answer.content_type = content_type;
  return answer;
}

TEST(OtlpAnswer, a_record_that_was_rejected_is_refused) {
  const Delivery delivery = otlp_delivery_of(success("\x0a\x09\x08\x01\x12\x05no go", "application/x-protobuf"), false);
  EXPECT_EQ(delivery.outcome, Delivery::Outcome::kRefused);
  EXPECT_EQ(delivery.reason, DeliveryReason::kRejected);
  EXPECT_EQ(delivery.detail, "no go");
  const std::string answer = R"({"partialSuccess":{"rejectedLogRecords":"1","errorMessage":"no"}})";
  EXPECT_EQ(otlp_delivery_of(success(answer, "application/json"), true).reason, DeliveryReason::kRejected);
}

TEST(OtlpAnswer, a_warning_is_a_success) {
  EXPECT_EQ(otlp_delivery_of(success("", ""), false).outcome, Delivery::Outcome::kSent);
  EXPECT_EQ(otlp_delivery_of(success("\x0a\x04\x12\x02hm", "application/x-protobuf"), false).outcome,
            Delivery::Outcome::kSent);
  EXPECT_EQ(otlp_delivery_of(success("{}", "application/json"), true).outcome, Delivery::Outcome::kSent);
}

TEST(OtlpAnswer, one_that_is_nested_deeply_needs_no_deep_stack) {
  const std::string body = "{\"partialSuccess\":" + std::string(20'000, '[') + std::string(20'000, ']') + "}";
  Delivery delivery;
  {
    WorkerPool small_stack("oomw-test", 1, 1);
    ASSERT_TRUE(small_stack.post([&] { delivery = otlp_delivery_of(success(body, "application/json"), true); }));
  }
  EXPECT_EQ(delivery.reason, DeliveryReason::kBadAnswer);
}

TEST(OtlpAnswer, a_success_of_somebody_else_is_none) {
  for (const auto& answer : {success("<html>", "text/html"), success("\x0a\xff", "application/x-protobuf"),
                             success("\x08", "application/x-protobuf")}) {
    const Delivery delivery = otlp_delivery_of(answer, false);
    EXPECT_EQ(delivery.outcome, Delivery::Outcome::kRetry);
    EXPECT_EQ(delivery.reason, DeliveryReason::kBadAnswer);
  }
  for (const char* body : {"[]", "{", "{\"partialSuccess\":1}", "{\"partialSuccess\":{\"rejectedLogRecords\":{}}}"}) {
    EXPECT_EQ(otlp_delivery_of(success(body, "application/json"), true).reason, DeliveryReason::kBadAnswer) << body;
  }
}

}  // namespace
}  // namespace oomw
