// SPDX-License-Identifier: Apache-2.0
#include "captures/http_capture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>

#include "pprof/codec.h"
#include "system/process_reader.h"
#include "unit/captures/child_process.h"
#include "unit/captures/loopback_server.h"
#include "unit/pprof/sample_profile.h"

namespace oomw {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;

constexpr auto kShort = 300ms;  // for endpoints that never finish
constexpr auto kLong = 20s;     // for those that do

CaptureTarget target_of(pid_t pid) {
  const auto key = ProcessReader().key_of(pid);
  return {key.value_or(ProcessKey{pid, 0}), CgroupId{7}, "ser\nver", "/app/server"};
}

CaptureRequest request_for(std::vector<CaptureTarget> targets, Nanoseconds timeout = kLong) {
  CaptureRequest request;
  request.capture_id = 3;
  request.cgroup = CgroupId{7};
  request.targets = std::move(targets);
  request.trigger = "watermark_90";
  request.requested = SystemClock().now();
  request.deadline = request.requested + timeout;
  request.usage_bytes = 900;
  request.limit_bytes = 1000;
  return request;
}

HttpCaptureConfig config_for(std::vector<std::uint16_t> ports) {
  HttpCaptureConfig config;
  config.ports = std::move(ports);
  config.timeout = kLong;
  config.max_body_bytes = 1u << 20;
  return config;
}

void serve_heap(int client) {
  read_request(client);
  send_all(client, response("200 OK", pprof::fixture()));
}

class HttpCaptureTest : public ::testing::Test {
 protected:
  CaptureFinished ask_self(LoopbackServer& server, Nanoseconds timeout = kLong) {
    HttpCapture http(config_for({server.port()}), clock_);
    auto outcome = http.capture(request_for({target_of(::getpid())}, timeout));
    EXPECT_EQ(outcome.profile.empty(), outcome.finished.result != CaptureResult::kOk);
    profile_ = std::move(outcome.profile);
    return outcome.finished;
  }
  std::string reason_for(LoopbackServer::Behaviour behaviour, Nanoseconds timeout = kLong) {
    LoopbackServer server(std::move(behaviour));
    const auto event = ask_self(server, timeout);
    EXPECT_FALSE(event.complete);
    EXPECT_FALSE(event.inuse_bytes.has_value());
    detail_ = event.detail;
    return event.reason;
  }

  SystemClock clock_;
  std::string profile_;
  std::string detail_;
};

TEST_F(HttpCaptureTest, a_heap_endpoint_gives_a_whole_profile_with_its_provenance) {
  LoopbackServer server(serve_heap);
  const auto event = ask_self(server);
  ASSERT_EQ(event.result, CaptureResult::kOk) << event.reason << ": " << event.detail;
  EXPECT_TRUE(event.complete);
  EXPECT_EQ(event.reason, "");
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
  if (event.reason == "refused") GTEST_SKIP() << "no ::1 here: " << event.detail;
  EXPECT_EQ(event.result, CaptureResult::kOk) << event.reason << ": " << event.detail;
  EXPECT_THAT(event.detail, HasSubstr("http://[::1]:"));
}

TEST_F(HttpCaptureTest, an_endpoint_that_hangs_is_a_timeout) {
  EXPECT_EQ(reason_for(wait_for_close, kShort), "timeout");
}

TEST_F(HttpCaptureTest, a_slow_trickle_of_headers_is_a_timeout) {
  const auto trickle = [](int client) {
    while (send_all(client, "H")) std::this_thread::sleep_for(10ms);
  };
  EXPECT_EQ(
      reason_for([&](int client) { send_all(client, "HTTP/1.1 200 OK\r\nX: ") && (trickle(client), true); }, kShort),
      "timeout");
}

TEST_F(HttpCaptureTest, an_endless_stream_is_too_large) {
  EXPECT_EQ(reason_for([](int client) {
              const std::string block(64u << 10, 'x');
              send_all(client, "HTTP/1.1 200 OK\r\n\r\n");
              while (send_all(client, block)) {
              }
            }),
            "too_large");
}

TEST_F(HttpCaptureTest, a_huge_announced_length_is_too_large) {
  EXPECT_EQ(reason_for([](int client) {
              read_request(client);
              send_all(client, "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n");
            }),
            "too_large");
}

TEST_F(HttpCaptureTest, a_gzip_bomb_is_too_large) {
  const std::string member = pprof::gzip(std::string(1u << 20, '\0'));
  std::string bomb;
  for (int mebibytes = 0; mebibytes <= 32; ++mebibytes) bomb += member;
  EXPECT_EQ(reason_for([&](int client) {
              read_request(client);
              send_all(client, response("200 OK", bomb));
            }),
            "too_large");
}

TEST_F(HttpCaptureTest, a_404_is_an_http_status) {
  EXPECT_EQ(reason_for([](int client) {
              read_request(client);
              send_all(client, response("404 Not Found", "404 page not found\n"));
            }),
            "http_status");
  EXPECT_THAT(detail_, HasSubstr("404"));
}

TEST_F(HttpCaptureTest, a_redirect_is_not_followed) {
  LoopbackServer server([&](int client) {
    read_request(client);
    send_all(client, response("302 Found", "", "Location: /elsewhere\r\n"));
  });
  EXPECT_EQ(ask_self(server).reason, "redirect");
  EXPECT_EQ(server.connections(), 1);
}

TEST_F(HttpCaptureTest, html_is_not_a_profile) {
  EXPECT_EQ(reason_for([](int client) {
              read_request(client);
              send_all(client, response("200 OK", "<html><body>welcome</body></html>"));
            }),
            "not_a_profile");
}

TEST_F(HttpCaptureTest, another_protocol_is_not_a_profile) {
  EXPECT_EQ(reason_for([](int client) {
              send_all(client, "SSH-2.0-OpenSSH_9.2\r\n");
              wait_for_close(client);
            }),
            "not_a_profile");
}

TEST_F(HttpCaptureTest, a_cpu_profile_is_not_a_heap_profile) {
  pprof::Profile cpu = pprof::sample_profile();
  cpu.sample_types = {{"samples", "count"}, {"cpu", "nanoseconds"}};
  EXPECT_EQ(reason_for([&](int client) {
              read_request(client);
              send_all(client, response("200 OK", pprof::write(cpu)));
            }),
            "not_a_profile");
  EXPECT_THAT(detail_, HasSubstr("samples, cpu"));
}

TEST_F(HttpCaptureTest, half_a_gzip_stream_is_truncated) {
  EXPECT_EQ(reason_for([](int client) {
              read_request(client);
              send_all(client, response("200 OK", pprof::fixture().substr(0, 400)));
            }),
            "truncated");
}

TEST_F(HttpCaptureTest, a_body_shorter_than_announced_is_truncated) {
  EXPECT_EQ(reason_for([](int client) {
              read_request(client);
              send_all(client, "HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n" + pprof::fixture());
            }),
            "truncated");
}

TEST_F(HttpCaptureTest, a_body_longer_than_announced_is_truncated) {
  EXPECT_EQ(reason_for([](int client) {
              read_request(client);
              send_all(client, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + pprof::fixture());
            }),
            "truncated");
}

TEST_F(HttpCaptureTest, a_connection_closed_at_once_is_truncated) {
  EXPECT_EQ(reason_for([](int) {}), "truncated");
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
  EXPECT_EQ(outcome.finished.reason, "no_endpoint");
}

TEST_F(HttpCaptureTest, a_neighbours_listener_does_not_answer_for_the_target) {
  const ChildProcess innocent;  // forked before the server: it has no copy of the listener
  ASSERT_TRUE(innocent.is_ready());
  LoopbackServer server(serve_heap);
  HttpCapture http(config_for({server.port()}), clock_);
  EXPECT_EQ(http.capture(request_for({target_of(innocent.pid())})).finished.reason, "no_endpoint");
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(HttpCaptureTest, an_endpoint_prepared_and_closed_since_is_not_asked_elsewhere) {
  auto first = std::make_unique<LoopbackServer>(serve_heap);
  const std::uint16_t port = first->port();
  HttpCapture http(config_for({port}), clock_);
  http.prepare(request_for({target_of(::getpid())}));
  first.reset();
  EXPECT_EQ(http.capture(request_for({target_of(::getpid())})).finished.reason, "no_endpoint");
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
  EXPECT_EQ(event.result, CaptureResult::kOk) << event.reason << ": " << event.detail;
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
  EXPECT_EQ(event.reason, "http_status");
  EXPECT_EQ(event.process.pid, ::getpid());
}

TEST_F(HttpCaptureTest, a_process_that_is_no_more_is_gone) {
  ChildProcess child;
  const CaptureTarget target = target_of(child.pid());
  child.kill();
  HttpCapture http(config_for({1}), clock_);
  EXPECT_EQ(http.capture(request_for({target})).finished.reason, "gone");
}

TEST_F(HttpCaptureTest, a_pid_with_another_start_time_is_gone) {
  LoopbackServer server(serve_heap);
  CaptureTarget target = target_of(::getpid());
  target.process.start_ticks += 1;
  HttpCapture http(config_for({server.port()}), clock_);
  EXPECT_EQ(http.capture(request_for({target})).finished.reason, "gone");
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(HttpCaptureTest, no_targets_is_no_endpoint) {
  HttpCapture http(config_for({1777}), clock_);
  EXPECT_EQ(http.capture(request_for({})).finished.reason, "no_endpoint");
}

TEST_F(HttpCaptureTest, a_deadline_that_passed_is_a_timeout_and_nobody_is_asked) {
  LoopbackServer server(serve_heap);
  HttpCapture http(config_for({server.port()}), clock_);
  EXPECT_EQ(http.capture(request_for({target_of(::getpid())}, 0ns)).finished.reason, "timeout");
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(HttpCaptureTest, a_missing_proc_is_gone) {
  HttpCaptureConfig config = config_for({1777});
  config.proc_root = "/nonexistent";
  HttpCapture http(config, clock_);
  EXPECT_EQ(http.capture(request_for({target_of(::getpid())})).finished.reason, "gone");
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
  EXPECT_EQ(event.result, CaptureResult::kOk) << event.reason << ": " << event.detail;
  EXPECT_THAT(event.detail, HasSubstr("http://127.0.0.1:1777/debug/pprof/heap in netns 40"));
}

}  // namespace
}  // namespace oomw
