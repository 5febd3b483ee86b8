// SPDX-License-Identifier: Apache-2.0
#include "base/event_loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/unique_fd.h"

namespace oomw {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;

struct Pipe {
  UniqueFd read_end, write_end;
  Pipe() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(::pipe(fds), 0);
    read_end.reset(fds[0]);
    write_end.reset(fds[1]);
  }
  void put() const { EXPECT_EQ(::write(write_end.get(), "x", 1), 1); }
  void take() const {
    char c = 0;
    EXPECT_EQ(::read(read_end.get(), &c, 1), 1);
  }
};

class EventLoopTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = EventLoop::make();
    ASSERT_TRUE(made.has_value()) << made.error().message;
    loop = std::move(*made);
  }
  std::unique_ptr<EventLoop> loop;
};

TEST_F(EventLoopTest, posted_tasks_run_in_order) {
  std::vector<int> order;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(loop->post([&order, i] { order.push_back(i); }));
  loop->post([this] { loop->stop(); });
  loop->run();
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
}

TEST_F(EventLoopTest, after_each_task_timer_and_callback_the_hook_runs) {
  const Pipe pipe;
  std::vector<std::string> order;
  loop->set_after_each([&] { order.emplace_back("hook"); });
  ASSERT_TRUE(loop->add_fd(pipe.read_end.get(), EPOLLIN,
                           [&](std::uint32_t) {
                             pipe.take();
                             order.emplace_back("fd");
                             loop->stop();
                           })
                  .has_value());
  loop->post([&] { order.emplace_back("first"); });
  loop->post([&] {
    order.emplace_back("second");
    (void)loop->add_once(milliseconds(1), [&] {
      order.emplace_back("timer");
      pipe.put();
    });
  });
  loop->run();
  EXPECT_THAT(order, ElementsAre("first", "hook", "second", "hook", "timer", "hook", "fd", "hook"));
}

TEST_F(EventLoopTest, post_from_another_thread_wakes_the_loop) {
  std::thread poster([this] { loop->post([this] { loop->stop(); }); });
  loop->run();
  poster.join();
}

TEST_F(EventLoopTest, full_queue_refuses) {
  for (std::size_t i = 0; i < EventLoop::kMaxPosted; ++i) ASSERT_TRUE(loop->post([] {}));
  EXPECT_FALSE(loop->post([] {}));
}

TEST_F(EventLoopTest, stop_before_run_ends_it_at_once_and_it_can_run_again) {
  loop->stop();
  loop->run();
  loop->post([this] { loop->stop(); });
  loop->run();
}

TEST_F(EventLoopTest, readable_fd_calls_its_callback) {
  const Pipe pipe;
  int calls = 0;
  const auto id = loop->add_fd(pipe.read_end.get(), EPOLLIN, [&](std::uint32_t events) {
    EXPECT_TRUE(events & EPOLLIN);
    pipe.take();
    if (++calls == 2) return loop->stop();
    pipe.put();
  });
  ASSERT_TRUE(id.has_value());
  pipe.put();
  loop->run();
  EXPECT_EQ(calls, 2);
}

TEST_F(EventLoopTest, adding_an_fd_twice_is_an_error) {
  const Pipe pipe;
  EXPECT_TRUE(loop->add_fd(pipe.read_end.get(), EPOLLIN, [](std::uint32_t) {}).has_value());
  EXPECT_FALSE(loop->add_fd(pipe.read_end.get(), EPOLLIN, [](std::uint32_t) {}).has_value());
}

TEST_F(EventLoopTest, callback_may_remove_its_own_watch) {
  const Pipe pipe;
  int calls = 0;
  WatchId id;
  id = *loop->add_fd(pipe.read_end.get(), EPOLLIN, [&](std::uint32_t) {
    ++calls;
    loop->remove(id);
    (void)loop->add_once(milliseconds(5), [this] { loop->stop(); });
  });
  pipe.put();  // stays readable: without the removal it would be called again
  loop->run();
  EXPECT_EQ(calls, 1);
}

TEST_F(EventLoopTest, watch_removed_in_the_same_batch_is_not_called) {
  const Pipe first, second;
  int calls = 0;
  WatchId ids[2];
  const auto remove_the_other = [&](int other) {
    return [&, other](std::uint32_t) {
      ++calls;
      loop->remove(ids[other]);
      loop->stop();
    };
  };
  ids[0] = *loop->add_fd(first.read_end.get(), EPOLLIN, remove_the_other(1));
  ids[1] = *loop->add_fd(second.read_end.get(), EPOLLIN, remove_the_other(0));
  first.put();
  second.put();
  loop->run();
  EXPECT_EQ(calls, 1);
}

TEST_F(EventLoopTest, timers_fire_in_order_of_their_deadlines) {
  std::vector<int> order;
  // A starved thread has needed more than 20 ms for these three lines.
  (void)loop->add_once(milliseconds(250), [&] {
    order.push_back(2);
    loop->stop();
  });
  (void)loop->add_once(milliseconds(1), [&] { order.push_back(1); });
  (void)loop->add_once(Nanoseconds(0), [&] { order.push_back(0); });
  loop->run();
  EXPECT_THAT(order, ElementsAre(0, 1, 2));
}

TEST_F(EventLoopTest, timer_does_not_fire_before_its_delay) {
  const SystemClock clock;
  const MonotonicTime begin = clock.now();
  (void)loop->add_once(milliseconds(15), [this] { loop->stop(); });
  loop->run();
  EXPECT_GE(clock.now() - begin, milliseconds(15));
}

TEST_F(EventLoopTest, periodic_timer_fires_until_removed) {
  int calls = 0;
  WatchId id;
  id = loop->add_periodic(milliseconds(1), [&] {
    if (++calls < 3) return;
    loop->remove(id);
    (void)loop->add_once(milliseconds(10), [this] { loop->stop(); });
  });
  loop->run();
  EXPECT_EQ(calls, 3);
}

TEST_F(EventLoopTest, late_periodic_timer_does_not_catch_up) {
  int calls_until_marker = 0;
  (void)loop->add_periodic(milliseconds(1), [&] { ++calls_until_marker; });
  std::this_thread::sleep_for(milliseconds(30));  // thirty intervals pass before the loop runs
  loop->post([&] { loop->post([this] { loop->stop(); }); });
  loop->run();
  EXPECT_LT(calls_until_marker, 10);
  EXPECT_GE(calls_until_marker, 1);
}

TEST_F(EventLoopTest, removed_timer_never_fires) {
  bool fired = false;
  loop->remove(loop->add_once(milliseconds(1), [&] { fired = true; }));
  (void)loop->add_once(milliseconds(10), [this] { loop->stop(); });
  loop->run();
  EXPECT_FALSE(fired);
}

TEST_F(EventLoopTest, removing_an_unknown_id_is_ignored) {
  loop->remove({0});
  loop->remove({12345});
}

TEST_F(EventLoopTest, only_the_running_thread_is_the_owner) {
  EXPECT_TRUE(loop->is_owner());
  bool inside = false, outside = true;
  loop->post([&] {
    inside = loop->is_owner();
    std::thread([&] { outside = loop->is_owner(); }).join();
    loop->stop();
  });
  loop->run();
  EXPECT_TRUE(inside);
  EXPECT_FALSE(outside);
}

}  // namespace
}  // namespace oomw
