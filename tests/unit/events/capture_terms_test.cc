// SPDX-License-Identifier: Apache-2.0
#include "events/capture_terms.h"

#include <optional>

#include <gtest/gtest.h>

#include "events/event.h"

namespace oomw {
namespace {

template <typename T>
std::optional<T> named(std::string_view name) {
  T value{};
  return read_name(name, value) ? std::optional(value) : std::nullopt;
}

// What dashboards, incident.json and recordings know them by.
TEST(CaptureTerms, names_are_those_of_labels_and_incident_json) {
  EXPECT_EQ(to_string(CaptureMethod::kAtKill), "at_kill");
  EXPECT_EQ(to_string(CaptureMethod::kLive), "live");
  EXPECT_EQ(to_string(CaptureMethod::kHttp), "http");
  EXPECT_EQ(to_string(RuntimeKind::kGo), "go");
  EXPECT_EQ(to_string(CaptureResult::kOk), "ok");
  EXPECT_EQ(to_string(CaptureResult::kSkipped), "skipped");
  EXPECT_EQ(to_string(CaptureReason::kNone), "");
  EXPECT_EQ(to_string(CaptureReason::kNarrow), "32_bit");
  EXPECT_EQ(to_string(CaptureReason::kNotAProfile), "not_a_profile");
}

TEST(CaptureTerms, every_name_leads_back_to_its_value) {
  EXPECT_EQ(named<CaptureMethod>("live"), CaptureMethod::kLive);
  EXPECT_EQ(named<CaptureMethod>("lives"), std::nullopt);
  for (auto i = 0; i <= static_cast<int>(CaptureReason::kNoSpace); ++i) {
    const auto reason = static_cast<CaptureReason>(i);
    EXPECT_EQ(named<CaptureReason>(to_string(reason)), reason) << i;
    EXPECT_EQ(explain_capture_reason(to_string(reason)).empty(), reason == CaptureReason::kNone) << i;
  }
  EXPECT_EQ(named<CaptureReason>("pid 7 went"), std::nullopt);
}

TEST(CaptureTerms, each_early_end_of_a_walk_is_a_reason) {
  for (const std::string_view stop : kEnumNames<WalkStop>) {
    EXPECT_EQ(named<CaptureReason>(stop).has_value(), stop != "end") << stop;
  }
}

TEST(CaptureTerms, a_trigger_bears_its_level) {
  using Kind = CaptureTrigger::Kind;
  EXPECT_EQ(to_string(CaptureTrigger::watermark(90)), "watermark_90");
  EXPECT_EQ(named<CaptureTrigger>("watermark_85"), CaptureTrigger::watermark(85));
  for (const Kind kind : {Kind::kRequest, Kind::kOomKill, Kind::kTimeToLimit, Kind::kTrend}) {
    EXPECT_EQ(named<CaptureTrigger>(to_string(CaptureTrigger{kind})), CaptureTrigger{kind});
  }
  for (const char* name : {"", "watermark_", "watermark_101", "watermark_9x", "schedule"}) {
    EXPECT_EQ(named<CaptureTrigger>(name), std::nullopt) << name;
  }
}

}  // namespace
}  // namespace oomw
