// SPDX-License-Identifier: Apache-2.0
// IncidentStore::prune: which incidents are removed, and how readers never see one partly removed.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "store/directory_names.h"
#include "store/incident_store.h"

namespace oomw {

namespace {

// Another writer's pid may only seem alive because it was reused. No write of an incident takes an hour.
constexpr Nanoseconds kTemporaryAge = std::chrono::hours(1);

// People may edit files, which changes the size of a directory that was measured already.
constexpr Nanoseconds kIndexAge = std::chrono::hours(1);

// The newest incident stays whatever its size, because a user is likely to open it soon.
bool is_over(const IncidentIndex& index, const Retention& retention, WallTime now) {
  const auto oldest = index.oldest();
  if (!oldest) return false;
  return index.size() > retention.count || (index.bytes() > retention.bytes && index.size() > 1) ||
         now.ns - oldest->time.ns > retention.age.count();
}

bool drop(const std::string& root, const std::string& name) {
  const std::string doomed = root + "/" + temporary_name(id_of_directory(name), ::getpid());
  if (::rename((root + "/" + name).c_str(), doomed.c_str()) != 0) return false;
  if (const Result<> removed = remove_flat_directory(doomed); !removed) {
    log::warn("dropping incident {}: {}", printable(name), printable(removed.error().message));
  }
  return true;
}

// Left by a writer that died. One with our own pid is a leftover too: this thread is the only writer, and in
// a container the daemon is pid 1 every time.
bool is_leftover(const std::string& path, int pid, WallTime now) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  const bool is_dead = pid == ::getpid() || (::kill(pid, 0) != 0 && errno == ESRCH);
  return is_dead || now.ns / 1'000'000'000 - status.st_mtime > kTemporaryAge / std::chrono::seconds(1);
}

}  // namespace

// False if it was gone already, or is no longer an incident of ours.
bool IncidentStore::drop_oldest() {
  const std::string name = index_.oldest()->name;
  index_.erase(name);
  return index_.measure(name) && drop(root_, name);
}

std::size_t IncidentStore::drop_leftovers(WallTime now) {
  std::size_t dropped = 0;
  for (const std::string& name : index_.temporaries()) {
    const auto pid = pid_of_temporary(name);
    if (!pid || !is_leftover(root_ + "/" + name, *pid, now)) continue;
    dropped += remove_flat_directory(root_ + "/" + name).has_value() ? 1 : 0;
  }
  return dropped;
}

Result<std::size_t> IncidentStore::prune(const Retention& retention, WallTime now) {
  if (!sizes_measured_) sizes_measured_ = now;
  if (now.ns - sizes_measured_->ns > kIndexAge.count()) {
    index_.forget();
    sizes_measured_ = now;
  }
  if (Result<> refreshed = index_.refresh(); !refreshed) {
    if (refreshed.error().code == ErrorCode::kNotFound) return std::size_t{0};
    return tl::make_unexpected(std::move(refreshed).error());
  }
  std::size_t dropped = 0;
  while (is_over(index_, retention, now)) dropped += drop_oldest() ? 1 : 0;
  return dropped + drop_leftovers(now);
}

}  // namespace oomw
