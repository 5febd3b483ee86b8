// SPDX-License-Identifier: Apache-2.0
#include "daemon/host_cgroup_view.h"

#include <fstream>

#include <gtest/gtest.h>

#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

// A /proc of one process whose cgroup namespace is ours, or of none.
class HostCgroupView : public ::testing::Test {
 protected:
  void add_process(const std::string& pid, const std::string& name) const {
    std::filesystem::create_directories(root_ + "/" + pid + "/ns");
    std::ofstream(root_ + "/" + pid + "/comm") << name << "\n";
    std::filesystem::create_symlink("/proc/self/ns/cgroup", root_ + "/" + pid + "/ns/cgroup");
  }

  const test::TemporaryDirectory directory_;
  const std::string root_ = directory_.path();
};

TEST_F(HostCgroupView, in_the_namespace_of_the_node_when_asked_does_nothing) {
  add_process("1", "init");
  EXPECT_TRUE(see_cgroups_as_the_node(root_).has_value());
}

TEST_F(HostCgroupView, init_that_may_not_be_looked_at_when_asked_goes_by_the_kernel_threads) {
  add_process("2", "kthreadd");
  EXPECT_TRUE(see_cgroups_as_the_node(root_).has_value());
}

TEST_F(HostCgroupView, anybody_as_process_2_when_asked_is_not_followed) {
  add_process("2", "bash");
  EXPECT_FALSE(see_cgroups_as_the_node(root_).has_value());
}

}  // namespace
}  // namespace oomw
