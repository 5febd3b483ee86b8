// SPDX-License-Identifier: Apache-2.0
// Reclaim by reading a sparse file through a small cgroup: page cache comes and goes.
#include <fcntl.h>
#include <glob.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/statfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "bpf/kernel_fixture.h"
#include "bpf/programs.h"
#include "kernel/kernel_btf.h"

namespace oomw::test {
namespace {

class ReclaimTest : public KernelTest, public ::testing::WithParamInterface<Rung> {
 protected:
  static KernelConfig config() {
    KernelConfig config = config_of_only({"reclaim"});
    config.forced["reclaim"] = GetParam();
    return config;
  }

  static bool end_names_the_cgroup() {
    auto kernel = KernelBtf::load();
    return kernel && kernel->facts(1).reclaim_end_has_memcg != 0;
  }
};

constexpr const char* kFolder = "/var/tmp";

// On an overlay the upper layer may be memory, as it is in a test VM: then a file that lies below.
bool is_on_disk() {
  struct statfs info {};
  return ::statfs(kFolder, &info) == 0 && info.f_type != OVERLAYFS_SUPER_MAGIC && info.f_type != TMPFS_MAGIC;
}

// A large file that no test runs from, its pages out of the cache.
int open_large_file() {
  glob_t found{};
  std::string path = ::glob("/usr/lib/*/libLLVM-*.so.1", 0, nullptr, &found) == 0 ? found.gl_pathv[0] : "";
  ::globfree(&found);
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd >= 0) ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  return fd;
}

// An unlinked file of holes on a real file system (tmpfs pages would not be reclaimable).
int open_sparse_file(std::uint64_t bytes) {
  if (!is_on_disk()) return open_large_file();
  std::string name = std::string(kFolder) + "/oomw-sparse-XXXXXX";
  int fd = ::mkostemp(name.data(), O_CLOEXEC);
  OOMW_CHECK(fd >= 0);
  ::unlink(name.c_str());
  OOMW_CHECK(::ftruncate(fd, static_cast<off_t>(bytes)) == 0);
  return fd;
}

int read_sparse_file(std::uint64_t bytes, bool keep = false) {
  int fd = open_sparse_file(bytes);
  if (fd < 0) return 1;
  static std::array<char, 1 << 16> buffer;
  for (ssize_t got = 1; got > 0 && bytes > 0;) {
    got = ::read(fd, buffer.data(), std::min<std::size_t>(buffer.size(), bytes));
    bytes -= static_cast<std::uint64_t>(std::max<ssize_t>(got, 0));
  }
  if (keep) ::raise(SIGSTOP);
  return 0;
}

TEST_P(ReclaimTest, page_cache_through_a_small_cgroup_is_counted_there) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "reclaim", GetParam());
  cgroup_->set_limit(mebibytes(16));
  EXPECT_FALSE(source_->reclaim_of(cgroup_->id(), {}).has_value());
  ChildProcess child(cgroup_.get(), [] { return read_sparse_file(mebibytes(100)); });
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
  OOMW_SHARE_RUNG_OR_SKIP(config(), "reclaim", GetParam());
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
  OOMW_SHARE_RUNG_OR_SKIP(config(), "reclaim", GetParam());
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

// A writer of the limit reclaims from somebody else's cgroup; up to now there was none of its own.
TEST_P(ReclaimTest, limit_lowered_from_outside_is_counted_where_the_pages_went) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "reclaim", GetParam());
  cgroup_->set_limit(mebibytes(64));
  ChildProcess reader(cgroup_.get(), [] { return read_sparse_file(mebibytes(48), /*keep=*/true); });
  reader.go();
  int status = 0;
  ASSERT_EQ(::waitpid(reader.pid(), &status, WUNTRACED), reader.pid());
  ASSERT_TRUE(WIFSTOPPED(status));
  ASSERT_GT(cgroup_->usage_bytes(), mebibytes(40));
  ASSERT_FALSE(source_->reclaim_of(cgroup_->id(), {}).has_value());
  ChildProcess writer(nullptr, [this] {
    cgroup_->set_limit(mebibytes(16));
    return 0;
  });
  writer.go();
  ASSERT_EQ(writer.wait(), 0);

  auto totals = source_->reclaim_of(cgroup_->id(), {});
  bool is_exact = GetParam() == Rung::kFentry || end_names_the_cgroup();
  ASSERT_EQ(totals.has_value(), is_exact);
  if (is_exact) {
    EXPECT_GT(totals->reclaimed_bytes, mebibytes(16));
  }
}

TEST_P(ReclaimTest, forgotten_cgroup_has_no_totals) {
  OOMW_SHARE_RUNG_OR_SKIP(config(), "reclaim", GetParam());
  cgroup_->set_limit(mebibytes(16));
  ChildProcess child(cgroup_.get(), [] { return read_sparse_file(mebibytes(64)); });
  child.go();
  ASSERT_EQ(child.wait(), 0);
  ASSERT_TRUE(source_->reclaim_of(cgroup_->id(), {}).has_value());

  source_->forget(cgroup_->id());
  EXPECT_FALSE(source_->reclaim_of(cgroup_->id(), {}).has_value());
}

INSTANTIATE_TEST_SUITE_P(Rungs, ReclaimTest, ::testing::Values(Rung::kFentry, Rung::kTpBtf, Rung::kRawTp),
                         [](const auto& rung) { return std::string(to_string(rung.param)); });

}  // namespace
}  // namespace oomw::test
