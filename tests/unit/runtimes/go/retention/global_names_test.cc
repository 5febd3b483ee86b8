// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/retention/global_names.h"

#include <gtest/gtest.h>

namespace oomw::go::retention {
namespace {

TEST(GlobalNames, variables_that_only_the_runtime_uses_are_its_own) {
  EXPECT_TRUE(is_runtime_global("runtime.m0"));
  EXPECT_TRUE(is_runtime_global("used by runtime.mstart1, runtime.schedinit"));
  EXPECT_TRUE(is_runtime_global("used by runtime.a, runtime.b, runtime.c, ..."));
}

TEST(GlobalNames, variables_of_the_program_are_not) {
  EXPECT_FALSE(is_runtime_global("main.sessions"));
  EXPECT_FALSE(is_runtime_global("used by main.init, runtime.doInit"));
  EXPECT_FALSE(is_runtime_global("used by sync.runtime_registerPoolCleanup"));
}

}  // namespace
}  // namespace oomw::go::retention
