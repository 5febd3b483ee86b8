// SPDX-License-Identifier: Apache-2.0
#include "system/cgroup_fs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/source_tree.h"
#include "unit/base/set_clock.h"
#include "unit/system/temp_tree.h"

namespace oomw {
namespace {

using test::TempTree;
using test::V1Cgroup;
using test::V2Cgroup;
using ::testing::ElementsAre;

const test::SetClock kClock;

class V2Tree : public ::testing::Test {
 protected:
  V2Tree() { tree.write("cgroup.controllers", "cpuset cpu io memory pids\n"); }
  CgroupFs fs() const { return *CgroupFs::probe(tree.root()); }
  CgroupId id(const std::string& below) const { return {tree.inode(below)}; }
  TempTree tree;
};

class V1Tree : public ::testing::Test {
 protected:
  V1Tree() { V1Cgroup{.limit = "9223372036854771712"}.write(tree, "memory"); }
  CgroupFs fs() const { return *CgroupFs::probe(tree.root()); }
  CgroupId id(const std::string& below) const { return {tree.inode("memory/" + below)}; }
  TempTree tree;
};

TEST_F(V2Tree, probe_finds_unified) {
  EXPECT_EQ(fs().version(), CgroupVersion::kV2);
  EXPECT_EQ(fs().root(), tree.root());
}

TEST_F(V1Tree, probe_finds_memory_hierarchy_beside_v2_without_controller) {
  tree.write("unified/cgroup.controllers", "hugetlb\n");
  EXPECT_EQ(fs().version(), CgroupVersion::kV1);
  EXPECT_EQ(fs().root(), tree.path("memory"));
}

TEST(CgroupProbe, hybrid_with_memory_on_v2_is_v2_below_unified) {
  const TempTree tree;
  tree.write("unified/cgroup.controllers", "memory\n");
  const auto fs = CgroupFs::probe(tree.root());
  ASSERT_TRUE(fs.has_value());
  EXPECT_EQ(fs->version(), CgroupVersion::kV2);
  EXPECT_EQ(fs->root(), tree.path("unified"));
}

TEST(CgroupProbe, no_memory_controller_anywhere_is_unsupported_and_says_where) {
  const TempTree tree;
  tree.write("cgroup.controllers", "cpu memory_lookalike\n");
  const auto fs = CgroupFs::probe(tree.root());
  ASSERT_FALSE(fs.has_value());
  EXPECT_EQ(fs.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(fs.error().message, ::testing::HasSubstr(tree.root()));
}

TEST_F(V2Tree, sample_reads_usage_limit_and_local_kills) {
  V2Cgroup{}.write(tree, "pod/app");
  const auto sample = fs().sample("/pod/app", id("pod/app"), kClock, false);
  ASSERT_TRUE(sample.has_value()) << sample.error().message;
  EXPECT_EQ(sample->usage_bytes, 100u << 20);
  EXPECT_EQ(sample->limit_bytes, 256u << 20);
  EXPECT_EQ(sample->kernel_oom_kills, 2u);
  EXPECT_EQ(sample->time, kClock.now());
  EXPECT_EQ(sample->cgroup, id("pod/app"));
  EXPECT_FALSE(sample->detailed);
  EXPECT_TRUE(sample->memory_stat.empty());
}

TEST_F(V2Tree, sample_nonreclaimable_is_usage_without_file_lrus_and_reclaimable_slab) {
  V2Cgroup{}.write(tree, "app");
  const auto sample = fs().sample("/app", id("app"), kClock, false);
  EXPECT_EQ(sample->nonreclaimable_bytes, (100u << 20) - (10u << 20) - (20u << 20) - (1u << 20));
}

TEST_F(V2Tree, sample_stat_ahead_of_usage_floors_at_zero) {
  V2Cgroup{.current = "4096"}.write(tree, "app");
  EXPECT_EQ(fs().sample("/app", id("app"), kClock, false)->nonreclaimable_bytes, 0u);
}

TEST_F(V2Tree, sample_without_file_lrus_leaves_nonreclaimable_unknown) {
  V2Cgroup{.stat = "anon 1\n"}.write(tree, "app");
  const auto sample = fs().sample("/app", id("app"), kClock, false);
  ASSERT_TRUE(sample.has_value());
  EXPECT_EQ(sample->nonreclaimable_bytes, std::nullopt);
}

TEST_F(V2Tree, sample_max_means_no_limit) {
  V2Cgroup{.max = "max"}.write(tree, "app");
  EXPECT_EQ(fs().sample("/app", id("app"), kClock, false)->limit_bytes, std::nullopt);
}

TEST_F(V2Tree, sample_before_5_2_takes_hierarchical_kills) {
  V2Cgroup{.events_local = ""}.write(tree, "app");
  EXPECT_EQ(fs().sample("/app", id("app"), kClock, false)->kernel_oom_kills, 3u);
}

TEST_F(V2Tree, sample_detailed_holds_the_stat) {
  V2Cgroup{}.write(tree, "app");
  const auto sample = fs().sample("/app", id("app"), kClock, true);
  EXPECT_TRUE(sample->detailed);
  EXPECT_EQ(sample->memory_stat.at("anon"), 60u << 20);
  EXPECT_EQ(sample->memory_stat.at("kernel"), 5u << 20);
}

TEST_F(V2Tree, sample_of_recycled_path_is_not_found) {
  V2Cgroup{}.write(tree, "app");
  const auto sample = fs().sample("/app", CgroupId{id("app").value + 1}, kClock, false);
  ASSERT_FALSE(sample.has_value());
  EXPECT_EQ(sample.error().code, ErrorCode::kNotFound);
}

TEST_F(V2Tree, sample_of_vanished_cgroup_is_not_found) {
  const auto sample = fs().sample("/gone", CgroupId{1}, kClock, false);
  ASSERT_FALSE(sample.has_value());
  EXPECT_EQ(sample.error().code, ErrorCode::kNotFound);
}

TEST_F(V2Tree, sample_without_memory_switched_on_is_unsupported) {
  tree.write("app/cgroup.procs", "1\n");
  const auto sample = fs().sample("/app", id("app"), kClock, false);
  ASSERT_FALSE(sample.has_value());
  EXPECT_EQ(sample.error().code, ErrorCode::kUnsupported);
}

TEST_F(V2Tree, sample_of_garbage_is_invalid) {
  V2Cgroup{.current = "many"}.write(tree, "app");
  EXPECT_EQ(fs().sample("/app", id("app"), kClock, false).error().code, ErrorCode::kInvalid);
  V2Cgroup{.max = "-1"}.write(tree, "app");
  EXPECT_EQ(fs().sample("/app", id("app"), kClock, false).error().code, ErrorCode::kInvalid);
}

TEST_F(V1Tree, sample_reads_the_v1_files) {
  V1Cgroup{}.write(tree, "memory/app");
  const auto sample = fs().sample("/app", id("app"), kClock, false);
  ASSERT_TRUE(sample.has_value()) << sample.error().message;
  EXPECT_EQ(sample->usage_bytes, 100u << 20);
  EXPECT_EQ(sample->limit_bytes, 256u << 20);
  EXPECT_EQ(sample->kernel_oom_kills, 2u);
  EXPECT_EQ(sample->nonreclaimable_bytes, 70u << 20);
}

TEST_F(V1Tree, sample_page_rounded_long_max_means_no_limit) {
  EXPECT_EQ(fs().sample("/", id(""), kClock, false)->limit_bytes, std::nullopt);
}

TEST_F(V1Tree, sample_detailed_gives_totals_under_v2_names) {
  V1Cgroup{}.write(tree, "memory/app");
  const auto stat = fs().sample("/app", id("app"), kClock, true)->memory_stat;
  EXPECT_EQ(stat.at("anon"), 60u << 20);
  EXPECT_EQ(stat.at("file"), 30u << 20);
  EXPECT_EQ(stat.at("anon_thp"), 2u << 20);
  EXPECT_EQ(stat.at("file_mapped"), 8192u);
  EXPECT_EQ(stat.at("file_dirty"), 4096u);
  EXPECT_EQ(stat.at("shmem"), 4u << 20);
  EXPECT_EQ(stat.at("kernel"), 5u << 20);
  EXPECT_EQ(stat.at("pgfault"), 7u);
  EXPECT_FALSE(stat.contains("rss"));
  EXPECT_FALSE(stat.contains("total_rss"));
}

TEST_F(V2Tree, walk_lists_parents_before_children_with_their_ids) {
  V2Cgroup{}.write(tree, "a");
  V2Cgroup{}.write(tree, "a/b");
  V2Cgroup{}.write(tree, "a/b/c");
  bool is_cut = true;
  const auto entries = fs().walk(&is_cut);
  ASSERT_TRUE(entries.has_value());
  EXPECT_FALSE(is_cut);
  std::vector<std::string> paths;
  for (const auto& entry : *entries) paths.push_back(entry.path);
  EXPECT_THAT(paths, ElementsAre("/", "/a", "/a/b", "/a/b/c"));
  EXPECT_EQ(entries->at(3).id, id("a/b/c"));
  EXPECT_EQ(entries->at(3).parent, id("a/b"));
  EXPECT_EQ(entries->at(0).parent, CgroupId{});
}

TEST_F(V2Tree, walk_follows_no_links) {
  V2Cgroup{}.write(tree, "a");
  std::filesystem::create_directory_symlink(tree.root(), tree.path("a/loop"));
  EXPECT_EQ(fs().walk()->size(), 2u);
}

// 20 names of 255 bytes: longer than any path the kernel takes in one call.
TEST_F(V2Tree, deep_long_names_are_walked_and_sampled) {
  const std::string name(255, 'x');
  std::string path;
  UniqueFd at(::open(tree.root().c_str(), O_RDONLY | O_DIRECTORY));
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(::mkdirat(at.get(), name.c_str(), 0755), 0);
    at = UniqueFd(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY));
    path += "/" + name;
  }
  const auto id = fs().id_of(path);
  ASSERT_TRUE(id.has_value()) << id.error().message;
  EXPECT_EQ(fs().walk()->back().path, path);
  EXPECT_EQ(fs().walk()->back().id, *id);
  EXPECT_EQ(fs().sample(path, *id, kClock, false).error().code, ErrorCode::kUnsupported);
}

TEST_F(V2Tree, find_child_by_id) {
  V2Cgroup{}.write(tree, "a/b");
  V2Cgroup{}.write(tree, "a/c");
  EXPECT_EQ(fs().find_child("/a", id("a/c")).value_or(""), "/a/c");
  EXPECT_EQ(fs().find_child("/a", CgroupId{1}).error().code, ErrorCode::kNotFound);
}

TEST_F(V2Tree, processes_are_bounded_and_skip_what_is_no_pid) {
  V2Cgroup{.procs = "0\n11\nx\n4294967296\n12\n13\n"}.write(tree, "a");
  EXPECT_THAT(*fs().processes("/a", 10), ElementsAre(11, 12, 13));
  EXPECT_THAT(*fs().processes("/a", 2), ElementsAre(11, 12));
}

TEST_F(V2Tree, memory_path_v2_takes_the_unified_line) {
  EXPECT_EQ(fs().memory_path_of("0::/a/b\n"), "/a/b");
  EXPECT_EQ(fs().memory_path_of("4:memory:/old\n0::/a:b\n"), "/a:b");
}

TEST_F(V1Tree, memory_path_v1_takes_the_memory_line) {
  EXPECT_EQ(fs().memory_path_of("9:name=systemd:/x\n4:cpu,memory:/a\n0::/u\n"), "/a");
  EXPECT_EQ(fs().memory_path_of("4:memory_not:/a\n0::/u\n"), std::nullopt);
}

TEST_F(V2Tree, memory_path_outside_our_namespace_or_malformed_is_none) {
  EXPECT_EQ(fs().memory_path_of("0::/../../a\n"), std::nullopt);
  EXPECT_EQ(fs().memory_path_of("0::a\n"), std::nullopt);
  EXPECT_EQ(fs().memory_path_of("0:"), std::nullopt);
  EXPECT_EQ(fs().memory_path_of(""), std::nullopt);
  EXPECT_EQ(fs().memory_path_of("0::/a..b/..c\n"), "/a..b/..c");
}

TEST_F(V2Tree, charged_path_is_the_nearest_with_memory_on) {
  V2Cgroup{}.write(tree, "a");
  tree.write("a/b/c/cgroup.procs", "");
  EXPECT_EQ(fs().charged_path_of("/a/b/c"), "/a");
  EXPECT_EQ(fs().charged_path_of("/z/y"), "/");
}

// Checked-in trees: what a machine really shows, names and all.
struct RealTree {
  const char* name;
  CgroupVersion version;
  const char* path;
  std::uint64_t usage, limit;
};
class RealTrees : public ::testing::TestWithParam<RealTree> {};

TEST_P(RealTrees, are_probed_walked_and_sampled) {
  const RealTree& tree = GetParam();
  const auto fs = CgroupFs::probe(test::fixtures() + "/cgroup/" + tree.name);
  ASSERT_TRUE(fs.has_value()) << fs.error().message;
  EXPECT_EQ(fs->version(), tree.version);
  EXPECT_EQ(fs->walk()->back().path, tree.path);
  const auto sample = fs->sample(tree.path, *fs->id_of(tree.path), kClock, true);
  ASSERT_TRUE(sample.has_value()) << sample.error().message;
  EXPECT_EQ(sample->usage_bytes, tree.usage);
  EXPECT_EQ(sample->limit_bytes, tree.limit);
  EXPECT_GT(sample->memory_stat.at("anon"), 0u);
  ASSERT_TRUE(sample->nonreclaimable_bytes.has_value());
  EXPECT_LE(*sample->nonreclaimable_bytes, sample->usage_bytes);
  EXPECT_EQ(sample->kernel_oom_kills, 1u);
}

const std::string kV1Path =
    std::string("/kubepods/burstable/pod6b2f9f0e-3c1d-4b7a-9d0e-2f6a1c8e5b47/") + test::kContainerd;
const std::string kV2Path = std::string(
                                "/kubepods.slice/kubepods-burstable.slice/"
                                "kubepods-burstable-pod6b2f9f0e_3c1d_4b7a_9d0e_2f6a1c8e5b47.slice/cri-containerd-") +
                            test::kContainerd + ".scope";
const std::string kHybridPath = std::string("/system.slice/docker-") + test::kContainerd + ".scope";

INSTANTIATE_TEST_SUITE_P(, RealTrees,
                         ::testing::Values(RealTree{"v1", CgroupVersion::kV1, kV1Path.c_str(), 29749248, 67108864},
                                           RealTree{"v2", CgroupVersion::kV2, kV2Path.c_str(), 72876032, 134217728},
                                           RealTree{"hybrid", CgroupVersion::kV1, kHybridPath.c_str(), 29749248,
                                                    67108864}),
                         [](const auto& tree) { return std::string(tree.param.name); });

}  // namespace
}  // namespace oomw
