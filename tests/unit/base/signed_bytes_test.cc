// SPDX-License-Identifier: Apache-2.0
#include "base/signed_bytes.h"

#include <cmath>

#include <gtest/gtest.h>

namespace oomw {
namespace {

TEST(SignedBytes, both_signs_are_written_as_sizes_are) {
  EXPECT_EQ(human_signed_bytes(812), "812 B");
  EXPECT_EQ(human_signed_bytes(-812), "-812 B");
  EXPECT_EQ(human_signed_bytes(1.5 * (1 << 30)), "1.50 GiB");
  EXPECT_EQ(human_signed_bytes(-1.5 * (1 << 30)), "-1.50 GiB");
}

TEST(SignedBytes, less_than_a_byte_is_none_and_has_no_sign) {
  EXPECT_EQ(human_signed_bytes(0), "0 B");
  EXPECT_EQ(human_signed_bytes(0.9), "0 B");
  EXPECT_EQ(human_signed_bytes(-0.9), "0 B");
}

TEST(SignedBytes, what_no_size_is_is_said) {
  EXPECT_EQ(human_signed_bytes(HUGE_VAL), "inf");
  EXPECT_EQ(human_signed_bytes(-HUGE_VAL), "-inf");
  EXPECT_EQ(human_signed_bytes(std::nan("")), "unknown");
}

TEST(SignedBytes, more_than_any_memory_is_capped_and_not_undefined) {
  EXPECT_EQ(human_signed_bytes(1e300), human_signed_bytes(1e18));
  EXPECT_EQ(human_signed_bytes(-1e300), "-" + human_signed_bytes(1e18));
}

}  // namespace
}  // namespace oomw
