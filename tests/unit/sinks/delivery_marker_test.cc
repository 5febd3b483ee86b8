// SPDX-License-Identifier: Apache-2.0
#include "sinks/delivery_marker.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

TEST(DeliveryMarker, reads_what_it_writes) {
  const test::TemporaryDirectory directory;
  const DeliveryMarker marker{MarkerState::kDead,        "1.2-3",   2,
                              DeliveryReason::kRejected, "no room", WallTime{1'700'000'000'000'000'000}};
  ASSERT_TRUE(write_marker(directory.path(), "otlp", marker).has_value());
  EXPECT_EQ(read_marker(directory.path(), "otlp"), marker);
  EXPECT_EQ(read_marker(directory.path(), "webhook"), std::nullopt);
}

TEST(DeliveryMarker, foreign_bytes_are_no_marker) {
  for (const char* text : {"", "{", "[]", "{}", "{\"state\":1}", "{\"state\":\"sent\",\"at\":\"x\"}",
                           "{\"state\":\"lost\",\"at\":\"2026-11-21T03:04:05Z\",\"revision\":\"\",\"sent\":0,"
                           "\"reason\":\"none\",\"detail\":\"\"}"}) {
    EXPECT_EQ(parse_marker(text), std::nullopt) << text;
  }
}

TEST(DeliveryMarker, a_revision_has_another_name) {
  const test::TemporaryDirectory directory;
  EXPECT_EQ(revision_of(directory.path()), "");
  ASSERT_TRUE(write_file_atomic(directory.path() + "/incident.json", "{}").has_value());
  const std::string first = revision_of(directory.path());
  ASSERT_TRUE(write_file_atomic(directory.path() + "/incident.json", "{} ").has_value());
  EXPECT_NE(revision_of(directory.path()), first);
}

}  // namespace
}  // namespace oomw
