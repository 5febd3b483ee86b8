// SPDX-License-Identifier: Apache-2.0
#include "system/oomd_watch.h"

#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>
#include <variant>

#include "base/text.h"

namespace oomw {
namespace {

constexpr const char* kMark = "user.oomd_ooms";

// "/a/b" of "/a/b/c", "" of "/a": the root of the hierarchy.
std::string directory_above(const std::string& path) { return path.substr(0, path.find_last_of('/')); }

std::optional<std::uint64_t> mark_of(int fd) {
  std::array<char, 24> text;
  const ssize_t n = ::fgetxattr(fd, kMark, text.data(), text.size());
  return n > 0 ? parse_u64({text.data(), static_cast<std::size_t>(n)}) : std::nullopt;
}

}  // namespace

Result<std::unique_ptr<OomdWatch>> OomdWatch::make(EventLoop& loop, const CgroupFs& cgroups, const Clock& clock,
                                                   Deliver deliver) {
  std::unique_ptr<OomdWatch> made(new OomdWatch(loop, cgroups, clock, std::move(deliver)));
  RETURN_IF_ERROR(made->open());
  return made;
}

Result<> OomdWatch::open() {
  inotify_ = UniqueFd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify_.is_valid()) return fail_errno(errno, "inotify");
  ASSIGN_OR_RETURN(inotify_watch_, loop_.add_fd(inotify_.get(), EPOLLIN, [this](std::uint32_t) { on_inotify(); }));
  return {};
}

OomdWatch::~OomdWatch() { loop_.remove(inotify_watch_); }

void OomdWatch::on_event(const Event& event) {
  if (const auto* created = std::get_if<CgroupCreated>(&event); created != nullptr && created->path_complete) {
    watch_above(created->path);
  }
  if (const auto* removed = std::get_if<CgroupRemoved>(&event)) last_kills_.erase(removed->cgroup);
}

void OomdWatch::watch_above(const std::string& path) {
  if (path.size() < 2 || path.front() != '/') return;
  std::string directory = directory_above(path);
  if (watches_.size() >= kMaxWatches || watches_.contains(directory)) return;
  const std::string file = cgroups_.root() + directory;
  const int watch = ::inotify_add_watch(inotify_.get(), file.c_str(), IN_ATTRIB | IN_ONLYDIR);
  if (watch < 0) return;  // it is gone, or the kernel's limit on watches is reached
  watches_[directory] = watch;
  directories_[watch] = std::move(directory);
}

// One buffer at a time: the rest is read on the next wake-up, after other work that is due.
void OomdWatch::on_inotify() {
  alignas(inotify_event) std::array<char, 4'096> buffer;
  const ssize_t n = ::read(inotify_.get(), buffer.data(), buffer.size());
  inotify_event event;
  for (std::size_t at = 0; n > 0 && at + sizeof(event) <= static_cast<std::size_t>(n);
       at += sizeof(event) + event.len) {
    std::memcpy(&event, buffer.data() + at, sizeof(event));
    const auto found = directories_.find(event.wd);
    if (found == directories_.end()) continue;
    const char* name = buffer.data() + at + sizeof(event);  // padded with NULs
    if ((event.mask & IN_IGNORED) != 0) {
      forget(event.wd);
    } else if (event.len != 0 && checks_.take(clock_.now())) {
      check(found->second + "/" + std::string(name, ::strnlen(name, event.len)));
    }
  }
}

// The directory was removed.
void OomdWatch::forget(int watch) {
  watches_.erase(directories_[watch]);
  directories_.erase(watch);
}

void OomdWatch::check(const std::string& path) {
  const auto fd = cgroups_.open(path);
  struct stat info = {};
  if (!fd.has_value() || ::fstat(fd->get(), &info) != 0) return;
  const auto count = mark_of(fd->get());
  if (!count) return;
  const CgroupId id{info.st_ino};
  if (last_kills_.size() >= kMaxKept && !last_kills_.contains(id)) last_kills_.clear();
  std::uint64_t& last = last_kills_[id];
  if (*count <= std::exchange(last, *count)) return;
  ++kills_;
  deliver_(path);
}

}  // namespace oomw
