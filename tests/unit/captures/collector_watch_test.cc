// SPDX-License-Identifier: Apache-2.0
#include "captures/collector_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <future>

#include "base/files.h"
#include "base/proc_stat.h"
#include "system/process_reader.h"
#include "unit/base/set_clock.h"
#include "unit/captures/child_process.h"
#include "unit/captures/loopback_server.h"

namespace oomw {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using namespace std::chrono_literals;

class NoHeap final : public CaptureBackend {
 public:
  CaptureOutcome capture(const CaptureRequest&) override {
    ++captures;
    return {};
  }
  void prepare(const CaptureRequest&) override { ++prepares; }
  void forget(ProcessKey) override { ++forgets; }
  std::atomic<int> captures = 0, prepares = 0, forgets = 0;
};

void serve_metrics(int client) {
  read_request(client);
  send_all(client, response("200 OK", "otelcol_exporter_queue_size{exporter=\"otlp\"} 7\n"));
}

CaptureRequest watch_request(pid_t pid) {
  CaptureRequest request;
  request.targets = {{ProcessReader().key_of(pid).value_or(ProcessKey{pid, 0}), CgroupId{7}, "otelcol", "/otelcol"}};
  return request;
}

// No deadline passes by it, however long the way to the wait for room takes.
// What the kernel counts for this process, as a Collector reports it.
std::string own_cpu_seconds() {
  const std::string stat = read_file("/proc/self/stat", ProcStat::kMaxBytes).value_or("");
  const auto ticks = ProcStat(stat).field(14).value_or(0) + ProcStat(stat).field(15).value_or(0);
  return std::to_string(static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

LoopbackServer::Behaviour serve_metrics_of(std::function<std::string()> cpu_seconds) {
  return [cpu_seconds](int client) {
    read_request(client);
    send_all(client, response("200 OK",
                              "otelcol_exporter_queue_size{exporter=\"otlp\"} 7\n"
                              "otelcol_process_cpu_seconds " +
                                  cpu_seconds() + "\n"));
  };
}

class CollectorWatchTest : public ::testing::Test {
 protected:
  // Readings that came of `act`, once the workers are through.
  template <typename Act>
  std::vector<CollectorSampled> readings_of(LoopbackServer& server, Act act, Nanoseconds timeout = 20s) {
    std::vector<CollectorSampled> readings;
    std::mutex mutex;
    auto workers = std::make_unique<WorkerPool>("test", 1, 8);
    CollectorConfig config{.ports = {server.port()}, .timeout = timeout, .max_body_bytes = 4096};
    CollectorWatch watch(heap_, *workers, config, clock_, [&](CollectorSampled reading) {
      const std::lock_guard lock(mutex);
      readings.push_back(std::move(reading));
      return true;
    });
    act(watch);
    workers.reset();
    return readings;
  }

  NoHeap heap_;
  SystemClock clock_;
};

TEST_F(CollectorWatchTest, capture_and_prepare_read_the_metrics_of_the_target) {
  LoopbackServer server(serve_metrics);
  const auto readings = readings_of(server, [](CollectorWatch& watch) {
    watch.prepare(watch_request(::getpid()));
    (void)watch.capture(watch_request(::getpid()));
  });
  ASSERT_THAT(readings, SizeIs(2));
  EXPECT_THAT(readings[1].queue_sizes, ElementsAre(Pair("otlp", 7)));
  EXPECT_EQ(readings[1].process.pid, ::getpid());
  EXPECT_EQ(readings[1].cgroup, CgroupId{7});
  EXPECT_LT(readings[0].time, readings[1].time);
  EXPECT_EQ(heap_.captures, 1);
  EXPECT_EQ(heap_.prepares, 1);
}

TEST_F(CollectorWatchTest, listener_of_another_process_is_not_asked) {
  const ChildProcess child;  // forked before the server: it has no copy of the listener
  LoopbackServer server(serve_metrics);
  ASSERT_TRUE(child.is_ready());
  EXPECT_THAT(readings_of(server, [&](CollectorWatch& watch) { watch.prepare(watch_request(child.pid())); }),
              IsEmpty());
}

TEST_F(CollectorWatchTest, answers_that_are_no_collectors_or_too_long_lead_to_nothing) {
  LoopbackServer other([](int client) {
    read_request(client);
    send_all(client, response("200 OK", "go_goroutines 7\n"));
  });
  LoopbackServer endless([](int client) {
    read_request(client);
    send_all(client, response("200 OK", "otelcol_x 1\n" + std::string(8192, '\n')));
  });
  const auto prepare = [](CollectorWatch& watch) { watch.prepare(watch_request(::getpid())); };
  EXPECT_THAT(readings_of(other, prepare), IsEmpty());
  EXPECT_THAT(readings_of(endless, prepare), IsEmpty());
}

TEST_F(CollectorWatchTest, listener_that_never_answers_ends_with_the_deadline) {
  LoopbackServer server(read_request);
  const auto prepare = [](CollectorWatch& watch) { watch.prepare(watch_request(::getpid())); };
  EXPECT_THAT(readings_of(server, prepare, 100ms), IsEmpty());
}

TEST_F(CollectorWatchTest, answer_waits_for_room_in_memory_until_the_deadline) {
  LoopbackServer server(serve_metrics);
  WorkerPool workers("test", 1, 8);
  CollectorConfig config{.ports = {server.port()}, .timeout = 100ms, .max_body_bytes = 4096};
  MemoryBudget memory(10'000);
  const auto deliver = [](const CollectorSampled&) { return true; };
  const test::SetClock standing;
  CollectorWatch watch(heap_, workers, config, standing, deliver, &memory);
  {
    const auto others = memory.try_take(5'000);
    watch.prepare(watch_request(::getpid()));
    EXPECT_EQ(watch.dropped(), 1u);
    EXPECT_EQ(memory.peak(), 5'000u);
  }
  config.timeout = 20s;
  CollectorWatch patient(heap_, workers, config, clock_, deliver, &memory);
  patient.prepare(watch_request(::getpid()));
  EXPECT_EQ(patient.dropped(), 0u);
  EXPECT_EQ(memory.peak(), 8'192u);
  EXPECT_EQ(memory.taken(), 0u);
}

// The metrics are not where they are looked for in any program.
class CollectorElsewhere : public ::testing::Test {
 protected:
  std::size_t readings_after(int prepares, bool is_collector) {
    WorkerPool workers("test", 1, 8);
    CollectorConfig config{.ports = {1}, .timeout = 20s, .max_body_bytes = 4096};
    std::size_t readings = 0;
    const auto deliver = [&](const CollectorSampled& reading) { return readings += reading.queue_sizes.size(), true; };
    CollectorWatch watch(heap_, workers, config, clock_, deliver, nullptr,
                         [&](ProcessKey process) { return is_collector && process.pid == ::getpid(); });
    for (int i = 0; i < prepares; ++i) {
      watch.prepare(watch_request(::getpid()));
      clock_.advance(EndpointCache::kNoneLifetime + 1s);
    }
    return readings;
  }

  NoHeap heap_;
  test::SetClock clock_;
};

TEST_F(CollectorElsewhere, process_whose_program_is_a_collector_is_asked_wherever_it_listens) {
  LoopbackServer silent([](int client) {
    read_request(client);
    send_all(client, response("404 Not Found", ""));
  });
  LoopbackServer server(serve_metrics_of(own_cpu_seconds));
  EXPECT_EQ(readings_after(3, true), 3u);
  EXPECT_LE(silent.connections(), 1);  // none, if the metrics were found first
}

TEST_F(CollectorElsewhere, other_programs_are_not_asked_there) {
  LoopbackServer server(serve_metrics_of(own_cpu_seconds));
  EXPECT_EQ(readings_after(1, false), 0u);
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(CollectorElsewhere, metrics_of_another_collector_do_not_count_and_are_read_once) {
  LoopbackServer server(serve_metrics_of([] { return "86400.5"; }));
  EXPECT_EQ(readings_after(3, true), 0u);
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(CollectorElsewhere, listener_that_takes_any_text_gets_one_request) {
  LoopbackServer server(read_request);  // and closes
  EXPECT_EQ(readings_after(3, true), 0u);
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(CollectorWatchTest, reading_that_nobody_takes_is_counted) {
  LoopbackServer server(serve_metrics);
  WorkerPool workers("test", 1, 8);
  CollectorWatch watch(heap_, workers, CollectorConfig{.ports = {server.port()}}, clock_,
                       [](const CollectorSampled&) { return false; });
  watch.prepare(watch_request(::getpid()));
  EXPECT_EQ(watch.dropped(), 1u);
}

TEST_F(CollectorWatchTest, a_container_whose_reading_is_under_way_gets_no_second_one) {
  LoopbackServer server(serve_metrics);
  std::promise<void> opener;
  auto workers = std::make_unique<WorkerPool>("test", 1, 8);
  ASSERT_TRUE(workers->post([gate = opener.get_future().share()] { gate.wait(); }));
  CollectorWatch watch(heap_, *workers, CollectorConfig{.ports = {server.port()}}, clock_,
                       [](const CollectorSampled&) { return true; });
  CaptureRequest request = watch_request(::getpid());
  request.owner = {"greedy", ""};
  (void)watch.capture(request);
  (void)watch.capture(request);
  EXPECT_EQ(watch.dropped(), 1u);
  request.owner = {"neighbour", ""};
  (void)watch.capture(request);
  EXPECT_EQ(watch.dropped(), 1u);
  opener.set_value();
  workers.reset();  // what they run touches the watch
}

TEST_F(CollectorWatchTest, process_that_ended_is_forgotten_by_the_heap_method_as_well) {
  LoopbackServer server(serve_metrics);
  (void)readings_of(server, [](CollectorWatch& watch) { watch.forget({1, 2}); });
  EXPECT_EQ(heap_.forgets, 1);
}

}  // namespace
}  // namespace oomw
