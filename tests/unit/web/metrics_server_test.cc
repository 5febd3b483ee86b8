// SPDX-License-Identifier: Apache-2.0
#include "web/metrics_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>

#include "base/unique_fd.h"

namespace oomw {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class FakeClock final : public Clock {
 public:
  [[nodiscard]] MonotonicTime now() const override { return {now_ns}; }
  [[nodiscard]] WallTime wall_now() const override { return {0}; }
  std::atomic<std::int64_t> now_ns = 100'000'000'000;
};

class MetricsServerTest : public testing::Test {
 protected:
  void SetUp() override {
    auto started = MetricsServer::start(
        "127.0.0.1:0", [this] { return snapshot; }, clock);
    ASSERT_TRUE(started.has_value()) << started.error().message;
    server = std::move(*started);
    client = std::make_unique<httplib::Client>("127.0.0.1", server->port());
  }
  // Before the first request of a test: the server's threads read it without a lock.
  void publish(bool ready, std::int64_t tick_ns) {
    auto next = std::make_shared<MetricsSnapshot>();
    next->ready = ready;
    next->core_tick = {tick_ns};
    snapshot = std::move(next);
  }
  // Connects and sends `bytes`; what comes back until the server closes.
  std::string raw(const std::string& bytes) {
    const UniqueFd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(server->port());
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
    (void)send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    std::string answer;
    char buffer[4096];
    ssize_t n = 0;
    while ((n = recv(fd.get(), buffer, sizeof(buffer), 0)) > 0) answer.append(buffer, static_cast<std::size_t>(n));
    return answer;
  }

  FakeClock clock;
  std::shared_ptr<const MetricsSnapshot> snapshot;
  std::unique_ptr<MetricsServer> server;
  std::unique_ptr<httplib::Client> client;
};

TEST_F(MetricsServerTest, metrics_are_served_with_their_content_type) {
  publish(true, clock.now_ns);
  const auto answer = client->Get("/metrics");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->get_header_value("Content-Type"), "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(answer->body, HasSubstr("\noomwitness_build_info{"));
}

TEST_F(MetricsServerTest, gzip_is_used_when_asked_for_and_brotli_never) {
  publish(true, clock.now_ns);
  const auto answer = client->Get("/metrics", {{"Accept-Encoding", "br, gzip"}});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->get_header_value("Content-Encoding"), "gzip");
  EXPECT_THAT(answer->body, HasSubstr("\noomwitness_build_info{"));  // the client has unpacked it
}

TEST_F(MetricsServerTest, before_the_first_snapshot_everything_is_unavailable) {
  for (const char* path : {"/metrics", "/healthz", "/readyz"}) {
    const auto answer = client->Get(path);
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 503) << path;
    EXPECT_THAT(answer->body, HasSubstr("starting")) << path;
  }
}

TEST_F(MetricsServerTest, healthy_while_the_core_loop_ticks) {
  publish(false, clock.now_ns);
  EXPECT_EQ(client->Get("/healthz")->status, 200);
  clock.now_ns += 10'000'000'000;
  EXPECT_EQ(client->Get("/healthz")->status, 200);
  clock.now_ns += 1;
  const auto answer = client->Get("/healthz");
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->body, "core loop silent for 10 s\n");
}

TEST_F(MetricsServerTest, ready_once_events_flow) {
  publish(false, clock.now_ns);
  EXPECT_EQ(client->Get("/readyz")->status, 503);
}

TEST_F(MetricsServerTest, ready_when_the_snapshot_says_so) {
  publish(true, clock.now_ns);
  EXPECT_EQ(client->Get("/readyz")->status, 200);
}

TEST_F(MetricsServerTest, anything_else_is_not_found) {
  publish(true, clock.now_ns);
  for (const char* path : {"/", "/metrics/", "/metricsx", "/../etc/passwd", "/debug/pprof/heap"}) {
    EXPECT_EQ(client->Get(path)->status, 404) << path;
  }
}

TEST_F(MetricsServerTest, other_methods_are_not_allowed) {
  publish(true, clock.now_ns);
  EXPECT_EQ(client->Post("/metrics", "body", "text/plain")->status, 405);
  EXPECT_EQ(client->Delete("/metrics")->status, 405);
  const auto head = client->Head("/metrics");
  EXPECT_EQ(head->status, 405);
  EXPECT_EQ(head->get_header_value("Allow"), "GET");
}

TEST_F(MetricsServerTest, port_in_use_is_unavailable) {
  const auto second = MetricsServer::start(
      "127.0.0.1:" + std::to_string(server->port()), [] { return nullptr; }, clock);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(second.error().message, HasSubstr(std::to_string(server->port())));
}

TEST_F(MetricsServerTest, port_can_be_taken_again_after_a_stop) {
  publish(true, clock.now_ns);
  ASSERT_TRUE(client->Get("/metrics"));
  const std::string address = "127.0.0.1:" + std::to_string(server->port());
  server.reset();
  const auto again = MetricsServer::start(
      address, [] { return nullptr; }, clock);
  EXPECT_TRUE(again.has_value()) << again.error().message;
}

TEST_F(MetricsServerTest, all_addresses_include_ipv4_loopback) {
  publish(true, clock.now_ns);
  auto everywhere = MetricsServer::start(
      ":0", [this] { return snapshot; }, clock);
  ASSERT_TRUE(everywhere.has_value()) << everywhere.error().message;
  EXPECT_EQ(httplib::Client("127.0.0.1", (*everywhere)->port()).Get("/readyz")->status, 200);
}

TEST_F(MetricsServerTest, head_without_end_is_refused_at_its_bound) {
  EXPECT_THAT(raw("GET /metrics HTTP/1.1\r\nX: " + std::string(100'000, 'a')), StartsWith("HTTP/1.1 431 "));
}

TEST_F(MetricsServerTest, deeply_nested_range_header_does_not_overflow_a_stack) {
  publish(true, clock.now_ns);
  std::string ranges = "bytes=0-1";
  for (int i = 0; i < 1900; ++i) ranges += ",0-1";
  EXPECT_THAT(raw("GET /readyz HTTP/1.1\r\nRange: " + ranges + "\r\n\r\n"), StartsWith("HTTP/1.1 "));
  EXPECT_EQ(client->Get("/readyz")->status, 200);
}

TEST_F(MetricsServerTest, nonsense_is_answered_or_closed_and_the_server_lives) {
  publish(true, clock.now_ns);
  for (const std::string& bytes :
       {std::string("\r\n\r\n"), std::string("\0\xff\r\n\r\n", 6), std::string("GET\r\n\r\n"),
        std::string("GET / HTTP/9\r\n\r\n"), std::string("GET /%zz%00 HTTP/1.1\r\nA\r\n: b\r\n\r\n")}) {
    (void)raw(bytes);
  }
  EXPECT_EQ(client->Get("/readyz")->status, 200);
}

// More slow strangers than threads: they are cut off at the head's deadline of 2 s.
TEST_F(MetricsServerTest, silent_connections_cannot_hold_the_server) {
  publish(true, clock.now_ns);
  std::vector<UniqueFd> strangers;
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(server->port());
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int i = 0; i < 2; ++i) {
    strangers.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(connect(strangers.back().get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  }
  client->set_read_timeout(10);
  const auto answer = client->Get("/readyz");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
}

TEST(MetricsServerStart, bad_address_is_invalid) {
  const FakeClock clock;
  EXPECT_EQ(MetricsServer::start(
                "nonsense", [] { return nullptr; }, clock)
                .error()
                .code,
            ErrorCode::kInvalid);
}

}  // namespace
}  // namespace oomw
