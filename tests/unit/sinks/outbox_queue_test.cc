// SPDX-License-Identifier: Apache-2.0
#include "sinks/outbox_queue.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

using std::chrono::seconds;

MonotonicTime at(int s) { return MonotonicTime{} + seconds(s); }
WallTime wall(std::int64_t s) { return {s * 1'000'000'000}; }

class OutboxQueueTest : public ::testing::Test {
 protected:
  OutboxQueue queue_{OutboxBudget{seconds(100), 1'000}};
  void add(const std::string& name, int due = 0) { queue_.add(name, wall(due), at(due)); }
};

TEST_F(OutboxQueueTest, incidents_come_in_the_order_in_which_they_are_due) {
  add("b", 1);
  add("a", 2);
  EXPECT_EQ(queue_.take(at(0)), std::nullopt);
  EXPECT_EQ(queue_.take(at(3)), "b");
  queue_.on_delivery(Delivery::sent(), at(3), 0);
  EXPECT_EQ(queue_.take(at(3)), "a");
}

TEST_F(OutboxQueueTest, newest_first_where_a_sink_wants_that_and_one_that_fails_goes_to_the_back) {
  OutboxQueue queue{OutboxBudget{seconds(100), 1'000}, true};
  queue.add("a", wall(1), at(0));
  queue.add("b", wall(2), at(0));
  queue.add("c", wall(3), at(0));
  ASSERT_EQ(queue.take(at(0)), "c");
  queue.on_delivery(Delivery::retry(DeliveryReason::kConnect, "refused"), at(0), 0.5);
  EXPECT_EQ(queue.take(at(9)), "b");
  queue.on_delivery(Delivery::sent(), at(9), 0);
  EXPECT_EQ(queue.take(at(9)), "a");
  queue.on_delivery(Delivery::sent(), at(9), 0);
  EXPECT_EQ(queue.take(at(9)), "c");
}

TEST_F(OutboxQueueTest, one_is_under_way_at_a_time) {
  add("a");
  add("b");
  EXPECT_EQ(queue_.take(at(0)), "a");
  EXPECT_EQ(queue_.take(at(0)), std::nullopt);
  EXPECT_TRUE(queue_.contains("a"));
  EXPECT_EQ(queue_.size(), 2u);
}

TEST_F(OutboxQueueTest, a_failure_pauses_all_and_goes_to_the_back) {
  add("a");
  add("b");
  ASSERT_EQ(queue_.take(at(0)), "a");
  queue_.on_delivery(Delivery::retry(DeliveryReason::kConnect, "refused"), at(0), 0.5);
  EXPECT_EQ(queue_.take(MonotonicTime{} + std::chrono::milliseconds(900)), std::nullopt);
  EXPECT_EQ(queue_.take(at(1)), "b");
}

TEST_F(OutboxQueueTest, retry_after_is_waited_for) {
  add("a");
  ASSERT_EQ(queue_.take(at(0)), "a");
  queue_.on_delivery(Delivery::retry(DeliveryReason::kRateLimited, "", seconds(30)), at(0), 0.5);
  EXPECT_EQ(queue_.due(), at(30));
}

TEST_F(OutboxQueueTest, failures_in_a_row_wait_longer_up_to_a_minute_and_a_success_ends_that) {
  add("a");
  Nanoseconds longest{};
  for (int i = 0; i < 20; ++i) {
    const MonotonicTime now = *queue_.due();
    ASSERT_TRUE(queue_.take(now));
    queue_.on_delivery(Delivery::retry(DeliveryReason::kConnect, ""), now, 0.99);
    longest = std::max(longest, *queue_.due() - now);
  }
  EXPECT_GT(longest, seconds(50));
  EXPECT_LE(longest, seconds(60));
  const MonotonicTime now = *queue_.due();
  ASSERT_TRUE(queue_.take(now));
  queue_.on_delivery(Delivery::sent(), now, 0.99);
  queue_.add("b", wall(0), now);
  ASSERT_TRUE(queue_.take(now));
  queue_.on_delivery(Delivery::retry(DeliveryReason::kConnect, ""), now, 0.99);
  EXPECT_LT(*queue_.due() - now, seconds(2));
}

TEST_F(OutboxQueueTest, a_pause_holds_up_all) {
  add("a");
  queue_.pause_until(at(6));
  queue_.pause_until(at(2));
  EXPECT_EQ(queue_.take(at(5)), std::nullopt);
  EXPECT_EQ(queue_.take(at(6)), "a");
}

TEST_F(OutboxQueueTest, a_revision_that_comes_while_the_first_form_is_sent_waits) {
  add("a");
  ASSERT_EQ(queue_.take(at(0)), "a");
  queue_.add("a", wall(0), at(3));
  queue_.on_delivery(Delivery::sent(), at(1), 0);
  EXPECT_EQ(queue_.due(), at(3));
  EXPECT_EQ(queue_.size(), 1u);
}

TEST_F(OutboxQueueTest, what_is_beyond_the_age_is_taken_out) {
  add("a", 0);
  add("b", 50);
  const auto over = queue_.take_over_budget(wall(120));
  ASSERT_EQ(over.size(), 1u);
  EXPECT_EQ(over[0].name, "a");
  EXPECT_EQ(over[0].reason, DeliveryReason::kAge);
  EXPECT_FALSE(queue_.contains("a"));
  EXPECT_TRUE(queue_.contains("b"));
}

TEST_F(OutboxQueueTest, beyond_the_bytes_the_oldest_go) {
  for (const char* name : {"a", "b", "c"}) {
    add(name);
    queue_.set_bytes(name, 600);
  }
  const auto over = queue_.take_over_budget(wall(1));
  ASSERT_EQ(over.size(), 2u);
  EXPECT_EQ(over[0].name, "a");
  EXPECT_EQ(over[1].name, "b");
  EXPECT_EQ(over[1].reason, DeliveryReason::kBytes);
  EXPECT_EQ(queue_.bytes(), 600u);
}

TEST_F(OutboxQueueTest, more_than_fit_are_left_to_the_disk) {
  for (std::size_t i = 0; i <= OutboxQueue::kMax; ++i) add(std::to_string(i));
  EXPECT_EQ(queue_.size(), OutboxQueue::kMax);
  EXPECT_TRUE(queue_.take_overfull());
  EXPECT_FALSE(queue_.take_overfull());
}

TEST_F(OutboxQueueTest, the_oldest_kill_is_known_while_it_is_sent) {
  EXPECT_EQ(queue_.oldest(), std::nullopt);
  add("a", 1);
  add("b", 2);
  ASSERT_EQ(queue_.take(at(2)), "a");
  EXPECT_EQ(queue_.oldest(), wall(1));
}

}  // namespace
}  // namespace oomw
