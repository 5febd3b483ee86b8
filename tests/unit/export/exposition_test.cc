// SPDX-License-Identifier: Apache-2.0
#include "export/exposition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"

namespace oomw {
namespace {

using testing::MatchesRegex;

TEST(ToLabel, a_good_name_is_kept) {
  EXPECT_EQ(to_label("otel-collector"), "otel-collector");
  EXPECT_EQ(to_label(""), "");
  EXPECT_EQ(to_label(std::string(kMaxLabelBytes, 'x')), std::string(kMaxLabelBytes, 'x'));
}

TEST(ToLabel, a_long_name_is_cut_to_the_bound) {
  EXPECT_EQ(to_label(std::string(255, 'x')).size(), kMaxLabelBytes);
  std::string euros;
  for (int i = 0; i < 85; ++i) euros += "\u20ac";
  const std::string label = to_label(euros);
  EXPECT_LE(label.size(), kMaxLabelBytes);
  EXPECT_EQ(label, to_valid_utf8(label));
}

TEST(ToLabel, names_that_differ_only_beyond_the_cut_stay_different) {
  EXPECT_NE(to_label(std::string(200, 'x') + "1"), to_label(std::string(200, 'x') + "2"));
}

TEST(ToLabel, control_characters_and_bad_bytes_are_shown_and_marked) {
  EXPECT_THAT(to_label("a\nb"), MatchesRegex("a.x0ab~[0-9a-f]+"));
  EXPECT_THAT(to_label("\xff"), MatchesRegex(".xff~[0-9a-f]+"));
}

TEST(ToLabel, the_mark_is_the_same_in_every_build) { EXPECT_EQ(to_label("\n"), "\\x0a~0f0c6cdd"); }

}  // namespace
}  // namespace oomw
