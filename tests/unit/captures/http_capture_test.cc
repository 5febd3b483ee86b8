// SPDX-License-Identifier: Apache-2.0
// Whom a capture over HTTP asks, and how; what comes of the answers: http_capture_answers_test.cc.
#include "captures/http_capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "unit/captures/child_process.h"
#include "unit/captures/http_capture_fixture.h"

namespace oomw {
namespace {

using namespace test;
using ::testing::HasSubstr;

TEST_F(HttpCaptureTest, the_request_is_one_plain_get) {
  std::string seen;
  {
    LoopbackServer server([&](int client) {
      seen = read_request(client);
      send_all(client, response("200 OK", pprof::fixture()));
    });
    ASSERT_EQ(ask_self(server).result, CaptureResult::kOk);
    EXPECT_EQ(server.connections(), 1);
  }
  EXPECT_TRUE(seen.starts_with("GET /debug/pprof/heap HTTP/1.1\r\n")) << seen;
}

TEST_F(HttpCaptureTest, a_wildcard_listener_is_reached_on_loopback) {
  LoopbackServer server(serve_heap, listen_on("0.0.0.0", 0));
  EXPECT_EQ(ask_self(server).result, CaptureResult::kOk);
}

TEST_F(HttpCaptureTest, a_v6_only_wildcard_listener_is_reached_on_its_loopback) {
  UniqueFd fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  sockaddr_in6 any{};
  any.sin6_family = AF_INET6;
  if (!fd.is_valid() || ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) != 0 ||
      ::bind(fd.get(), reinterpret_cast<sockaddr*>(&any), sizeof(any)) != 0 || ::listen(fd.get(), 4) != 0) {
    GTEST_SKIP() << "no IPv6 here";
  }
  LoopbackServer server(serve_heap, std::move(fd));
  const auto event = ask_self(server);
  if (event.reason == CaptureReason::kRefused) GTEST_SKIP() << "no ::1 here: " << event.detail;
  EXPECT_EQ(event.result, CaptureResult::kOk) << to_string(event.reason) << ": " << event.detail;
  EXPECT_THAT(event.detail, HasSubstr("http://[::1]:"));
}

TEST_F(HttpCaptureTest, a_process_without_listener_has_no_endpoint) {
  std::uint16_t closed_port = 0;
  {
    LoopbackServer server(serve_heap);
    closed_port = server.port();
  }
  HttpCapture http(config_for({closed_port}), clock_);
  const auto outcome = http.capture(request_for({target_of(::getpid())}));
  EXPECT_EQ(outcome.finished.result, CaptureResult::kFailed);
  EXPECT_EQ(outcome.finished.reason, CaptureReason::kNoEndpoint);
}

TEST_F(HttpCaptureTest, a_neighbours_listener_does_not_answer_for_the_target) {
  const ChildProcess innocent;  // forked before the server: it has no copy of the listener
  ASSERT_TRUE(innocent.is_ready());
  LoopbackServer server(serve_heap);
  HttpCapture http(config_for({server.port()}), clock_);
  EXPECT_EQ(http.capture(request_for({target_of(innocent.pid())})).finished.reason, CaptureReason::kNoEndpoint);
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(HttpCaptureTest, an_endpoint_prepared_and_closed_since_is_not_asked_elsewhere) {
  auto first = std::make_unique<LoopbackServer>(serve_heap);
  const std::uint16_t port = first->port();
  HttpCapture http(config_for({port}), clock_);
  http.prepare(request_for({target_of(::getpid())}));
  first.reset();
  EXPECT_EQ(http.capture(request_for({target_of(::getpid())})).finished.reason, CaptureReason::kNoEndpoint);
}

TEST_F(HttpCaptureTest, an_endpoint_reopened_since_prepare_is_found_again) {
  auto first = std::make_unique<LoopbackServer>(serve_heap);
  const std::uint16_t port = first->port();
  HttpCapture http(config_for({port}), clock_);
  http.prepare(request_for({target_of(::getpid())}));
  first.reset();
  UniqueFd again = listen_on("127.0.0.1", port);
  if (!again.is_valid()) GTEST_SKIP() << "port " << port << " is not free again";
  LoopbackServer second(serve_heap, std::move(again));
  const auto event = http.capture(request_for({target_of(::getpid())})).finished;
  EXPECT_EQ(event.result, CaptureResult::kOk) << to_string(event.reason) << ": " << event.detail;
}

TEST_F(HttpCaptureTest, a_listener_on_the_second_port_is_found_behind_one_that_is_no_pprof) {
  LoopbackServer html([](int client) {
    read_request(client);
    send_all(client, response("200 OK", "<html>"));
  });
  LoopbackServer heap(serve_heap);
  HttpCapture http(config_for({html.port(), heap.port()}), clock_);
  EXPECT_EQ(http.capture(request_for({target_of(::getpid())})).finished.result, CaptureResult::kOk);
  EXPECT_EQ(http.capture(request_for({target_of(::getpid())})).finished.result, CaptureResult::kOk);
  EXPECT_EQ(html.connections(), 1);  // remembered: the heap comes first now
}

TEST_F(HttpCaptureTest, the_next_target_is_tried_when_the_first_has_nothing) {
  const ChildProcess innocent;
  LoopbackServer server(serve_heap);
  HttpCapture http(config_for({server.port()}), clock_);
  const auto event = http.capture(request_for({target_of(innocent.pid()), target_of(::getpid())})).finished;
  EXPECT_EQ(event.result, CaptureResult::kOk) << event.detail;
  EXPECT_EQ(event.process.pid, ::getpid());
}

TEST_F(HttpCaptureTest, of_several_failures_the_one_that_got_furthest_is_told) {
  const ChildProcess innocent;
  LoopbackServer server([](int client) {
    read_request(client);
    send_all(client, response("404 Not Found", ""));
  });
  HttpCapture http(config_for({server.port()}), clock_);
  const auto event = http.capture(request_for({target_of(::getpid()), target_of(innocent.pid())})).finished;
  EXPECT_EQ(event.reason, CaptureReason::kHttpStatus);
  EXPECT_EQ(event.process.pid, ::getpid());
}

TEST_F(HttpCaptureTest, a_process_that_is_no_more_is_gone) {
  ChildProcess child;
  const CaptureTarget target = target_of(child.pid());
  child.kill();
  HttpCapture http(config_for({1}), clock_);
  EXPECT_EQ(http.capture(request_for({target})).finished.reason, CaptureReason::kGone);
}

TEST_F(HttpCaptureTest, a_pid_with_another_start_time_is_gone) {
  LoopbackServer server(serve_heap);
  CaptureTarget target = target_of(::getpid());
  target.process.start_ticks += 1;
  HttpCapture http(config_for({server.port()}), clock_);
  EXPECT_EQ(http.capture(request_for({target})).finished.reason, CaptureReason::kGone);
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(HttpCaptureTest, no_targets_is_no_endpoint) {
  HttpCapture http(config_for({1777}), clock_);
  EXPECT_EQ(http.capture(request_for({})).finished.reason, CaptureReason::kNoEndpoint);
}

TEST_F(HttpCaptureTest, a_deadline_that_passed_is_a_timeout_and_nobody_is_asked) {
  LoopbackServer server(serve_heap);
  HttpCapture http(config_for({server.port()}), clock_);
  EXPECT_EQ(http.capture(request_for({target_of(::getpid())}, 0ns)).finished.reason, CaptureReason::kTimeout);
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(HttpCaptureTest, a_missing_proc_is_gone) {
  HttpCaptureConfig config = config_for({1777});
  config.proc_root = "/nonexistent";
  HttpCapture http(config, clock_);
  EXPECT_EQ(http.capture(request_for({target_of(::getpid())})).finished.reason, CaptureReason::kGone);
}

bool bring_loopback_up() {
  const UniqueFd fd(::socket(AF_INET, SOCK_DGRAM, 0));
  ifreq request{};
  request.ifr_name[0] = 'l';
  request.ifr_name[1] = 'o';
  request.ifr_flags = IFF_UP;
  return ::ioctl(fd.get(), SIOCSIFFLAGS, &request) == 0;
}

constexpr std::uint16_t kPortInNamespace = 1777;

// In a child with its own network namespace; never returns once it serves.
bool serve_in_namespace(const std::string& answer) {
  if (::unshare(CLONE_NEWNET) != 0 || !bring_loopback_up()) return false;
  const int listener = listen_on("127.0.0.1", kPortInNamespace).release();
  if (listener < 0) return false;
  if (::fork() != 0) return true;  // the target itself holds the listener; its child answers
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (;;) {
    const UniqueFd client(::accept(listener, nullptr, nullptr));
    read_request(client.get());
    send_all(client.get(), answer);
  }
}

TEST_F(HttpCaptureTest, a_process_in_another_network_namespace_is_reached) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root for a network namespace";
  const std::string answer = response("200 OK", pprof::fixture());
  const ChildProcess child([&] { return serve_in_namespace(answer); });
  if (!child.is_ready()) GTEST_SKIP() << "no network namespace with lo can be made here";
  HttpCapture http(config_for({kPortInNamespace}), clock_);
  http.prepare(request_for({target_of(child.pid())}));
  const auto event = http.capture(request_for({target_of(child.pid())})).finished;
  EXPECT_EQ(event.result, CaptureResult::kOk) << to_string(event.reason) << ": " << event.detail;
  EXPECT_THAT(event.detail, HasSubstr("http://127.0.0.1:1777/debug/pprof/heap in netns 40"));
}

}  // namespace
}  // namespace oomw
