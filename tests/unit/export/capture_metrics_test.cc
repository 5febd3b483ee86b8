// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "export/metrics_snapshot.h"

namespace oomw {
namespace {

TEST(CaptureMetricsTest, are_counted_by_method_result_and_reason) {
  CaptureMetrics metrics;
  CaptureFinished capture;
  capture.method = CaptureMethod::kLive;
  capture.reason = CaptureReason::kUnreadable;
  metrics.count(capture);
  metrics.count(capture);
  capture.result = CaptureResult::kOk;
  capture.reason = CaptureReason::kNone;
  metrics.count(capture);
  capture.reason = CaptureReason::kPartial;
  metrics.count(capture);
  EXPECT_EQ(metrics.totals.size(), 3u);
  EXPECT_EQ((metrics.totals.at({"live", "failed", "unreadable"})), 2u);
  EXPECT_EQ((metrics.totals.at({"live", "ok", ""})), 1u);
  EXPECT_EQ((metrics.totals.at({"live", "ok", "partial"})), 1u);
}

}  // namespace
}  // namespace oomw
