// SPDX-License-Identifier: Apache-2.0
// Walking the memory hierarchy: CgroupFs::walk() and find_child().
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <memory>

#include "system/cgroup_fs.h"

namespace oomw {
namespace {

struct DirCloser {
  void operator()(DIR* dir) const { ::closedir(dir); }
};

// A leaf need not be opened: kernfs, ext4 and tmpfs keep st_nlink = 2 + subdirectories. File systems
// that do not count them (overlay, btrfs) have 1. Opening a leaf and reading its ~50 file names would
// cost 15 us instead of the 1 us of a stat, on every rescan.
constexpr nlink_t kLinksOfLeaf = 2;

struct Child {
  std::string name;
  CgroupId id;
  bool is_leaf = false;
};

std::optional<Child> child_of(int dir_fd, const dirent& entry) {
  if (entry.d_type != DT_DIR && entry.d_type != DT_UNKNOWN) return std::nullopt;
  std::string name = entry.d_name;
  if (name == "." || name == "..") return std::nullopt;
  struct stat info {};
  if (::fstatat(dir_fd, entry.d_name, &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(info.st_mode)) return std::nullopt;
  return Child{std::move(name), CgroupId{info.st_ino}, info.st_nlink == kLinksOfLeaf};
}

// Calls visit(Child) for each subdirectory until it returns false.
template <typename Visit>
Result<> for_each_child(const CgroupFs& cgroups, const std::string& path, const Visit& visit) {
  ASSIGN_OR_RETURN(UniqueFd fd, cgroups.open(path));
  const std::unique_ptr<DIR, DirCloser> dir(::fdopendir(fd.get()));
  if (!dir) return fail_errno(errno, "reading directory " + path);
  const int dir_fd = fd.release();  // the stream closes it
  while (const dirent* entry = ::readdir(dir.get())) {
    auto child = child_of(dir_fd, *entry);
    if (child && !visit(std::move(*child))) break;
  }
  return {};
}

std::string join(const std::string& parent, const std::string& name) {
  return parent == "/" ? "/" + name : parent + "/" + name;
}

}  // namespace

// Breadth first over the result itself: an entry's children are appended behind it.
Result<std::vector<CgroupFs::Entry>> CgroupFs::walk(bool* cut) const {
  ASSIGN_OR_RETURN(const CgroupId root_id, id_of("/"));
  std::vector<Entry> entries{{root_id, CgroupId{}, "/"}};
  std::vector<bool> is_leaf{false};
  bool is_cut = false;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (is_leaf[i]) continue;
    const CgroupId parent = entries[i].id;
    const std::string path = entries[i].path;
    // A cgroup that vanished between its parent's listing and now has no children to list.
    (void)for_each_child(*this, path, [&](Child child) {
      if (entries.size() >= kMaxCgroups) {
        is_cut = true;
        return false;
      }
      entries.push_back({child.id, parent, join(path, child.name)});
      is_leaf.push_back(child.is_leaf);
      return true;
    });
  }
  if (cut != nullptr) *cut = is_cut;
  return entries;
}

Result<std::string> CgroupFs::find_child(const std::string& parent_path, CgroupId id) const {
  std::string found;
  RETURN_IF_ERROR(for_each_child(*this, parent_path, [&](const Child& child) {
    if (child.id == id) found = join(parent_path, child.name);
    return found.empty();
  }));
  if (found.empty()) return fail(ErrorCode::kNotFound, "no child of that id in " + parent_path);
  return found;
}

}  // namespace oomw
