// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/reflector.h"

#include <algorithm>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw {
namespace {

using std::chrono::seconds;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

constexpr MonotonicTime kNow{1'000'000'000'000};
constexpr double kNoJitter = 0;

// Listed, and watching from version 7.
Reflector make_watching() {
  Reflector reflector;
  EXPECT_TRUE(reflector.on_page({"7", ""}));
  reflector.on_begun(kNow);
  return reflector;
}

TEST(Reflector, begins_with_a_list_that_the_servers_cache_may_answer) {
  const Reflector reflector;
  EXPECT_EQ(reflector.path("node-1", kNoJitter),
            "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-1&limit=500&resourceVersion=0");
  EXPECT_EQ(reflector.due(), MonotonicTime{});
}

TEST(Reflector, goes_on_page_by_page) {
  Reflector reflector;
  EXPECT_FALSE(reflector.on_page({"5", "a/b=="}));
  EXPECT_EQ(reflector.state(), Reflector::State::kListing);
  EXPECT_THAT(reflector.path("n", kNoJitter), EndsWith("&limit=500&continue=a%2Fb%3D%3D"));
}

TEST(Reflector, watches_from_where_the_list_ended) {
  const Reflector reflector = make_watching();
  EXPECT_EQ(reflector.state(), Reflector::State::kWatching);
  EXPECT_THAT(reflector.path("n", 0.5), HasSubstr("watch=1&allowWatchBookmarks=true&timeoutSeconds=330&"));
  EXPECT_THAT(reflector.path("n", 0.5), EndsWith("resourceVersion=7"));
}

TEST(Reflector, a_bookmark_moves_the_next_watch_on) {
  Reflector reflector = make_watching();
  reflector.on_watch_event({WatchKind::kBookmark, {}, "9", 0, ""});
  reflector.on_watch_end(kNow + seconds(300), kNoJitter);
  EXPECT_EQ(reflector.due(), kNow + seconds(300));
  EXPECT_THAT(reflector.path("n", kNoJitter), EndsWith("resourceVersion=9"));
}

TEST(Reflector, a_watch_that_ends_at_once_waits) {
  Reflector reflector = make_watching();
  reflector.on_watch_end(kNow, kNoJitter);
  EXPECT_EQ(reflector.due(), kNow + Backoff::kFirst);
}

TEST(Reflector, a_watch_that_fails_is_begun_again_where_it_was) {
  Reflector reflector = make_watching();
  reflector.on_failure(ApiError::kConnect, seconds(0), kNow, kNoJitter);
  EXPECT_EQ(reflector.state(), Reflector::State::kWatching);
  EXPECT_EQ(reflector.due(), kNow + Backoff::kFirst);
}

TEST(Reflector, a_version_that_is_gone_is_listed_anew_at_once_and_not_from_the_cache) {
  Reflector reflector = make_watching();
  reflector.on_failure(ApiError::kGone, seconds(0), kNow, kNoJitter);
  EXPECT_EQ(reflector.state(), Reflector::State::kListing);
  EXPECT_EQ(reflector.due(), kNow);
  EXPECT_THAT(reflector.path("n", kNoJitter), Not(HasSubstr("resourceVersion")));
}

TEST(Reflector, a_server_that_says_gone_for_ever_is_not_listed_in_a_loop) {
  Reflector reflector = make_watching();
  MonotonicTime now = kNow;
  for (int i = 0; i < 8; ++i) {
    reflector.on_failure(ApiError::kGone, seconds(0), now, kNoJitter);
    now = std::max(now, reflector.due());
    (void)reflector.on_page({"7", ""});
  }
  EXPECT_GE(now - kNow, seconds(60));
}

TEST(Reflector, a_list_that_fails_on_a_later_page_begins_again) {
  Reflector reflector;
  (void)reflector.on_page({"5", "token"});
  reflector.on_failure(ApiError::kCut, seconds(0), kNow, kNoJitter);
  EXPECT_TRUE(reflector.is_first_page());
}

TEST(Reflector, garbage_in_a_watch_leads_to_a_list) {
  Reflector reflector = make_watching();
  reflector.on_failure(ApiError::kMalformed, seconds(0), kNow, kNoJitter);
  EXPECT_EQ(reflector.state(), Reflector::State::kListing);
}

TEST(Reflector, a_refused_token_is_tried_once_more_at_once) {
  Reflector reflector;
  reflector.on_failure(ApiError::kUnauthorized, seconds(0), kNow, kNoJitter);
  EXPECT_EQ(reflector.due(), kNow);
  reflector.on_failure(ApiError::kUnauthorized, seconds(0), kNow, kNoJitter);
  EXPECT_EQ(reflector.due(), kNow + Backoff::kFirst);
}

TEST(Reflector, waits_as_long_as_the_server_asks) {
  Reflector reflector;
  reflector.on_failure(ApiError::kRateLimited, seconds(30), kNow, kNoJitter);
  EXPECT_EQ(reflector.due(), kNow + seconds(30));
}

TEST(Reflector, a_list_alone_does_not_end_a_row_of_failures) {
  Reflector reflector;
  for (int i = 0; i < 3; ++i) reflector.on_failure(ApiError::kServer, seconds(0), kNow, kNoJitter);
  (void)reflector.on_page({"7", ""});
  EXPECT_EQ(reflector.failures(), 3u);
  reflector.on_watch_event({WatchKind::kBookmark, {}, "8", 0, ""});
  EXPECT_EQ(reflector.failures(), 0u);
}

TEST(Backoff, doubles_from_one_second_to_a_minute) {
  Backoff backoff;
  std::vector<std::int64_t> waits;
  for (int i = 0; i < 9; ++i) waits.push_back(std::chrono::duration_cast<seconds>(backoff.next(0.999999999)).count());
  EXPECT_THAT(waits, testing::ElementsAre(1, 1, 3, 7, 15, 31, 59, 59, 59));
}

TEST(Backoff, leaves_out_up_to_half) {
  Backoff backoff;
  for (int i = 0; i < 6; ++i) (void)backoff.next(0);
  EXPECT_EQ(backoff.next(0), seconds(30));
}

TEST(UrlEncode, nothing_of_a_token_reaches_the_query) {
  EXPECT_EQ(url_encode("a&b=c d\xff/~.-_"), "a%26b%3Dc%20d%FF%2F~.-_");
}

}  // namespace
}  // namespace oomw
