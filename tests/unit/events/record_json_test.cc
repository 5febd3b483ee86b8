// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "events/record.h"

namespace oomw {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr auto kMaxU64 = std::numeric_limits<std::uint64_t>::max();
constexpr auto kMaxI64 = std::numeric_limits<std::int64_t>::max();

// One event of each type with every member different from its default.
std::vector<Event> make_full_events() {
  return {
      OomKill{{kMaxI64},
              {100, kMaxU64},
              {1},
              "a\"b\\c\n\t\u20ac",
              65534,
              -1000,
              RssSplit{1, 2, 3, 4},
              200,
              "trigger",
              {2},
              {3},
              true,
              true,
              kMaxU64,
              5,
              std::string("kmsg\0", 5),
              MonotonicTime{11},
              {12},
              kMaxU64,
              true,
              Unwatched{{13}, {14}}},
      WatermarkCrossed{{1}, {2}, {3}, WatermarkReason::kTimeToLimit, 95, kMaxU64, 7, -0.1, Nanoseconds(-8), 9},
      ProcessExec{{1}, {2, 3}, 5, {6}, "exec"},
      ProcessExit{{1}, {2, 3}},
      CgroupCreated{{1}, {2}, {3}, "/kubepods.slice/x", false},
      CgroupRemoved{{-1}, {kMaxU64}},
      ReclaimSampled{{1}, {2}, 3, 4, 5, kMaxU64},
      EventsLost{{1}, "ringbuf_kill", 2},
      MemorySampled{{1}, {2}, 3, 4, 5, 6, true, {{"anon", kMaxU64}, {"file", 0}}, {{"7", kMaxU64}}},
      ProcessSeen{{1}, {2, 3}, {4}, "comm", "/exe (deleted)", "a b c", 5, true, -6, {75, 8}},
      ContainerIdentified{
          {1}, {2}, {"containerd", "id", "n", "img", "u", "pod", "ns", "uid", {{"app", "x"}, {"", ""}}}, true},
      CaptureFinished{
          {9},
          {8},
          7,
          {6},
          {5, 4},
          CaptureMethod::kAtKill,
          RuntimeKind::kGo,
          CaptureTrigger::watermark(90),
          CaptureResult::kSkipped,
          CaptureReason::kBusy,
          "a detail",
          kMaxU64,
          2,
          3,
          4,
          5,
          true,
          {{"HeapIdle", kMaxU64}},
          {{"exporter", "otlp", "go.opentelemetry.io/collector/exporter/otlpexporter", kMaxU64, 0.5}},
          {{{"main.put (a.go:1)", {"main.put", "bytes.growSlice"}, kMaxU64, 0.25, "endpoint", "main.report"}},
           {{"endpoint", "main.report", kMaxU64, 0.75}}},
          "7.pb.gz",
          {{kMaxU64, "waiting", "chan receive"}},
          "time_limit"},
      HeapWalked{{9},
                 {8},
                 {7, 6},
                 {5},
                 WalkStop::kPoolFull,
                 kMaxU64,
                 524288,
                 4,
                 3,
                 1,
                 2,
                 true,
                 true,
                 10,
                 11,
                 12,
                 13,
                 {1, kMaxU64},
                 {2, 3},
                 kMaxU64,
                 4,
                 WalkStop::kTimeLimit,
                 PoolCounts{1, kMaxU64, 3, 4, 5, 6}},
      CollectorSampled{{9}, {8, 7}, {6}, {{"otlp/backend", kMaxU64}}, {{"otlp/backend", 5}}, {{"otlp", 4}}, 3, 2},
      PodSeen{{1},
              "uid",
              "static",
              "ns",
              "pod",
              "node",
              "ReplicaSet",
              "owner",
              {{"c", "id", "img", 2, kMaxU64, true, PodTermination{"old", "OOMKilled", -1, WallTime{kMaxI64}},
                PodTermination{"older", "", {}, {}}},
               {}},
              {{"app", "x"}},
              {{"oomwitness.io/capture", "false"}},
              true,
              -5},
      PodGone{{1}, "uid"},
      PodsCurrent{{1}, true},
      TrendJudged{{1},
                  {2, 3},
                  4.5,
                  6,
                  {"leak", 7, 0.875, 1.5, -2.0, 3.25, 8.0, 9, 10, 11, kMaxU64},
                  {{{"main.leak /a.go:1", "main.main /a.go:2"}, "exporter/otlp", {}}, {}},
                  {{{12}, "at_kill", 13, true, true, 14, 15, "trend-01.pb.gz", "8-trend.pb.gz"}, {}},
                  {{"receiver", "otlp", "m", 5, 1}},
                  "8-trend.json",
                  RuntimeKind::kCpython},
      FilesUnplaced{{1}, "20261121T030405Z-1a2b3c4d", {{"capture-01-http.pb.gz", "no such file"}}},
      HeapAnalysed{{9},
                   {8},
                   {7, 6},
                   {5},
                   RuntimeKind::kJvm,
                   CaptureTrigger::watermark(80),
                   CaptureResult::kOk,
                   CaptureReason::kPartial,
                   "a detail",
                   kMaxU64,
                   2,
                   {{0.5, kMaxU64, 3, true, "exporter/otlp", {"global main.m", ".a -> main.b"}}},
                   0.75,
                   60,
                   "rooted 41 % of 60 samples",
                   {{12, "waiting", {"runtime.chansend", "main.f"}, "main.main", "receiver/otlp"}},
                   13,
                   {{kMaxU64, 144, 176, {"", "chan receive"}}},
                   {{kMaxU64, 5, 16384, {{kMaxU64, "dict"}}}},
                   {{kMaxU64, 3, 2, {{"dict", kMaxU64, 4, 5, 6}}, "time_limit"}},
                   {{"type", "dict", "LOG in app", kMaxU64, 14, 0.25, 15}},
                   {{"Java heap", "jvm", kMaxU64, "hotspot"}},
                   0.875,
                   0.125,
                   kMaxU64,
                   {{1, 2, 3, kMaxU64, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 1.5, 2.5, 0.125}},
                   {"a note"},
                   {{"holders.json", "5-analysis.pb.gz"}}},
      GrowthProfile{{9},
                    {8},
                    {7, 6},
                    {5},
                    262144,
                    kMaxU64,
                    4,
                    3,
                    {{kMaxU64,
                      true,
                      {{"handle", "app.py", "libx.so", 41, true, true, true}, {"main", "", "", 0, false, false}},
                      {0, kMaxU64}}},
                    {"a note"},
                    {{"libx.so", "ab12"}},
                    "5-growth.pb.gz",
                    2},
  };
}

std::vector<Event> make_empty_events() {
  return {
      OomKill{},        WatermarkCrossed{}, ProcessExec{},   ProcessExit{}, CgroupCreated{},       CgroupRemoved{},
      ReclaimSampled{}, EventsLost{},       MemorySampled{}, ProcessSeen{}, ContainerIdentified{}, CaptureFinished{},
      HeapWalked{},     CollectorSampled{}, PodSeen{},       PodGone{},     PodsCurrent{},         TrendJudged{},
      FilesUnplaced{},  HeapAnalysed{},     GrowthProfile{}};
}

ProcessExec make_exec(std::string comm) { return {{7}, {2, 3}, 5, {6}, std::move(comm)}; }

Event read_back(const Event& event) {
  auto read = event_from_json_line(to_json_line(event));
  EXPECT_TRUE(read.has_value()) << read.error().message;
  return read.value_or(EventsLost{{0}, "unreadable", 0});
}

std::string reason_against(std::string_view line) {
  const auto read = event_from_json_line(line);
  EXPECT_FALSE(read.has_value()) << line;
  return read.has_value() ? "" : read.error().message;
}

TEST(RecordJson, there_is_an_example_of_every_type) {
  const auto full = make_full_events(), empty = make_empty_events();
  ASSERT_EQ(full.size(), std::variant_size_v<AnyEvent>);
  for (std::size_t i = 0; i < full.size(); ++i) {
    EXPECT_EQ(full[i].index(), i);
    EXPECT_EQ(empty[i].index(), i);
  }
}

// The structs have no operator==, so members are compared through the line; the members spelled
// out in the tests below keep this from being circular.
TEST(RecordJson, every_member_comes_back) {
  for (const Event& event : make_full_events()) {
    EXPECT_EQ(read_back(event).index(), event.index());
    EXPECT_EQ(to_json_line(read_back(event)), to_json_line(event));
  }
}

TEST(RecordJson, absent_members_stay_absent) {
  for (const Event& event : make_empty_events()) EXPECT_EQ(to_json_line(read_back(event)), to_json_line(event));
  EXPECT_THAT(to_json_line(OomKill{}), Not(HasSubstr("uid")));
}

TEST(RecordJson, a_kills_members_come_back_exactly) {
  const auto kill = std::get<OomKill>(read_back(make_full_events()[0]));
  EXPECT_EQ(kill.time.ns, kMaxI64);
  EXPECT_EQ(kill.victim, (ProcessKey{100, kMaxU64}));
  EXPECT_EQ(kill.victim_cgroup.value, 1u);
  EXPECT_EQ(kill.victim_comm, "a\"b\\c\n\t\u20ac");
  EXPECT_EQ(kill.victim_uid, 65534u);
  EXPECT_EQ(kill.victim_oom_score_adj, -1000);
  EXPECT_EQ(kill.victim_rss->shmem_bytes, 3u);
  EXPECT_EQ(kill.victim_rss->pgtables_bytes, 4u);
  EXPECT_EQ(kill.trigger_pid, 200);
  EXPECT_EQ(kill.owner_cgroup.value, 3u);
  EXPECT_TRUE(kill.owner_known && kill.owner_exact);
  EXPECT_EQ(kill.owner_usage_bytes, kMaxU64);
  EXPECT_EQ(kill.source, std::string("kmsg\0", 5));
  ASSERT_TRUE(kill.decision.has_value());
  EXPECT_EQ(kill.decision->ns, 11);
  EXPECT_EQ(kill.group.value, 12u);
  EXPECT_EQ(kill.total_bytes, kMaxU64);
  EXPECT_TRUE(kill.is_node_wide_said);
}

TEST(RecordJson, kill_of_an_older_recording_has_no_decision) {
  const auto event = event_from_json_line(R"({"type":"oom_kill","time_ns":1,"pid":2,"source":"bpf"})");
  ASSERT_TRUE(event.has_value()) << event.error().message;
  const auto& kill = std::get<OomKill>(*event);
  EXPECT_FALSE(kill.decision || kill.total_bytes || kill.is_node_wide_said);
  EXPECT_FALSE(kill.group);
}

TEST(RecordJson, a_captures_members_come_back_exactly) {
  const auto capture = std::get<CaptureFinished>(read_back(make_full_events()[11]));
  EXPECT_EQ(capture.started.ns, 8);
  EXPECT_EQ(capture.capture_id, 7u);
  EXPECT_EQ(capture.process, (ProcessKey{5, 4}));
  EXPECT_EQ(capture.method, CaptureMethod::kAtKill);
  EXPECT_EQ(capture.result, CaptureResult::kSkipped);
  EXPECT_EQ(capture.usage_bytes, kMaxU64);
  EXPECT_EQ(capture.sample_count, 5u);
  EXPECT_TRUE(capture.complete);
  EXPECT_EQ(capture.spool_file, "7.pb.gz");
}

TEST(RecordJson, doubles_come_back_exactly) {
  const double odd = 0.1 + 0.2;
  WatermarkCrossed crossed;
  crossed.growth_bytes_per_second = odd;
  EXPECT_EQ(std::get<WatermarkCrossed>(read_back(crossed)).growth_bytes_per_second, odd);
}

TEST(RecordJson, maps_and_labels_come_back) {
  EXPECT_EQ(std::get<MemorySampled>(read_back(make_full_events()[8])).memory_stat.at("anon"), kMaxU64);
  const auto identity = std::get<ContainerIdentified>(make_full_events()[10]).identity;
  EXPECT_EQ(std::get<ContainerIdentified>(read_back(make_full_events()[10])).identity, identity);
}

TEST(RecordJson, line_opens_with_type_and_time_and_has_no_newline) {
  const std::string line = to_json_line(make_exec("a\nb"));
  EXPECT_THAT(line, StartsWith("{\"type\":\"exec\",\"time_ns\":7,"));
  EXPECT_EQ(line.find('\n'), std::string::npos);
}

TEST(RecordJson, invalid_utf8_becomes_valid) {
  EXPECT_EQ(std::get<ProcessExec>(read_back(make_exec("x\xff\xc3"))).comm, "x\uFFFD\uFFFD");
  ContainerIdentified identified;
  identified.identity.labels["\xff"] = "\xfe";
  EXPECT_EQ(std::get<ContainerIdentified>(read_back(identified)).identity.labels.at("\uFFFD"), "\uFFFD");
}

TEST(RecordJson, names_that_would_steer_a_terminal_are_escaped_and_survive) {
  const std::string evil = "\u009b31m\u202egpj.";
  EXPECT_THAT(to_json_line(make_exec(evil)), HasSubstr("\\u009b31m\\u202egpj."));
  EXPECT_EQ(std::get<ProcessExec>(read_back(make_exec(evil))).comm, evil);
}

TEST(RecordJson, unknown_keys_are_for_newer_versions) {
  EXPECT_TRUE(event_from_json_line(R"({"type":"exit","time_ns":1,"from_the_future":{"x":[1]}})").has_value());
}

TEST(RecordJson, malformed_lines_are_refused_with_the_reason) {
  EXPECT_THAT(reason_against(""), StartsWith("not JSON"));
  EXPECT_THAT(reason_against(R"({"type":"exit")"), StartsWith("not JSON"));
  EXPECT_EQ(reason_against("[]"), "not a JSON object");
  EXPECT_EQ(reason_against(R"({"time_ns":1})"), "no \"type\"");
  EXPECT_EQ(reason_against(R"({"type":"exit"})"), "time_ns is not present");
  EXPECT_EQ(reason_against(R"({"type":"nope","time_ns":1})"), "unknown event type \"nope\"");
}

TEST(RecordJson, value_of_the_wrong_type_or_range_is_refused_by_name) {
  const auto refused = [](std::string_view member) {
    return reason_against(R"({"type":"oom_kill","time_ns":1,)" + std::string(member) + "}");
  };
  EXPECT_EQ(refused(R"("pid":"1")"), "pid is not an integer in range");
  EXPECT_EQ(refused(R"("pid":2147483648)"), "pid is not an integer in range");
  EXPECT_EQ(refused(R"("cgroup":-1)"), "cgroup is not an integer in range");
  EXPECT_EQ(refused(R"("cgroup":1.5)"), "cgroup is not an integer in range");
  EXPECT_EQ(refused(R"("cgroup":18446744073709551616)"), "cgroup is not an integer in range");
  EXPECT_EQ(refused(R"("owner_known":1)"), "owner_known is not true or false");
  EXPECT_EQ(refused(R"("rss":{"anon_bytes":-1})"), "rss.anon_bytes is not an integer in range");
  EXPECT_THAT(reason_against(R"({"type":"capture","time_ns":1,"method":"guess"})"), StartsWith("method is not"));
  EXPECT_THAT(reason_against(R"({"type":"exit","time_ns":1e300})"), StartsWith("time_ns is not"));
}

TEST(RecordJson, hostile_type_is_printed_safely) {
  EXPECT_EQ(reason_against("{\"type\":\"\\u001b[31m\",\"time_ns\":1}"), "unknown event type \"\\x1b[31m\"");
}

}  // namespace
}  // namespace oomw
