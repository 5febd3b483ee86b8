// SPDX-License-Identifier: Apache-2.0
#include "system/kill_count_watch.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/files.h"
#include "system/memory_files.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxRechecks = 1'024;

// v1 announces the OOM before the kill: the count follows when the victim is marked, 0.4-5 ms
// later on an idle host.
constexpr std::array<Nanoseconds, 3> kRechecks = {std::chrono::milliseconds(10), std::chrono::milliseconds(50),
                                                  std::chrono::milliseconds(250)};

}  // namespace

KillCountWatch::KillCountWatch(EventLoop& loop, const CgroupFs& cgroups, const Clock& clock, std::size_t max_watched,
                               std::function<void(Event)> deliver)
    : loop_(loop),
      cgroups_(cgroups),
      clock_(clock),
      max_watched_(max_watched),
      deliver_(std::move(deliver)),
      due_(loop, clock, kMaxRechecks) {
  if (cgroups_.version() == CgroupVersion::kV1) return;
  inotify_ = UniqueFd(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify_.is_valid()) return;
  auto added = loop_.add_fd(inotify_.get(), EPOLLIN, [this](std::uint32_t) { on_inotify(); });
  if (added.has_value()) inotify_watch_ = *added;
}

KillCountWatch::~KillCountWatch() {
  for (const auto& [id, watched] : watched_) loop_.remove(watched.event_watch);
  loop_.remove(inotify_watch_);
}

void KillCountWatch::watch(CgroupId id, const std::string& path) {
  if (watched_.contains(id)) return;
  if (watched_.size() >= max_watched_) {
    ++refused_;
    return;
  }
  Watched watched;
  watched.path = path;
  if (const auto opened = open(id, watched); !opened.has_value()) {
    if (opened.error().code != ErrorCode::kNotFound) ++refused_;
    return;
  }
  const auto sample = cgroups_.sample(path, id, clock_, false);
  if (sample.has_value()) watched.kills = sample->kernel_oom_kills;
  watched_.emplace(id, std::move(watched));
}

void KillCountWatch::unwatch(CgroupId id) {
  const auto found = watched_.find(id);
  if (found == watched_.end()) return;
  loop_.remove(found->second.event_watch);
  if (found->second.inotify_watch >= 0) {
    (void)::inotify_rm_watch(inotify_.get(), found->second.inotify_watch);
    by_inotify_watch_.erase(found->second.inotify_watch);
  }
  watched_.erase(found);
}

Result<> KillCountWatch::open(CgroupId id, Watched& watched) {
  return cgroups_.version() == CgroupVersion::kV1 ? open_v1(id, watched) : open_v2(id, watched);
}

Result<> KillCountWatch::open_v1(CgroupId id, Watched& watched) {
  ASSIGN_OR_RETURN(const UniqueFd dir, cgroups_.open(watched.path));
  ASSIGN_OR_RETURN(const UniqueFd oom, open_at(dir.get(), memory_file_names(CgroupVersion::kV1).kills, O_RDONLY));
  ASSIGN_OR_RETURN(const UniqueFd control, open_at(dir.get(), "cgroup.event_control", O_WRONLY));
  watched.event = UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!watched.event.is_valid()) return fail_errno(errno, "eventfd");
  RETURN_IF_ERROR(write_all(control.get(), std::to_string(watched.event.get()) + " " + std::to_string(oom.get())));
  ASSIGN_OR_RETURN(watched.event_watch,
                   loop_.add_fd(watched.event.get(), EPOLLIN, [this, id](std::uint32_t) { on_oom_event(id); }));
  return {};
}

Result<> KillCountWatch::open_v2(CgroupId id, Watched& watched) {
  const std::string file = cgroups_.root() + watched.path + "/memory.events";
  watched.inotify_watch = ::inotify_add_watch(inotify_.get(), file.c_str(), IN_MODIFY);
  if (watched.inotify_watch < 0) return fail_errno(errno, "inotify " + watched.path);
  by_inotify_watch_[watched.inotify_watch] = id;
  return {};
}

void KillCountWatch::on_oom_event(CgroupId id) {
  const auto found = watched_.find(id);
  if (found == watched_.end()) return;
  std::uint64_t count = 0;
  [[maybe_unused]] const ssize_t n = ::read(found->second.event.get(), &count, sizeof(count));
  check(id, 0);
}

void KillCountWatch::on_inotify() {
  alignas(inotify_event) std::array<char, 4'096> buffer;
  ssize_t n = 0;
  while ((n = ::read(inotify_.get(), buffer.data(), buffer.size())) > 0) {
    for (std::size_t at = 0; at + sizeof(inotify_event) <= static_cast<std::size_t>(n);) {
      inotify_event event;
      std::memcpy(&event, buffer.data() + at, sizeof(event));
      at += sizeof(event) + event.len;
      const auto found = by_inotify_watch_.find(event.wd);
      if (found != by_inotify_watch_.end()) check(CgroupId(found->second), kRechecks.size());
    }
  }
}

// Delivers if the count rose; otherwise reads it again after kRechecks[attempt], as long as there is one.
void KillCountWatch::check(CgroupId id, std::size_t attempt) {
  const auto found = watched_.find(id);
  if (found == watched_.end()) return;
  auto sample = cgroups_.sample(found->second.path, id, clock_, false);
  if (!sample.has_value() && sample.error().code == ErrorCode::kNotFound) return unwatch(id);
  if (!sample.has_value()) return;
  if (sample->kernel_oom_kills > found->second.kills) {
    found->second.kills = sample->kernel_oom_kills;
    deliver_(std::move(*sample));
  } else if (attempt < kRechecks.size()) {
    (void)due_.push(kRechecks[attempt], [this, id, attempt] { check(id, attempt + 1); });
  }
}

}  // namespace oomw
