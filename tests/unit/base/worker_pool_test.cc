// SPDX-License-Identifier: Apache-2.0
#include "base/worker_pool.h"

#include <pthread.h>

#include <atomic>
#include <csignal>
#include <future>

#include <gtest/gtest.h>

namespace oomw {
namespace {

// Keeps a worker busy until it is opened.
class Gate {
 public:
  // Of one that outlives the pool, as what a hung task waits for does.
  [[nodiscard]] static std::function<void()> task_of(std::shared_ptr<Gate> gate) {
    return [gate = std::move(gate)] { gate->task()(); };
  }
  [[nodiscard]] std::function<void()> task() {
    return [this] {
      entered_.set_value();
      opened_.get_future().wait();
    };
  }
  void wait_until_entered() { entered_.get_future().wait(); }
  void open() { opened_.set_value(); }

 private:
  std::promise<void> entered_, opened_;
};

TEST(WorkerPool, destructor_runs_what_is_queued) {
  std::atomic<int> runs = 0;
  {
    WorkerPool pool("test", 2, 100);
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(pool.post([&runs] { ++runs; }));
  }
  EXPECT_EQ(runs, 50);
}

TEST(WorkerPool, full_queue_refuses_and_recovers) {
  std::atomic<int> runs = 0;
  Gate gate;
  {
    WorkerPool pool("test", 1, 2);
    ASSERT_TRUE(pool.post(gate.task()));
    gate.wait_until_entered();
    EXPECT_TRUE(pool.post([&runs] { ++runs; }));
    EXPECT_TRUE(pool.post([&runs] { ++runs; }));
    EXPECT_EQ(pool.queued(), 2u);
    EXPECT_FALSE(pool.post([&runs] { ++runs; }));
    gate.open();
  }
  EXPECT_EQ(runs, 2);
}

TEST(WorkerPool, worker_that_hangs_is_given_up_and_a_spare_takes_over) {
  const SystemClock clock;
  Gate gate;
  WorkerPool pool("test", 1, 8, 2);
  ASSERT_TRUE(pool.post(gate.task()));
  gate.wait_until_entered();
  pool.relieve(clock.now(), std::chrono::hours(1));
  EXPECT_EQ(pool.given_up(), 0u);
  pool.relieve(clock.now() + std::chrono::hours(2), std::chrono::hours(1));
  EXPECT_EQ(pool.given_up(), 1u);
  pool.relieve(clock.now() + std::chrono::hours(2), std::chrono::hours(1));
  EXPECT_EQ(pool.given_up(), 1u);
  std::promise<void> ran;
  ASSERT_TRUE(pool.post([&ran] { ran.set_value(); }));
  ran.get_future().wait();
  gate.open();
}

TEST(WorkerPool, no_more_than_its_spares_hang_at_once_and_one_that_came_back_frees_a_place) {
  const SystemClock clock;
  Gate first, second, third;
  WorkerPool pool("test", 1, 8, 1);
  ASSERT_TRUE(pool.post(first.task()));
  first.wait_until_entered();
  const auto relieve = [&] { pool.relieve(clock.now() + std::chrono::hours(1), std::chrono::seconds(1)); };
  relieve();
  ASSERT_TRUE(pool.post(second.task()));
  second.wait_until_entered();
  relieve();
  EXPECT_EQ(pool.given_up(), 1u);
  first.open();
  while (pool.given_up() < 2) relieve();
  ASSERT_TRUE(pool.post(third.task()));
  third.wait_until_entered();
  third.open();
  second.open();
}

TEST(WorkerPool, destructor_does_not_wait_for_one_that_hangs_for_good) {
  const SystemClock clock;
  const auto gate = std::make_shared<Gate>();
  std::atomic<int> runs = 0;
  {
    WorkerPool pool("test", 1, 8, 1);
    ASSERT_TRUE(pool.post(Gate::task_of(gate)));
    gate->wait_until_entered();
    ASSERT_TRUE(pool.post([&runs] { ++runs; }));
    pool.relieve(clock.now() + std::chrono::hours(1), std::chrono::seconds(30));
  }
  EXPECT_EQ(runs, 1);
  gate->open();
}

TEST(WorkerPool, finish_says_whether_what_a_task_borrowed_may_go) {
  const auto gate = std::make_shared<Gate>();
  WorkerPool pool("test", 2, 8), idle("idle", 1, 1);
  EXPECT_TRUE(idle.finish());
  ASSERT_TRUE(pool.post(Gate::task_of(gate)));
  gate->wait_until_entered();
  pool.relieve(SystemClock().now() + std::chrono::hours(1), std::chrono::seconds(30));
  EXPECT_FALSE(pool.finish());
  gate->open();
  EXPECT_TRUE(pool.finish());
}

TEST(WorkerPool, destructor_does_not_wait_for_one_that_hangs_when_no_spare_is_left) {
  const SystemClock clock;
  const auto gate = std::make_shared<Gate>();
  std::atomic<int> runs = 0;
  {
    WorkerPool pool("test", 1, 8);
    ASSERT_TRUE(pool.post(Gate::task_of(gate)));
    gate->wait_until_entered();
    ASSERT_TRUE(pool.post([&runs] { ++runs; }));
    pool.relieve(clock.now(), std::chrono::milliseconds(1));
    EXPECT_EQ(pool.given_up(), 0u) << "no thread to take its place";
  }
  EXPECT_EQ(runs, 0);
  gate->open();
}

TEST(WorkerPool, closed_pool_drops_what_is_queued_and_ends_what_is_under_way) {
  std::atomic<int> runs = 0;
  Gate gate;
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watched = held;
  {
    WorkerPool pool("test", 1, 8);
    ASSERT_TRUE(pool.post(gate.task()));
    gate.wait_until_entered();
    ASSERT_TRUE(pool.post([&runs, held = std::move(held)] { ++runs; }));
    pool.close();
    EXPECT_TRUE(watched.expired());
    EXPECT_FALSE(pool.post([&runs] { ++runs; }));
    gate.open();
  }
  EXPECT_EQ(runs, 0);
}

TEST(WorkerPool, one_blocked_worker_leaves_the_others) {
  Gate gate;
  WorkerPool pool("test", 2, 8);
  ASSERT_TRUE(pool.post(gate.task()));
  gate.wait_until_entered();
  std::promise<void> done;
  ASSERT_TRUE(pool.post([&done] { done.set_value(); }));
  done.get_future().wait();
  gate.open();
}

TEST(WorkerPool, threads_are_named_and_leave_signals_to_others) {
  WorkerPool pool("a-long-pool-name", 1, 8);
  std::promise<std::pair<std::string, bool>> seen;
  ASSERT_TRUE(pool.post([&seen] {
    char name[16] = {};
    pthread_getname_np(pthread_self(), name, sizeof(name));
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    seen.set_value({name, sigismember(&blocked, SIGTERM) == 1 && sigismember(&blocked, SIGSEGV) == 0});
  }));
  const auto [name, is_masked] = seen.get_future().get();
  EXPECT_EQ(name, "a-long-pool-nam");
  EXPECT_TRUE(is_masked);
}

TEST(WorkerPool, stacks_are_small) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need larger frames, so stacks are larger there";
#endif
  WorkerPool pool("test", 1, 8);
  std::promise<std::size_t> size;
  ASSERT_TRUE(pool.post([&size] {
    pthread_attr_t attributes;
    std::size_t bytes = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstacksize(&attributes, &bytes);
    pthread_attr_destroy(&attributes);
    size.set_value(bytes);
  }));
  EXPECT_EQ(size.get_future().get(), 256u << 10);
}

}  // namespace
}  // namespace oomw
