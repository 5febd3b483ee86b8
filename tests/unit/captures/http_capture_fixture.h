// SPDX-License-Identifier: Apache-2.0
// What the tests of captures over HTTP share: requests, an endpoint, and a test asking itself.
#pragma once

#include <unistd.h>

#include <chrono>

#include <gtest/gtest.h>

#include "captures/http_capture.h"
#include "system/process_reader.h"
#include "unit/captures/loopback_server.h"
#include "unit/pprof/sample_profile.h"

namespace oomw::test {

using namespace std::chrono_literals;

constexpr Nanoseconds kShort = 300ms;  // for endpoints that never finish
constexpr Nanoseconds kLong = 20s;     // for those that do

inline CaptureTarget target_of(pid_t pid) {
  const auto key = ProcessReader().key_of(pid);
  return {key.value_or(ProcessKey{pid, 0}), CgroupId{7}, "ser\nver", "/app/server"};
}

inline CaptureRequest request_for(std::vector<CaptureTarget> targets, Nanoseconds timeout = kLong) {
  CaptureRequest request;
  request.capture_id = 3;
  request.cgroup = CgroupId{7};
  request.targets = std::move(targets);
  request.trigger = CaptureTrigger::watermark(90);
  request.requested = SystemClock().now();
  request.deadline = request.requested + timeout;
  request.usage_bytes = 900;
  request.limit_bytes = 1000;
  return request;
}

inline HttpCaptureConfig config_for(std::vector<std::uint16_t> ports) {
  HttpCaptureConfig config;
  config.ports = std::move(ports);
  config.timeout = kLong;
  config.max_body_bytes = 1u << 20;
  return config;
}

inline void serve_heap(int client) {
  read_request(client);
  send_all(client, response("200 OK", pprof::fixture()));
}

class HttpCaptureTest : public ::testing::Test {
 protected:
  CaptureFinished ask_self(LoopbackServer& server, Nanoseconds timeout = kLong) {
    HttpCapture http(config_for({server.port()}), clock_);
    auto outcome = http.capture(request_for({target_of(::getpid())}, timeout));
    EXPECT_EQ(outcome.has_profile(), outcome.finished.result == CaptureResult::kOk);
    profile_ = outcome.profile_file ? outcome.profile_file->read(64u << 20).value() : "";
    return outcome.finished;
  }
  std::string reason_for(LoopbackServer::Behaviour behaviour, Nanoseconds timeout = kLong) {
    LoopbackServer server(std::move(behaviour));
    const auto event = ask_self(server, timeout);
    EXPECT_FALSE(event.complete);
    EXPECT_FALSE(event.inuse_bytes.has_value());
    detail_ = event.detail;
    return std::string(to_string(event.reason));
  }

  SystemClock clock_;
  std::string profile_;
  std::string detail_;
};

}  // namespace oomw::test
