// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/event_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace oomw {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

constexpr MonotonicTime kNow{1'000'000'000'000};

PodEvent make_event() {
  return {
      "20261121T030405Z-1a2b3c4d", {1'795'000'000'000'000'000}, "payments", "otelcol-7f", "uid", "collector", "why"};
}

std::uint64_t count(const EventQueue& queue, const std::string& result) {
  const auto it = queue.counts().find(result);
  return it == queue.counts().end() ? 0 : it->second;
}

// Takes the first and answers it so.
void answer(EventQueue& queue, ApiError error, MonotonicTime now, Nanoseconds retry_after = {}) {
  auto event = queue.take(now);
  ASSERT_TRUE(event.has_value());
  queue.on_outcome(std::move(*event), {error, "", retry_after}, now, 0);
}

TEST(EventQueue, what_was_posted_is_counted_and_gone) {
  EventQueue queue;
  ASSERT_TRUE(queue.add(make_event()));
  answer(queue, ApiError::kNone, kNow);
  EXPECT_EQ(count(queue, "posted"), 1u);
  EXPECT_EQ(queue.due(kNow), std::nullopt);
}

TEST(EventQueue, one_that_is_there_already_was_posted) {
  EventQueue queue;
  (void)queue.add(make_event());
  answer(queue, ApiError::kConflict, kNow);
  EXPECT_EQ(count(queue, "posted"), 1u);
}

TEST(EventQueue, a_full_queue_drops_and_counts) {
  EventQueue queue;
  for (std::size_t i = 0; i < EventQueue::kMax; ++i) EXPECT_TRUE(queue.add(make_event()));
  EXPECT_FALSE(queue.add(make_event()));
  EXPECT_EQ(count(queue, "queue_full"), 1u);
}

TEST(EventQueue, after_a_burst_one_every_six_seconds) {
  EventQueue queue;
  for (int i = 0; i < 20; ++i) (void)queue.add(make_event());
  for (unsigned i = 0; i < EventQueue::kBurst; ++i) answer(queue, ApiError::kNone, kNow);
  EXPECT_FALSE(queue.take(kNow).has_value());
  EXPECT_EQ(queue.due(kNow), kNow + EventQueue::kEvery);
  EXPECT_TRUE(queue.take(kNow + EventQueue::kEvery).has_value());
  EXPECT_FALSE(queue.take(kNow + EventQueue::kEvery).has_value());
}

TEST(EventQueue, forbidden_drops_it_and_pauses_the_others) {
  EventQueue queue;
  (void)queue.add(make_event());
  (void)queue.add(make_event());
  answer(queue, ApiError::kForbidden, kNow);
  EXPECT_EQ(count(queue, "forbidden"), 1u);
  EXPECT_FALSE(queue.take(kNow + seconds(60)).has_value());
  EXPECT_EQ(queue.due(kNow), kNow + EventQueue::kForbiddenPause);
}

TEST(EventQueue, rate_limited_comes_again_when_the_server_asks) {
  EventQueue queue;
  (void)queue.add(make_event());
  answer(queue, ApiError::kRateLimited, kNow, seconds(17));
  EXPECT_EQ(queue.due(kNow), kNow + seconds(17));
  answer(queue, ApiError::kNone, kNow + seconds(17));
  EXPECT_EQ(count(queue, "posted"), 1u);
}

TEST(EventQueue, gives_up_after_five_tries) {
  EventQueue queue;
  (void)queue.add(make_event());
  MonotonicTime now = kNow;
  for (unsigned i = 0; i < EventQueue::kMaxTries; ++i) {
    answer(queue, ApiError::kServer, now);
    now = now + seconds(61);
  }
  EXPECT_EQ(count(queue, "given_up"), 1u);
  EXPECT_EQ(queue.size(), 0u);
}

TEST(EventQueue, another_refusal_drops_it_alone) {
  EventQueue queue;
  (void)queue.add(make_event());
  (void)queue.add(make_event());
  answer(queue, ApiError::kHttp, kNow);
  EXPECT_EQ(count(queue, "refused"), 1u);
  EXPECT_TRUE(queue.take(kNow).has_value());
}

TEST(EventJson, kubectl_finds_it_by_the_pods_name_and_uid) {
  const auto json = nlohmann::json::parse(event_json(make_event(), "node-1"));
  EXPECT_EQ(json["kind"], "Event");
  EXPECT_EQ(json["metadata"]["name"], "oomwitness-20261121t030405z-1a2b3c4d");
  EXPECT_EQ(json["metadata"]["namespace"], json["involvedObject"]["namespace"]);
  EXPECT_EQ(json["involvedObject"]["name"], "otelcol-7f");
  EXPECT_EQ(json["involvedObject"]["uid"], "uid");
  EXPECT_EQ(json["involvedObject"]["fieldPath"], "spec.containers{collector}");
  EXPECT_EQ(json["type"], "Warning");
  EXPECT_EQ(json["source"]["host"], "node-1");
  EXPECT_FALSE(json.contains("eventTime"));
}

TEST(EventJson, its_message_is_bounded_and_printable) {
  PodEvent event = make_event();
  event.message = std::string(5'000, '\x1b');
  const std::string message = nlohmann::json::parse(event_json(event, "n"))["message"];
  EXPECT_LE(message.size(), 1'024u);
  EXPECT_THAT(message, HasSubstr("\\x1b"));
}

TEST(EventJson, a_pod_named_like_a_path_is_not_posted) {
  for (const char* name : {"../../x", "a/b", "", ".", "A", "a b", "-a"}) {
    PodEvent event = make_event();
    event.name_space = name;
    EXPECT_EQ(event_json(event, "n"), "") << name;
  }
}

}  // namespace
}  // namespace oomw
