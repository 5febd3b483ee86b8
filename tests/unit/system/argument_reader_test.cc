// SPDX-License-Identifier: Apache-2.0
#include "system/argument_reader.h"

#include <condition_variable>
#include <mutex>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/base/loop_fixture.h"

namespace oomw {
namespace {

using testing::ElementsAre;

// A process's memory that answers at once, except for pids that are held: their readers wait.
struct Memory {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::int32_t> held;

  Result<ProcessSeen> read(std::int32_t pid, MonotonicTime now) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return !held.contains(pid); });
    ProcessSeen seen;
    seen.time = now;
    seen.process = {pid, 1};
    if (pid != 100) seen.cmdline = "app";
    return seen;
  }
  void release() {
    const std::lock_guard lock(mutex);
    held.clear();
    changed.notify_all();
  }
};

class ArgumentReaderTest : public test::LoopFixture {
 protected:
  ~ArgumentReaderTest() override {
    memory->release();
    reader.reset();
  }
  void make() {
    const auto read = [shared = memory](std::int32_t pid, MonotonicTime now) { return shared->read(pid, now); };
    reader = std::make_unique<ArgumentReader>(*loop, clock, read, [this](const Event& event) {
      pids.push_back(std::get<ProcessSeen>(event).process.pid);
      if (pids.size() >= wanted) loop->stop();
    });
  }
  void run_until_told(std::size_t count) {
    wanted = count;
    if (pids.size() < wanted) run();
  }
  void run_until_lost() {
    wanted = ~std::size_t{0};
    const WatchId look = loop->add_periodic(std::chrono::milliseconds(100), [this] {
      if (reader->lost() > 0) loop->stop();
    });
    run();
    loop->remove(look);
  }

  SystemClock clock;
  std::shared_ptr<Memory> memory = std::make_shared<Memory>();
  std::vector<std::int32_t> pids;
  std::size_t wanted = 0;
  std::unique_ptr<ArgumentReader> reader;
};

TEST_F(ArgumentReaderTest, results_come_on_the_loop) {
  make();
  reader->read({1, 1}, "a");
  EXPECT_TRUE(pids.empty());
  run_until_told(1);
  EXPECT_THAT(pids, ElementsAre(1));
}

TEST_F(ArgumentReaderTest, a_process_without_arguments_and_another_with_its_pid_bring_nothing) {
  make();
  reader->read({100, 1}, "a");
  reader->read({7, 2}, "a");
  reader->read({1, 1}, "a");
  run_until_told(1);
  EXPECT_THAT(pids, ElementsAre(1));
  EXPECT_EQ(reader->lost(), 0u);
}

TEST_F(ArgumentReaderTest, memory_that_hangs_holds_up_its_own_container_only) {
  memory->held = {1, 2, 3, 4, 5, 6, 7};
  make();
  for (const std::int32_t pid : memory->held) reader->read({pid, 1}, "hung");
  reader->read({50, 1}, "other");
  reader->read({51, 1}, "other");
  run_until_told(2);
  EXPECT_THAT(pids, ElementsAre(50, 51));
}

TEST_F(ArgumentReaderTest, a_thread_that_hangs_is_replaced_and_counted) {
  memory->held = {1, 2, 3};
  make();
  for (const std::int32_t pid : memory->held) reader->read({pid, 1}, "hung" + std::to_string(pid));
  reader->read({50, 1}, "other");
  run_until_told(1);  // both threads hang until they are given up
  EXPECT_THAT(pids, ElementsAre(50));
  EXPECT_GE(reader->lost(), 1u);
}

TEST_F(ArgumentReaderTest, the_end_does_not_wait_for_memory_that_hangs) {
  memory->held = {1};
  make();
  reader->read({1, 1}, "hung");
  run_until_lost();
  reader.reset();
  EXPECT_TRUE(pids.empty());
}

}  // namespace
}  // namespace oomw
