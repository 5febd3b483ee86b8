// SPDX-License-Identifier: Apache-2.0
// An hour without an API server, in no time: what is requested, logged, held and dropped meanwhile, and what
// happens when it is back.
#include <algorithm>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kubernetes/held_pods.h"
#include "kubernetes/reflector.h"
#include "kubernetes/warnings.h"

namespace oomw {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr MonotonicTime kStart{1'000'000'000'000};

PodSeen named_pod(const std::string& uid) {
  PodSeen pod;
  pod.uid = pod.name = uid;
  return pod;
}

// What PodSource does with the parts it is made of, by a clock that jumps from one try to the next.
class AbsentServer : public ::testing::Test {
 protected:
  void list(const std::vector<std::string>& uids, const std::string& version) {
    held_.begin_list();
    for (const std::string& uid : uids) told_ += held_.on_pod(named_pod(uid)).has_value();
    ASSERT_TRUE(reflector_.on_page({version, ""}));
    for (const Event& event : held_.end_list(now_)) gone_.push_back(std::get<PodGone>(event).uid);
  }
  // Each try fails after `takes`.
  void fail_for(Nanoseconds time, ApiError error, Nanoseconds takes) {
    const MonotonicTime end = now_ + time;
    while (std::max(now_, reflector_.due()) < end) {
      longest_wait_ = std::max(longest_wait_, reflector_.due() - now_);
      now_ = std::max(now_, reflector_.due());
      reflector_.on_begun(now_);
      now_ = now_ + takes;
      ++tries_;
      reflector_.on_failure(error, {}, now_, random());
      lines_ += warnings_.on_error(error, now_);
    }
    now_ = end;
  }
  double random() { return std::uniform_real_distribution<double>()(generator_); }

  MonotonicTime now_ = kStart;
  std::mt19937 generator_{7};
  Reflector reflector_;
  HeldPods held_{100};
  Warnings warnings_;
  int tries_ = 0, lines_ = 0, told_ = 0;
  Nanoseconds longest_wait_{};
  std::vector<std::string> gone_;
};

TEST_F(AbsentServer, from_the_start_is_tried_about_once_a_minute_and_found_within_one) {
  fail_for(hours(1), ApiError::kConnect, milliseconds(1));
  EXPECT_GE(tries_, 60);
  EXPECT_LE(tries_, 130);  // 30 to 60 s each, and 6 while it doubles
  EXPECT_LE(longest_wait_, Backoff::kMost);
  EXPECT_LE(reflector_.due() - now_, Backoff::kMost);
  EXPECT_EQ(reflector_.state(), Reflector::State::kListing);
  list({"a", "b"}, "7");
  EXPECT_EQ(told_, 2);
  EXPECT_EQ(held_.size(), 2u);
}

TEST_F(AbsentServer, that_swallows_every_packet_is_asked_less_not_more) {
  fail_for(hours(1), ApiError::kTimeout, seconds(10));
  EXPECT_GE(tries_, 50);
  EXPECT_LE(tries_, 100);
}

TEST_F(AbsentServer, says_so_six_times_an_hour_and_once_that_it_is_over) {
  fail_for(hours(1), ApiError::kConnect, milliseconds(1));
  EXPECT_GE(lines_, 5);
  EXPECT_LE(lines_, 6);
  EXPECT_TRUE(warnings_.on_success());
  EXPECT_FALSE(warnings_.on_success());
}

TEST_F(AbsentServer, that_fails_in_another_way_each_time_says_each_way_six_times_an_hour) {
  for (int minute = 0; minute < 60; ++minute) {
    fail_for(seconds(30), ApiError::kConnect, milliseconds(1));
    fail_for(seconds(30), ApiError::kServer, milliseconds(1));
  }
  EXPECT_LE(lines_, 12);
}

TEST_F(AbsentServer, leaves_the_pods_it_told_of_and_their_names_come_back_as_they_are_then) {
  list({"stays", "goes"}, "7");
  fail_for(hours(1), ApiError::kConnect, milliseconds(1));
  EXPECT_EQ(held_.size(), 2u);
  EXPECT_TRUE(gone_.empty());
  // Back: the version of an hour ago is not kept any more.
  reflector_.on_begun(now_);
  reflector_.on_failure(ApiError::kGone, {}, now_, random());
  EXPECT_LE(reflector_.due() - now_, Backoff::kMost);
  now_ = reflector_.due();
  list({"stays", "new"}, "9000");
  EXPECT_EQ(told_, 3);
  EXPECT_THAT(gone_, testing::ElementsAre("goes"));
}

TEST_F(AbsentServer, is_tried_at_once_again_after_it_was_back) {
  fail_for(hours(1), ApiError::kConnect, milliseconds(1));
  list({"a"}, "7");
  reflector_.on_begun(now_);
  reflector_.on_watch_event({WatchKind::kBookmark, {}, "8", 0, ""});
  EXPECT_EQ(reflector_.failures(), 0u);
  reflector_.on_failure(ApiError::kCut, {}, now_, random());
  EXPECT_EQ(reflector_.due() - now_, Backoff::kFirst);
}

}  // namespace
}  // namespace oomw
