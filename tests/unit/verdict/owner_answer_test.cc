// SPDX-License-Identifier: Apache-2.0
#include "verdict/owner_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/builders.h"
#include "verdict/answer.h"

namespace oomw {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

IncidentHolder holder(std::string component = "") {
  IncidentHolder one;
  one.share = 0.95;
  one.bytes = 200u << 20;
  one.is_owner = true;
  one.component = std::move(component);
  one.chain = {"global main.sessions", "[] -> main.session"};
  return one;
}

// A leak whose allocating code is known.
Incident leak_with(IncidentHolder one) {
  Incident incident = test::judged_as("leak");
  incident.fillers = {{"go", "site", "main.put (a.go:1)", {"main.put"}, "", "", 100, 0.9, "at_kill"}};
  incident.holders = {std::move(one)};
  return incident;
}

TEST(OwnerAnswer, owner_is_said_beside_the_code_that_allocated) {
  const IncidentAnswer answer = answer_of(leak_with(holder()));
  ASSERT_TRUE(answer.culprit);
  EXPECT_EQ(answer.culprit->claim, "allocates");
  EXPECT_THAT(answer.sentence, HasSubstr("main.put (a.go:1) allocated 90 % of the heap"));
  EXPECT_THAT(answer.sentence, HasSubstr("Kept by global main.sessions: 95 % of the heap that could be traced"));
}

TEST(OwnerAnswer, owner_is_the_culprit_where_no_profile_names_code) {
  Incident incident = leak_with(holder());
  incident.fillers.clear();
  const IncidentAnswer answer = answer_of(incident);
  ASSERT_TRUE(answer.culprit);
  EXPECT_EQ(answer.culprit->claim, "keeps");
  EXPECT_EQ(answer.culprit->code, "global main.sessions");
  EXPECT_THAT(answer.sentence, StartsWith("Memory leak in "));
  EXPECT_THAT(answer.sentence, HasSubstr(" was reached. Kept by global main.sessions: 95 %"));
  EXPECT_EQ(answer.action, "Free or bound what global main.sessions keeps; a larger limit only delays the next kill.");
}

TEST(OwnerAnswer, a_long_way_down_ends_in_dots_alone) {
  IncidentHolder deep = holder();
  deep.chain = {"global main.sessions", "[] -> main.session", " -> []uint8", " -> byte"};
  EXPECT_THAT(answer_of(leak_with(deep)).sentence,
              HasSubstr("hangs on global main.sessions[] -> main.session -> []uint8 -> ..."));
  EXPECT_THAT(answer_of(leak_with(deep)).sentence, ::testing::Not(HasSubstr("....")));
  EXPECT_THAT(answer_of(leak_with(holder())).sentence, HasSubstr("hangs on global main.sessions[] -> main.session."));
}

TEST(OwnerAnswer, objects_of_which_only_the_size_is_known_are_left_out_of_the_way_down) {
  IncidentHolder timers = holder();
  timers.chain = {"timers of the scheduler (runtime.p)", " -> ?278528", " -> ?80", " -> closure main.retry",
                  " -> bytes"};
  EXPECT_THAT(answer_of(leak_with(timers)).sentence,
              HasSubstr("hangs on timers of the scheduler (runtime.p) -> ... -> closure main.retry -> bytes."));
  timers.chain = {"global main.sessions", " -> object of 48 B"};
  EXPECT_THAT(answer_of(leak_with(timers)).sentence, HasSubstr("hangs on global main.sessions -> ..."));
}

TEST(OwnerAnswer, component_on_the_path_comes_before_the_receiver_that_allocated) {
  const IncidentAnswer answer = answer_of(leak_with(holder("processor/batch")));
  ASSERT_TRUE(answer.culprit);
  EXPECT_EQ(answer.culprit->claim, "keeps");
  EXPECT_EQ(answer.culprit->code, "processor batch");
  EXPECT_EQ(answer.culprit->operation, "processor/batch");
  EXPECT_THAT(answer.action, HasSubstr("send_batch_size"));
}

TEST(OwnerAnswer, keeper_says_what_to_do_whatever_the_cause) {
  for (const char* cause : {"leak", "spike", "undersized", ""}) {
    Incident incident = leak_with(holder("processor/batch"));
    incident.verdict->cause = cause;
    EXPECT_THAT(answer_of(incident).action, HasSubstr("send_batch_size")) << cause;
  }
}

TEST(OwnerAnswer, helper_package_names_the_kind_only) {
  const IncidentAnswer answer = answer_of(leak_with(holder("exporter/exporterhelper")));
  EXPECT_THAT(answer.sentence, StartsWith("Kept by an exporter's sending queue or its retries"));
  EXPECT_THAT(answer.action, HasSubstr("backend"));
}

TEST(OwnerAnswer, exporter_by_name_and_senders_that_retry_are_said) {
  Incident incident = leak_with(holder("exporter/otlp/tempo"));
  incident.goroutines = {{9, "waiting", {"sync.runtime_notifyListWait"}, "", ""},
                         {3, "waiting", {"runtime.selectgo", "internal.(*retrySender).Send"}, "", ""}};
  incident.goroutine_count = 35;
  const IncidentAnswer answer = answer_of(incident);
  EXPECT_THAT(answer.sentence, StartsWith("Kept by exporter otlp/tempo: 95 %"));
  EXPECT_THAT(answer.sentence, HasSubstr("3 of the exporters' senders wait to send again"));
  EXPECT_EQ(answer.culprit->operation, "exporter/otlp/tempo");
}

TEST(OwnerAnswer, requests_that_wait_are_neither_a_queue_nor_a_batch) {
  for (const char* component : {"exporter/otlphttp", "processor/batch"}) {
    IncidentHolder one = holder(component);
    one.chain = {"goroutine http.(*conn).serve in batchprocessor.(*singleShardBatcher).consume", " -> object of 24 B"};
    const std::string action = answer_of(leak_with(one)).action;
    EXPECT_THAT(action, HasSubstr("requests wait there for what comes after it. Mend the backend"));
    EXPECT_THAT(action, Not(HasSubstr("queue")));
    EXPECT_THAT(action, Not(HasSubstr("send_batch_size")));
    one.chain.front() = "goroutine batchprocessor.(*shard).start.func1 in sync.(*WaitGroup).Go.func1";
    EXPECT_THAT(answer_of(leak_with(one)).action, Not(HasSubstr("requests wait")));
  }
}

TEST(OwnerAnswer, what_waits_in_a_queue_is_said) {
  Incident incident = leak_with(holder("exporter/otlp/tempo"));
  incident.fillers.push_back({"go", "holder", "list of queuebatch.node", {}, "", "", 100, 0.9, "analysis"});
  incident.fillers.back().count = 1234;
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr(" Its sending queue holds 1234 batches."));
  incident.fillers.back().name = "list of main.item";
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr(" That is a list of 1234 main.item."));
  incident.fillers.back().evidence = "at_kill";
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("1234")));
}

TEST(OwnerAnswer, connections_of_an_exporter_are_said_and_the_advice_names_the_peer) {
  Incident incident = leak_with(holder("exporter/otlp/tempo"));
  incident.notes = {"analyses: connections: to 10.0.0.7:4317: 2 not answered (tried 5 times)",
                    "analyses: connections: 17 attempts to connect have failed in its network namespace"};
  const IncidentAnswer answer = answer_of(incident);
  EXPECT_THAT(answer.sentence,
              HasSubstr("Connections of the process: to 10.0.0.7:4317: 2 not answered (tried 5 times); "
                        "17 attempts to connect have failed in its network namespace."));
  EXPECT_THAT(answer.action, HasSubstr("see first why 10.0.0.7:4317 takes nothing"));
  incident.holders.front().component = "processor/batch";
  EXPECT_THAT(answer_of(incident).sentence, Not(HasSubstr("Connections")));
}

TEST(OwnerAnswer, holder_that_is_not_proved_is_not_said) {
  IncidentHolder one = holder("processor/batch");
  one.is_owner = false;
  const IncidentAnswer answer = answer_of(leak_with(one));
  ASSERT_TRUE(answer.culprit);
  EXPECT_EQ(answer.culprit->claim, "allocates");
  EXPECT_THAT(answer.sentence, Not(HasSubstr("Kept by")));
}

TEST(OwnerAnswer, many_goroutines_at_one_place_are_said) {
  Incident incident = leak_with(holder());
  incident.goroutines = {{300, "waiting", {"runtime.chansend", "main.handle"}, "main.main", ""}};
  incident.goroutine_count = 310;
  EXPECT_EQ(waiting_text(incident), "300 of 310 goroutines wait in runtime.chansend, called by main.handle.");
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr("300 of 310 goroutines wait"));
}

TEST(OwnerAnswer, goroutines_that_pile_up_are_said_where_the_memory_is_not_on_the_heap) {
  Incident incident = leak_with(holder());
  incident.verdict->cause = "off_heap";
  EXPECT_THAT(answer_of(incident).action, HasSubstr("Count goroutines"));
  incident.goroutines = {{300, "waiting", {"runtime.chansend", "main.handle"}, "main.main", ""}};
  incident.goroutine_count = 310;
  const IncidentAnswer answer = answer_of(incident);
  EXPECT_THAT(answer.sentence, HasSubstr("is not on its Go heap"));
  EXPECT_THAT(answer.sentence, HasSubstr("300 of 310 goroutines wait in runtime.chansend, called by main.handle."));
  EXPECT_EQ(answer.action, "See why these goroutines never end: each keeps its stack and what it refers to.");
}

TEST(OwnerAnswer, connections_that_are_idle_at_the_kill_are_no_goroutines_that_never_end) {
  Incident incident = leak_with(holder());
  incident.holders.clear();
  incident.verdict->cause = "off_heap";
  IncidentCapture at_kill;
  at_kill.pid = incident.victims.front().process.pid;
  at_kill.goroutines = {{250, "waiting", "IO wait"}, {100, "waiting", "select"}};
  incident.captures.push_back(at_kill);
  const IncidentAnswer answer = answer_of(incident);
  EXPECT_THAT(answer.sentence, HasSubstr("250 goroutines waited at the kill (IO wait)."));
  EXPECT_EQ(answer.action, "Count goroutines and what cgo or mmap holds while it runs.");
}

TEST(OwnerAnswer, goroutines_that_waited_at_the_kill_are_said) {
  Incident incident = leak_with(holder());
  IncidentCapture at_kill;
  at_kill.pid = incident.victims.front().process.pid;
  at_kill.goroutines = {{6390, "waiting", "chan receive"}, {10, "runnable", ""}};
  incident.captures.push_back(at_kill);
  EXPECT_EQ(waiting_text(incident), "6390 goroutines waited at the kill (chan receive).");
  EXPECT_THAT(answer_of(incident).sentence, HasSubstr("6390 goroutines waited at the kill (chan receive)."));
  incident.captures.back().goroutines_cut = "time_limit";
  incident.goroutines = {{300, "waiting", {"runtime.chanrecv", "main.handle"}, "main.main", ""}};
  incident.goroutine_count = 310;
  EXPECT_EQ(waiting_text(incident),
            "300 of 310 goroutines wait in runtime.chanrecv, called by main.handle. At least 6390 goroutines waited at "
            "the kill "
            "(chan receive).");
}

TEST(OwnerAnswer, few_goroutines_at_the_kill_or_of_many_kinds_or_of_another_victim_are_not_said) {
  Incident incident = leak_with(holder());
  IncidentCapture at_kill;
  at_kill.pid = incident.victims.front().process.pid;
  at_kill.goroutines = {{150, "waiting", "select"}};
  incident.captures.push_back(at_kill);
  EXPECT_THAT(waiting_text(incident), IsEmpty());
  incident.captures.back().goroutines = {{400, "waiting", "select"}, {390, "waiting", "sleep"}, {380, "runnable", ""}};
  EXPECT_THAT(waiting_text(incident), IsEmpty()) << "not most of them";
  incident.captures.back().goroutines = {{400, "runnable", ""}};
  EXPECT_THAT(waiting_text(incident), IsEmpty()) << "they did not wait";
  incident.captures.back().goroutines = {{400, "waiting", "select"}};
  ++incident.captures.back().pid;
  EXPECT_THAT(waiting_text(incident), IsEmpty());
}

TEST(OwnerAnswer, pool_of_workers_is_no_leak) {
  Incident incident = leak_with(holder());
  incident.goroutines = {{100, "waiting", {"runtime.chanrecv", "main.worker"}, "main.main", ""}};
  incident.goroutine_count = 110;
  EXPECT_THAT(waiting_text(incident), IsEmpty());
  incident.goroutines.front().count = 400;
  incident.goroutine_count = 1'000;
  EXPECT_THAT(waiting_text(incident), IsEmpty()) << "not most of them";
}

}  // namespace
}  // namespace oomw
