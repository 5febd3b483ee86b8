// SPDX-License-Identifier: Apache-2.0
// The port that a pod's annotation names, as HttpCapture goes about it. Hostile: anybody's pod may name any.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/captures/child_process.h"
#include "unit/captures/http_capture_fixture.h"

namespace oomw {
namespace {

using test::serve_heap;
using ::testing::HasSubstr;

class AnnotatedPortTest : public ::testing::Test {
 protected:
  CaptureFinished ask(HttpCapture& http, pid_t pid, std::optional<std::uint16_t> annotated) {
    CaptureTarget target;
    target.process = ProcessReader().key_of(pid).value_or(ProcessKey{pid, 0});
    target.annotated_port = annotated;
    CaptureRequest request;
    request.targets = {target};
    request.requested = clock_.now();
    request.deadline = request.requested + std::chrono::seconds(20);
    return http.capture(request).finished;
  }
  HttpCapture knowing(std::vector<std::uint16_t> ports) {
    HttpCaptureConfig config;
    config.ports = std::move(ports);
    config.timeout = std::chrono::seconds(20);
    return HttpCapture(config, clock_);
  }

  SystemClock clock_;
  LoopbackServer usual_{serve_heap}, annotated_{serve_heap};
};

TEST_F(AnnotatedPortTest, is_asked_before_the_usual_ones) {
  HttpCapture http = knowing({usual_.port()});
  const CaptureFinished event = ask(http, ::getpid(), annotated_.port());
  EXPECT_EQ(event.result, CaptureResult::kOk) << event.detail;
  EXPECT_THAT(event.detail, HasSubstr(":" + std::to_string(annotated_.port()) + "/"));
  EXPECT_EQ(usual_.connections(), 0);
}

TEST_F(AnnotatedPortTest, that_is_a_usual_one_too_is_asked_once_and_first) {
  HttpCapture http = knowing({usual_.port(), annotated_.port()});
  EXPECT_EQ(ask(http, ::getpid(), annotated_.port()).result, CaptureResult::kOk);
  EXPECT_EQ(usual_.connections(), 0);
  EXPECT_EQ(annotated_.connections(), 1);
}

TEST_F(AnnotatedPortTest, where_nobody_listens_leaves_the_usual_ones) {
  std::uint16_t closed = 0;
  {
    LoopbackServer server(serve_heap);
    closed = server.port();
  }
  HttpCapture http = knowing({usual_.port()});
  EXPECT_EQ(ask(http, ::getpid(), closed).result, CaptureResult::kOk);
  EXPECT_EQ(usual_.connections(), 1);
}

// In one network namespace, as containers of a pod are.
TEST_F(AnnotatedPortTest, that_another_process_listens_on_is_not_asked) {
  const ChildProcess sidecar([] { return true; });
  ASSERT_TRUE(sidecar.is_ready());
  LoopbackServer neighbour(serve_heap);  // opened after the fork: this process's alone
  HttpCapture http = knowing({});
  const CaptureFinished event = ask(http, sidecar.pid(), neighbour.port());
  EXPECT_EQ(event.reason, CaptureReason::kNoEndpoint);
  EXPECT_THAT(event.detail, HasSubstr("holds no listener on port " + std::to_string(neighbour.port())));
  EXPECT_EQ(neighbour.connections(), 0);
}

TEST_F(AnnotatedPortTest, that_changed_is_the_one_asked_from_then_on) {
  HttpCapture http = knowing({usual_.port()});
  ASSERT_EQ(ask(http, ::getpid(), std::nullopt).result, CaptureResult::kOk);
  ASSERT_EQ(ask(http, ::getpid(), annotated_.port()).result, CaptureResult::kOk);
  EXPECT_EQ(usual_.connections(), 1);
  EXPECT_EQ(annotated_.connections(), 1);
}

}  // namespace
}  // namespace oomw
