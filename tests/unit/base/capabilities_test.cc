// SPDX-License-Identifier: Apache-2.0
#include "base/capabilities.h"

#include <gtest/gtest.h>

#include <charconv>
#include <fstream>
#include <string>

namespace oomw {
namespace {

TEST(Capabilities, sys_admin_stands_for_bpf_and_perfmon_and_for_no_other) {
  constexpr Capabilities held = Capabilities().with(Capability::kSysAdmin);
  EXPECT_TRUE(held.covers(Capability::kBpf) && held.covers(Capability::kPerfmon));
  EXPECT_FALSE(held.has(Capability::kBpf) || held.covers(Capability::kSysPtrace));
  EXPECT_FALSE(Capabilities().covers(Capability::kSysAdmin));
}

TEST(Capabilities, own_ones_are_those_of_the_status_file) {
  std::ifstream status("/proc/thread-self/status");
  std::uint64_t mask = 0;
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("CapEff:\t")) std::from_chars(line.data() + 8, line.data() + line.size(), mask, 16);
  }
  const Capabilities expected(mask);
  for (const Capability one : {Capability::kSysPtrace, Capability::kSysAdmin, Capability::kSysResource,
                               Capability::kPerfmon, Capability::kBpf}) {
    EXPECT_EQ(own_capabilities().has(one), expected.has(one)) << static_cast<int>(one);
  }
}

}  // namespace
}  // namespace oomw
