// SPDX-License-Identifier: Apache-2.0
// Reclaim by reading a sparse file through a small cgroup: page cache comes and goes.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "bpf/kernel_fixture.h"

namespace oomw::test {
namespace {

class ReclaimTest : public KernelTest, public ::testing::WithParamInterface<Rung> {
 protected:
  static KernelConfig config() {
    KernelConfig config;
    config.forced["reclaim"] = GetParam();
    return config;
  }
};

// An unlinked file of holes on a real file system (tmpfs pages would not be reclaimable).
int open_sparse_file(std::uint64_t bytes) {
  char name[] = "/var/tmp/oomw-sparse-XXXXXX";
  int fd = ::mkostemp(name, O_CLOEXEC);
  OOMW_CHECK(fd >= 0);
  ::unlink(name);
  OOMW_CHECK(::ftruncate(fd, static_cast<off_t>(bytes)) == 0);
  return fd;
}

int read_sparse_file(std::uint64_t bytes) {
  int fd = open_sparse_file(bytes);
  static std::array<char, 1 << 16> buffer;
  while (::read(fd, buffer.data(), buffer.size()) > 0) {
  }
  return 0;
}

TEST_P(ReclaimTest, page_cache_through_a_small_cgroup_is_counted_there) {
  OOMW_LOAD_OR_SKIP(config(), "reclaim");
  ASSERT_EQ(rung_of(*source_, "reclaim"), GetParam());
  cgroup_->set_limit(mebibytes(16));
  EXPECT_FALSE(source_->reclaim_of(cgroup_->id(), {}).has_value());
  ChildProcess child(cgroup_.get(), [] { return read_sparse_file(mebibytes(128)); });
  child.go();
  ASSERT_EQ(child.wait(), 0);

  auto totals = source_->reclaim_of(cgroup_->id(), MonotonicTime{42});
  ASSERT_TRUE(totals.has_value());
  EXPECT_EQ(totals->time.ns, 42);
  EXPECT_EQ(totals->cgroup, cgroup_->id());
  EXPECT_GT(totals->calls, 10u);
  EXPECT_LE(totals->zero_yield_calls, totals->calls / 2);
  EXPECT_GT(totals->reclaimed_bytes, mebibytes(64));
  EXPECT_LT(totals->reclaimed_bytes, mebibytes(256));
  EXPECT_GT(totals->stall_ns, totals->calls * 100);
  EXPECT_LT(totals->stall_ns, 60'000'000'000u);
}

TEST_P(ReclaimTest, leak_without_anything_to_reclaim_counts_zero_yield_calls) {
  OOMW_LOAD_OR_SKIP(config(), "reclaim");
  cgroup_->set_limit(mebibytes(16));
  ChildProcess child(cgroup_.get(), [] {
    touch_memory(mebibytes(64));
    return 0;
  });
  child.go();
  ASSERT_TRUE(WIFSIGNALED(child.wait()));

  auto totals = source_->reclaim_of(cgroup_->id(), {});
  ASSERT_TRUE(totals.has_value());
  EXPECT_GT(totals->zero_yield_calls, 0u);
}

TEST_P(ReclaimTest, limit_of_the_parent_is_counted_for_the_parent) {
  OOMW_LOAD_OR_SKIP(config(), "reclaim");
  cgroup_->set_limit(mebibytes(16));
  auto leaf = cgroup_->make_child();
  ASSERT_TRUE(leaf.has_value()) << leaf.error().message;
  ChildProcess child(leaf->get(), [] { return read_sparse_file(mebibytes(64)); });
  child.go();
  ASSERT_EQ(child.wait(), 0);

  auto totals = source_->reclaim_of(cgroup_->id(), {});
  ASSERT_TRUE(totals.has_value());
  EXPECT_GT(totals->calls, 5u);
}

TEST_P(ReclaimTest, forgotten_cgroup_has_no_totals) {
  OOMW_LOAD_OR_SKIP(config(), "reclaim");
  cgroup_->set_limit(mebibytes(16));
  ChildProcess child(cgroup_.get(), [] { return read_sparse_file(mebibytes(64)); });
  child.go();
  ASSERT_EQ(child.wait(), 0);
  ASSERT_TRUE(source_->reclaim_of(cgroup_->id(), {}).has_value());

  source_->forget(cgroup_->id());
  EXPECT_FALSE(source_->reclaim_of(cgroup_->id(), {}).has_value());
}

INSTANTIATE_TEST_SUITE_P(Rungs, ReclaimTest, ::testing::Values(Rung::kTpBtf, Rung::kRawTp),
                         [](const auto& rung) { return std::string(to_string(rung.param)); });

}  // namespace
}  // namespace oomw::test
