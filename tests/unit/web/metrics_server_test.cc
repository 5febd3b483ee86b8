// SPDX-License-Identifier: Apache-2.0
#include "web/metrics_server.h"

#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/stall_meter.h"
#include "pprof/codec.h"
#include "support/http_client.h"
#include "unit/base/set_clock.h"
#include "web/peer_limits.h"

namespace oomw {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class MetricsServerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto started = MetricsServer::start(
        "127.0.0.1:0", [this] { return snapshot; }, clock, CoreWatch{&stalls, std::chrono::seconds(5)});
    ASSERT_TRUE(started.has_value()) << started.error().message;
    server = std::move(*started);
  }
  // Before the first request of a test: the server's threads read it without a lock.
  void publish(bool ready, MonotonicTime tick) {
    auto next = std::make_shared<MetricsSnapshot>();
    next->ready = ready;
    next->core_tick = tick;
    snapshot = std::move(next);
  }
  HttpAnswer get(const std::string& path, const std::string& headers = "") {
    return http_get(server->port(), path, headers);
  }
  std::string raw(const std::string& bytes) { return http_raw(server->port(), bytes); }

  test::SetClock clock;
  std::shared_ptr<const MetricsSnapshot> snapshot;
  StallMeter stalls;
  std::unique_ptr<MetricsServer> server;
};

TEST_F(MetricsServerTest, metrics_are_served_with_their_content_type) {
  publish(true, clock.now());
  const HttpAnswer answer = get("/metrics");
  EXPECT_EQ(answer.status, 200);
  EXPECT_THAT(answer.head, HasSubstr("\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(answer.head, HasSubstr("\r\nContent-Length: " + std::to_string(answer.body.size()) + "\r\n"));
  EXPECT_THAT(answer.head, HasSubstr("\r\nX-Content-Type-Options: nosniff\r\n"));
  EXPECT_THAT(answer.body, HasSubstr("\noomwitness_build_info{"));
}

TEST_F(MetricsServerTest, gzip_is_used_when_asked_for_and_brotli_never) {
  publish(true, clock.now());
  const HttpAnswer answer = get("/metrics", "accept-encoding: br, gzip\r\n");
  EXPECT_THAT(answer.head, HasSubstr("\r\nContent-Encoding: gzip\r\n"));
  const auto unpacked = pprof::gunzip(answer.body, 1u << 20);
  ASSERT_TRUE(unpacked.has_value());
  EXPECT_THAT(*unpacked, HasSubstr("\noomwitness_build_info{"));
  for (const char* none : {"", "Accept-Encoding: br\r\n", "Accept-Encoding: gzip;q=0\r\n"}) {
    EXPECT_THAT(get("/metrics", none).head, Not(HasSubstr("Content-Encoding"))) << none;
  }
}

TEST_F(MetricsServerTest, before_the_first_snapshot_everything_is_unavailable) {
  for (const char* path : {"/metrics", "/healthz", "/readyz"}) {
    const HttpAnswer answer = get(path);
    EXPECT_EQ(answer.status, 503) << path;
    EXPECT_THAT(answer.body, HasSubstr("starting")) << path;
  }
}

TEST_F(MetricsServerTest, healthy_while_the_core_loop_ticks) {
  publish(false, clock.now());
  EXPECT_EQ(get("/healthz").status, 200);
  clock.advance(std::chrono::seconds(10));
  EXPECT_EQ(get("/healthz").status, 200);
  clock.advance(Nanoseconds(1));
  const HttpAnswer answer = get("/healthz");
  EXPECT_EQ(answer.status, 503);
  EXPECT_EQ(answer.body, "core loop silent for 10 s\n");
}

TEST_F(MetricsServerTest, not_healthy_while_one_turn_of_the_core_thread_lasts) {
  publish(true, clock.now());
  stalls.begin(clock.now());
  clock.advance(std::chrono::seconds(5));
  EXPECT_EQ(get("/healthz").status, 200);
  clock.advance(std::chrono::seconds(2));
  EXPECT_EQ(get("/healthz").status, 503);
  EXPECT_EQ(get("/healthz").body, "core thread stalled for 7 s\n");
  EXPECT_THAT(get("/metrics").body, HasSubstr("\noomwitness_core_stall_seconds 7\n"));
  stalls.end(clock.now());
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_THAT(get("/metrics").body, HasSubstr("\noomwitness_core_stall_seconds 7\n"));
}

TEST_F(MetricsServerTest, ready_once_events_flow) {
  publish(false, clock.now());
  EXPECT_EQ(get("/readyz").status, 503);
}

TEST_F(MetricsServerTest, ready_when_the_snapshot_says_so) {
  publish(true, clock.now());
  EXPECT_EQ(get("/readyz").status, 200);
}

TEST_F(MetricsServerTest, anything_else_is_not_found) {
  publish(true, clock.now());
  for (const char* path : {"/", "/metrics/", "/metricsx", "/../etc/passwd", "/debug/pprof/heap"}) {
    EXPECT_EQ(get(path).status, 404) << path;
  }
}

TEST_F(MetricsServerTest, other_methods_are_not_allowed) {
  publish(true, clock.now());
  for (const std::string method : {"POST", "DELETE", "HEAD", "OPTIONS"}) {
    const std::string answer = raw(method + " /metrics HTTP/1.1\r\nContent-Length: 4\r\n\r\nbody");
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 405 ")) << method;
    EXPECT_THAT(answer, HasSubstr("\r\nAllow: GET\r\n")) << method;
  }
}

TEST_F(MetricsServerTest, port_in_use_is_unavailable) {
  const auto second = MetricsServer::start(
      "127.0.0.1:" + std::to_string(server->port()), [] { return nullptr; }, clock);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr(std::to_string(server->port())));
}

TEST_F(MetricsServerTest, port_can_be_taken_again_after_a_stop) {
  publish(true, clock.now());
  ASSERT_EQ(get("/metrics").status, 200);
  const std::string address = "127.0.0.1:" + std::to_string(server->port());
  server.reset();
  const auto again = MetricsServer::start(
      address, [] { return nullptr; }, clock);
  EXPECT_TRUE(again.has_value()) << again.error().message;
}

TEST_F(MetricsServerTest, all_addresses_include_ipv4_loopback) {
  publish(true, clock.now());
  auto everywhere = MetricsServer::start(
      ":0", [this] { return snapshot; }, clock);
  ASSERT_TRUE(everywhere.has_value()) << everywhere.error().message;
  EXPECT_EQ(http_get((*everywhere)->port(), "/readyz").status, 200);
}

TEST_F(MetricsServerTest, head_without_end_is_refused_at_its_bound) {
  EXPECT_THAT(raw("GET /metrics HTTP/1.1\r\nX: " + std::string(100'000, 'a')), StartsWith("HTTP/1.1 431 "));
}

TEST_F(MetricsServerTest, deeply_nested_range_header_does_not_overflow_a_stack) {
  publish(true, clock.now());
  std::string ranges = "bytes=0-1";
  for (int i = 0; i < 1900; ++i) ranges += ",0-1";
  EXPECT_THAT(raw("GET /readyz HTTP/1.1\r\nRange: " + ranges + "\r\n\r\n"), StartsWith("HTTP/1.1 "));
  EXPECT_EQ(get("/readyz").status, 200);
}

TEST_F(MetricsServerTest, nonsense_is_answered_or_closed_and_the_server_lives) {
  publish(true, clock.now());
  for (const std::string& bytes :
       {std::string("\r\n\r\n"), std::string("\0\xff\r\n\r\n", 6), std::string("GET\r\n\r\n"),
        std::string("GET / HTTP/9\r\n\r\n"), std::string("GET /%zz%00 HTTP/1.1\r\nA\r\n: b\r\n\r\n")}) {
    (void)raw(bytes);
  }
  EXPECT_EQ(get("/readyz").status, 200);
}

// Eight of them made /healthz time out, six times in a row, and the pod was restarted.
TEST_F(MetricsServerTest, health_does_not_wait_for_silent_connections) {
  publish(true, clock.now());
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 200; ++i) strangers.push_back(http_connect(server->port()));
  EXPECT_EQ(get("/healthz").status, 200);
}

// An answer of 4 MiB does not fit into a socket's buffers, so each of these holds an answer that it does not read.
TEST_F(MetricsServerTest, health_does_not_wait_for_peers_that_read_nothing) {
  auto large = std::make_shared<MetricsSnapshot>();
  large->ready = true;
  large->built = large->core_tick = clock.now();
  large->containers.resize(10'000);
  for (std::size_t i = 0; i < large->containers.size(); ++i) {
    large->containers[i].container = "container-" + std::to_string(i);
    large->containers[i].usage_bytes = large->containers[i].limit_bytes = i;
  }
  snapshot = large;
  std::vector<UniqueFd> strangers;
  for (int i = 0; i < 7; ++i) {
    strangers.push_back(http_connect(server->port()));
    http_send(strangers.back(), "GET /metrics HTTP/1.1\r\n\r\n");
  }
  EXPECT_EQ(get("/healthz").status, 200);
}

TEST_F(MetricsServerTest, a_peer_over_its_share_loses_its_oldest_connection) {
  publish(true, clock.now());
  const UniqueFd oldest = http_connect(server->port());
  std::vector<UniqueFd> strangers;
  for (std::size_t i = 0; i < PeerLimits::kMaxPerPeer; ++i) strangers.push_back(http_connect(server->port()));
  EXPECT_EQ(http_read(oldest), "");  // closed, long before its deadline
  http_send(strangers.back(), "GET /readyz HTTP/1.1\r\n\r\n");
  EXPECT_THAT(http_read(strangers.back()), StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(get("/metrics").body, Not(HasSubstr("\noomwitness_http_connections_cut_total 0\n")));
}

TEST_F(MetricsServerTest, a_head_may_come_in_pieces) {
  publish(true, clock.now());
  const UniqueFd slow = http_connect(server->port());
  for (const char piece : std::string("GET /readyz HTTP/1.1\r\nHost: a\r\n\r\n")) {
    http_send(slow, {&piece, 1});
    std::this_thread::yield();
  }
  EXPECT_THAT(http_read(slow), StartsWith("HTTP/1.1 200 "));
}

TEST_F(MetricsServerTest, an_idle_connection_is_closed_at_its_deadline) {
  EXPECT_EQ(http_read(http_connect(server->port())), "");
}

TEST(MetricsServerStart, bad_address_is_invalid) {
  const test::SetClock clock;
  EXPECT_EQ(MetricsServer::start(
                "nonsense", [] { return nullptr; }, clock)
                .error()
                .code,
            ErrorCode::kInvalid);
}

}  // namespace
}  // namespace oomw
