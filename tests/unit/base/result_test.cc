// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <cerrno>

#include <gtest/gtest.h>

namespace oomw {
namespace {

Result<int> half_of(int n) {
  if (n % 2 != 0) return fail(ErrorCode::kInvalid, "odd");
  return n / 2;
}

Result<int> quarter_of(int n) {
  ASSIGN_OR_RETURN(const int half, half_of(n));
  RETURN_IF_ERROR(half_of(half));
  return half / 2;
}

TEST(Result, macros_pass_values_and_stop_at_the_first_error) {
  EXPECT_EQ(quarter_of(8), 2);
  EXPECT_EQ(quarter_of(6).error().message, "odd");
}

TEST(Error, context_is_put_in_front) {
  EXPECT_EQ(Error({ErrorCode::kNotFound, "gone"}).with_context("reading x").message, "reading x: gone");
}

TEST(ErrnoError, codes_say_what_the_caller_can_do) {
  EXPECT_EQ(errno_error(ENODEV, "x").code, ErrorCode::kNotFound);  // a removed cgroup's file
  EXPECT_EQ(errno_error(EACCES, "x").code, ErrorCode::kPermission);
  EXPECT_EQ(errno_error(ENOSPC, "x").code, ErrorCode::kNoSpace);
  EXPECT_EQ(errno_error(EADDRINUSE, "x").code, ErrorCode::kUnavailable);
  EXPECT_EQ(errno_error(EIO, "x").code, ErrorCode::kInternal);
  EXPECT_EQ(errno_error(ENOENT, "open /a").message, "open /a: No such file or directory");
}

TEST(CheckDeathTest, broken_invariant_aborts_and_names_it) { EXPECT_DEATH(OOMW_CHECK(1 + 1 == 3), "1 \\+ 1 == 3"); }

}  // namespace
}  // namespace oomw
