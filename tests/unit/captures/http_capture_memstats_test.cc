// SPDX-License-Identifier: Apache-2.0
// The MemStats that are asked for after a profile.
#include <functional>

#include <gtest/gtest.h>

#include "captures/memstats_budget.h"
#include "unit/base/set_clock.h"
#include "unit/captures/http_capture_fixture.h"

namespace oomw {
namespace {

using namespace test;

constexpr const char* kMemStats =
    "\n# runtime.MemStats\n# HeapAlloc = 30\n# HeapIdle = 9\n# HeapInuse = 35\n# HeapReleased = 4\n# Stack = 5 / 6\n"
    "# MSpan = 1 / 2\n# MCache = 1 / 2\n# BuckHashSys = 3\n# GCSys = 4\n# OtherSys = 5\n# NextGC = 60\n";

// A profile, and in text whatever the test wants.
class MemStatsOverHttp : public HttpCaptureTest {
 protected:
  CaptureFinished ask_for(const std::function<void(int)>& answer_text) {
    LoopbackServer server([&](int client) {
      seen_ = read_request(client);
      if (seen_.find("debug=1") != std::string::npos) return answer_text(client);
      send_all(client, response("200 OK", pprof::fixture()));
    });
    HttpCapture http(config_for({server.port()}), clock_);
    CaptureRequest request = request_for({target_of(::getpid())});
    request.usage_bytes = 100u << 20;
    request.limit_bytes = 200u << 20;
    auto event = http.capture(request).finished;
    connections_ = server.connections();
    return event;
  }

  // They have a second to come in, which a busy machine may not give them.
  CaptureFinished ask_until_told(const std::string& body) {
    CaptureFinished event;
    for (int attempt = 0; attempt < 5 && event.memstats.empty(); ++attempt) {
      event = ask_for([&](int client) { send_all(client, response("200 OK", body)); });
    }
    return event;
  }

  std::string seen_;
  int connections_ = 0;
};

TEST_F(MemStatsOverHttp, they_come_with_the_profile) {
  const auto event = ask_until_told(kMemStats);
  ASSERT_EQ(event.result, CaptureResult::kOk);
  EXPECT_EQ(event.inuse_bytes, 42'321'476u);
  ASSERT_EQ(event.memstats.size(), 11u);
  EXPECT_EQ(event.memstats.at("HeapReleased"), 4u);
  EXPECT_TRUE(seen_.starts_with("GET /debug/pprof/heap?debug=1 HTTP/1.1\r\n")) << seen_;
  EXPECT_EQ(connections_, 2);
}

TEST_F(MemStatsOverHttp, only_the_end_of_a_long_text_is_looked_at) {
  EXPECT_EQ(ask_until_told(std::string(900'000, '#') + kMemStats).memstats.size(), 11u);
}

TEST_F(MemStatsOverHttp, an_answer_that_is_none_leaves_the_profile_as_it_is) {
  const std::string too_long(2u << 20, '#');
  for (const std::string& answer : {response("404 Not Found", kMemStats), response("200 OK", too_long + kMemStats),
                                    response("200 OK", "<html>"), std::string("HTTP/1.1 200 OK\r\n"), std::string()}) {
    const auto event = ask_for([&](int client) { send_all(client, answer); });
    EXPECT_EQ(event.result, CaptureResult::kOk);
    EXPECT_TRUE(event.complete);
    EXPECT_TRUE(event.memstats.empty()) << answer.substr(0, 80);
  }
}

TEST_F(MemStatsOverHttp, a_listener_that_hangs_is_given_up_and_the_profile_kept) {
  const auto event = ask_for(wait_for_close);
  EXPECT_EQ(event.result, CaptureResult::kOk);
  EXPECT_TRUE(event.memstats.empty());
}

// An incident may have a thousand victims.
TEST_F(MemStatsOverHttp, of_many_in_a_row_some_are_not_asked_which_is_counted_and_told) {
  SetClock clock(SystemClock().now());
  LoopbackServer server(serve_heap);
  HttpCapture http(config_for({server.port()}), clock);
  const auto ask = [&] {
    CaptureRequest request = request_for({target_of(::getpid())});
    request.usage_bytes = 100u << 20;
    request.limit_bytes = 200u << 20;
    const auto event = http.capture(request).finished;
    EXPECT_EQ(event.result, CaptureResult::kOk) << event.detail;
    return event.detail.ends_with("; not asked for MemStats, too many others just were");
  };
  for (int i = 0; i < MemStatsBudget::kAtOnce; ++i) EXPECT_FALSE(ask()) << i;
  EXPECT_EQ(http.memstats_left_out(), 0u);
  EXPECT_TRUE(ask());
  EXPECT_TRUE(ask());
  EXPECT_EQ(http.memstats_left_out(), 2u);
  clock.advance(MemStatsBudget::kRefill);
  EXPECT_FALSE(ask());
  EXPECT_TRUE(ask());
}

}  // namespace
}  // namespace oomw
