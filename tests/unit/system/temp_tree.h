// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <fstream>

#include "unit/base/temporary_directory.h"

namespace oomw::test {

// The container of tests/fixtures that containerd runs.
inline const std::string kContainerd = "4f1d5d9c0b7e8a6f3c2d1e0f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b";

// A directory tree of a test's own below TMPDIR, removed at the end: stands in for a mount of
// cgroupfs or /proc.
class TempTree {
 public:
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = this->path(path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(this->path(path)); }
  [[nodiscard]] std::string path(const std::string& below) const { return root_ / below; }
  [[nodiscard]] const std::string& root() const { return root_.path(); }
  [[nodiscard]] std::uint64_t inode(const std::string& below) const {
    struct stat info {};
    OOMW_CHECK(::stat(path(below).c_str(), &info) == 0);
    return info.st_ino;
  }

 private:
  TemporaryDirectory root_;
};

// The files of one v2 cgroup with memory on; change one fact and write().
struct V2Cgroup {
  std::string current = "104857600";
  std::string max = "268435456";
  std::string events = "low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 0\n";
  std::string events_local = "low 0\nhigh 0\nmax 12\noom 1\noom_kill 2\noom_group_kill 0\n";
  std::string stat =
      "anon 62914560\nfile 31457280\nkernel 5242880\nshmem 4194304\nactive_file 10485760\ninactive_file 20971520\n"
      "slab_reclaimable 1048576\nslab_unreclaimable 2097152\npgfault 7\n";
  std::string procs = "101\n102\n";

  void write(const TempTree& tree, const std::string& directory) const {
    tree.write(directory + "/memory.current", current + "\n");
    tree.write(directory + "/memory.max", max + "\n");
    tree.write(directory + "/memory.events", events);
    if (!events_local.empty()) tree.write(directory + "/memory.events.local", events_local);
    tree.write(directory + "/memory.stat", stat);
    tree.write(directory + "/cgroup.procs", procs);
  }
};

struct V1Cgroup {
  std::string usage = "104857600";
  std::string limit = "268435456";
  std::string kernel = "5242880";
  std::string oom_control = "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n";
  std::string stat =
      "cache 1\nrss 2\ninactive_file 3\nactive_file 4\nhierarchical_memory_limit 268435456\ntotal_cache 31457280\n"
      "total_rss 62914560\ntotal_rss_huge 2097152\ntotal_shmem 4194304\ntotal_mapped_file 8192\ntotal_dirty 4096\n"
      "total_pgfault 7\ntotal_inactive_file 20971520\ntotal_active_file 10485760\n";
  std::string procs = "101\n102\n";

  void write(const TempTree& tree, const std::string& directory) const {
    tree.write(directory + "/memory.usage_in_bytes", usage + "\n");
    tree.write(directory + "/memory.limit_in_bytes", limit + "\n");
    tree.write(directory + "/memory.kmem.usage_in_bytes", kernel + "\n");
    tree.write(directory + "/memory.oom_control", oom_control);
    tree.write(directory + "/memory.stat", stat);
    tree.write(directory + "/cgroup.procs", procs);
  }
};

}  // namespace oomw::test
