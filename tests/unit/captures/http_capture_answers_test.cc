// SPDX-License-Identifier: Apache-2.0
// What an endpoint answers, and what becomes of it.
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pprof/codec.h"
#include "unit/captures/http_capture_fixture.h"

namespace oomw {
namespace {

using namespace test;
using ::testing::HasSubstr;

class HttpCaptureAnswersTest : public HttpCaptureTest {};

TEST_F(HttpCaptureAnswersTest, a_heap_endpoint_gives_a_whole_profile_with_its_provenance) {
  LoopbackServer server(serve_heap);
  const auto event = ask_self(server);
  ASSERT_EQ(event.result, CaptureResult::kOk) << to_string(event.reason) << ": " << event.detail;
  EXPECT_TRUE(event.complete);
  EXPECT_EQ(event.reason, CaptureReason::kNone);
  EXPECT_EQ(event.of, RuntimeKind::kGo);
  EXPECT_EQ(event.inuse_bytes, 42'321'476u);
  EXPECT_EQ(event.live_bytes, 42'321'476u);
  EXPECT_EQ(event.process.pid, ::getpid());
  EXPECT_EQ(event.capture_id, 3u);
  EXPECT_EQ(event.usage_bytes, 900u);
  EXPECT_GE(event.time, event.started);
  EXPECT_THAT(event.detail, HasSubstr("last GC, from http://127.0.0.1:" + std::to_string(server.port())));
  const auto stored = pprof::read(profile_);
  ASSERT_TRUE(stored.has_value());
  ASSERT_EQ(stored->comments.size(), 1u);
  EXPECT_THAT(stored->comments[0], HasSubstr("oomwitness: method=http trigger=watermark_90 pid=" +
                                             std::to_string(::getpid()) + " comm=ser\\x0aver time="));
  EXPECT_THAT(stored->comments[0], ::testing::EndsWith("usage_bytes=900 limit_bytes=1000"));
}

// As jeprof and pprof convert what the allocators of C++ programs write.
TEST_F(HttpCaptureAnswersTest, a_heap_profile_of_a_cpp_program_is_kept_and_is_not_gos) {
  auto profile = pprof::read(pprof::fixture()).value();
  for (pprof::Function& function : profile.functions) function.filename = "src/cache.cc";
  LoopbackServer server([body = pprof::write(profile)](int client) {
    read_request(client);
    send_all(client, response("200 OK", body));
  });
  const auto event = ask_self(server);
  EXPECT_EQ(event.result, CaptureResult::kOk);
  EXPECT_EQ(event.inuse_bytes, 42'321'476u);
  EXPECT_EQ(event.of, std::nullopt);
  EXPECT_THAT(event.detail, HasSubstr("heap profile, not of Go, from "));
}

TEST_F(HttpCaptureAnswersTest, an_endpoint_that_hangs_is_a_timeout) {
  EXPECT_EQ(reason_for(wait_for_close, kShort), "timeout");
}

TEST_F(HttpCaptureAnswersTest, a_slow_trickle_of_headers_is_a_timeout) {
  const auto trickle = [](int client) {
    while (send_all(client, "H")) std::this_thread::sleep_for(10ms);
  };
  EXPECT_EQ(
      reason_for([&](int client) { send_all(client, "HTTP/1.1 200 OK\r\nX: ") && (trickle(client), true); }, kShort),
      "timeout");
}

TEST_F(HttpCaptureAnswersTest, an_endless_stream_is_too_large) {
  EXPECT_EQ(reason_for([](int client) {
              const std::string block(64u << 10, 'x');
              send_all(client, "HTTP/1.1 200 OK\r\n\r\n");
              while (send_all(client, block)) {
              }
            }),
            "too_large");
}

TEST_F(HttpCaptureAnswersTest, a_huge_announced_length_is_too_large) {
  EXPECT_EQ(reason_for([](int client) {
              read_request(client);
              send_all(client, "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n");
            }),
            "too_large");
}

TEST_F(HttpCaptureAnswersTest, a_gzip_bomb_is_too_large) {
  const std::string member = pprof::gzip(std::string(1u << 20, '\0'));
  std::string bomb;
  for (int mebibytes = 0; mebibytes <= 32; ++mebibytes) bomb += member;
  EXPECT_EQ(reason_for([&](int client) {
              read_request(client);
              send_all(client, response("200 OK", bomb));
            }),
            "too_large");
}

TEST_F(HttpCaptureAnswersTest, a_404_is_an_http_status) {
  EXPECT_EQ(reason_for([](int client) {
              read_request(client);
              send_all(client, response("404 Not Found", "404 page not found\n"));
            }),
            "http_status");
  EXPECT_THAT(detail_, HasSubstr("404"));
}

TEST_F(HttpCaptureAnswersTest, a_redirect_is_not_followed) {
  LoopbackServer server([&](int client) {
    read_request(client);
    send_all(client, response("302 Found", "", "Location: /elsewhere\r\n"));
  });
  EXPECT_EQ(ask_self(server).reason, CaptureReason::kRedirect);
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(HttpCaptureAnswersTest, html_is_not_a_profile) {
  EXPECT_EQ(reason_for([](int client) {
              read_request(client);
              send_all(client, response("200 OK", "<html><body>welcome</body></html>"));
            }),
            "not_a_profile");
}

TEST_F(HttpCaptureAnswersTest, another_protocol_is_not_a_profile) {
  EXPECT_EQ(reason_for([](int client) {
              send_all(client, "SSH-2.0-OpenSSH_9.2\r\n");
              wait_for_close(client);
            }),
            "not_a_profile");
}

TEST_F(HttpCaptureAnswersTest, a_cpu_profile_is_not_a_heap_profile) {
  pprof::Profile cpu = pprof::sample_profile();
  cpu.sample_types = {{"samples", "count"}, {"cpu", "nanoseconds"}};
  EXPECT_EQ(reason_for([&](int client) {
              read_request(client);
              send_all(client, response("200 OK", pprof::write(cpu)));
            }),
            "not_a_profile");
  EXPECT_THAT(detail_, HasSubstr("samples, cpu"));
}

TEST_F(HttpCaptureAnswersTest, half_a_gzip_stream_is_truncated) {
  EXPECT_EQ(reason_for([](int client) {
              read_request(client);
              send_all(client, response("200 OK", pprof::fixture().substr(0, 400)));
            }),
            "truncated");
}

TEST_F(HttpCaptureAnswersTest, a_body_shorter_than_announced_is_truncated) {
  EXPECT_EQ(reason_for([](int client) {
              read_request(client);
              send_all(client, "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + pprof::fixture());
            }),
            "truncated");
}

TEST_F(HttpCaptureAnswersTest, a_body_longer_than_announced_is_truncated) {
  EXPECT_EQ(reason_for([](int client) {
              read_request(client);
              send_all(client, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + pprof::fixture());
            }),
            "truncated");
}

TEST_F(HttpCaptureAnswersTest, a_connection_closed_at_once_is_truncated) {
  EXPECT_EQ(reason_for([](int) {}), "truncated");
}

}  // namespace
}  // namespace oomw
