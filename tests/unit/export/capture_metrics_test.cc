// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "export/metrics_snapshot.h"

namespace oomw {
namespace {

CaptureFinished failed_for(const std::string& reason) {
  CaptureFinished capture;
  capture.method = CaptureMethod::kLive;
  capture.result = CaptureResult::kFailed;
  capture.reason = reason;
  return capture;
}

TEST(CaptureMetricsTest, reasons_of_the_list_are_labels_and_any_other_is_other) {
  CaptureMetrics metrics;
  metrics.count(failed_for("unreadable"));
  metrics.count(failed_for("unreadable"));
  for (int i = 0; i < 100; ++i) metrics.count(failed_for("pid " + std::to_string(i) + " went"));
  EXPECT_EQ(metrics.totals.size(), 2u);
  EXPECT_EQ((metrics.totals.at({"live", "failed", "unreadable"})), 2u);
  EXPECT_EQ((metrics.totals.at({"live", "failed", "other"})), 100u);
}

TEST(CaptureMetricsTest, whole_capture_has_no_reason_and_a_part_says_so) {
  CaptureMetrics metrics;
  CaptureFinished capture = failed_for("");
  capture.result = CaptureResult::kOk;
  metrics.count(capture);
  capture.reason = "partial";
  metrics.count(capture);
  EXPECT_EQ((metrics.totals.at({"live", "ok", ""})), 1u);
  EXPECT_EQ((metrics.totals.at({"live", "ok", "partial"})), 1u);
}

// What the code hands out, wherever it does.
TEST(CaptureMetricsTest, every_reason_that_a_walk_or_the_scheduler_gives_is_in_the_list) {
  CaptureMetrics metrics;
  for (const WalkStop stop : {WalkStop::kFault, WalkStop::kMalformed, WalkStop::kLoop, WalkStop::kPoolFull,
                              WalkStop::kBucketLimit, WalkStop::kTimeLimit}) {
    metrics.count(failed_for(std::string(to_string(stop))));
  }
  for (const char* reason : {"headroom", "cooldown", "budget", "page_cache", "busy", "queue_full", "no_space"}) {
    metrics.count(failed_for(reason));
  }
  EXPECT_FALSE(metrics.totals.contains({"live", "failed", "other"}));
}

}  // namespace
}  // namespace oomw
