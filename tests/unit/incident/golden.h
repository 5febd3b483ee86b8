// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "support/source_tree.h"

namespace oomw::test {

// Compares with tests/unit/incident/data/<name>; OOMW_UPDATE_GOLDEN=1 rewrites it instead.
inline void expect_golden(const std::string& name, const std::string& actual) {
  const std::string path = test::source_tree() + "/tests/unit/incident/data/" + name;
  if (std::getenv("OOMW_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << actual;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file.good()) << path << " is missing; run with OOMW_UPDATE_GOLDEN=1";
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(actual, expected.str()) << "differs from " << path;
}

}  // namespace oomw::test
