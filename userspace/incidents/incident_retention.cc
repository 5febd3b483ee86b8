// SPDX-License-Identifier: Apache-2.0
// IncidentStore::prune: what goes, and how a reader never sees it half gone.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "incidents/directory_names.h"
#include "incidents/incident_store.h"

namespace oomw {

namespace {

constexpr std::size_t kMaxEntries = 100'000;
constexpr std::size_t kMaxFiles = 1'000;
// A foreign pid may be alive by reuse alone; nobody writes one incident for an hour.
constexpr Nanoseconds kTemporaryAge = std::chrono::hours(1);

struct Stored {
  std::string name;
  WallTime time;
  std::uint64_t bytes = 0;
};

// Size of an incident directory; nullopt if it is not one (no incident.json, not a directory).
std::optional<std::uint64_t> size_of(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return std::nullopt;
  const auto files = list_directory(path, kMaxFiles);
  if (!files || std::find(files->begin(), files->end(), "incident.json") == files->end()) return std::nullopt;
  std::uint64_t bytes = 0;
  for (const std::string& file : *files) {
    if (::lstat((path + "/" + file).c_str(), &status) == 0) bytes += static_cast<std::uint64_t>(status.st_size);
  }
  return bytes;
}

std::vector<Stored> stored_below(const std::string& root, const std::vector<std::string>& entries) {
  std::vector<Stored> result;
  for (const std::string& name : entries) {
    if (!is_incident_directory(name)) continue;
    if (const auto bytes = size_of(root + "/" + name)) result.push_back({name, *time_of_directory(name), *bytes});
  }
  std::sort(result.begin(), result.end(), [](const Stored& a, const Stored& b) { return a.name < b.name; });
  return result;
}

// The oldest that must go for the rest to fit, and all that are too old. The newest one always
// stays, whatever its size: it is what someone is about to look at.
std::size_t count_to_drop(const std::vector<Stored>& stored, const Retention& retention, WallTime now) {
  std::uint64_t bytes = 0;
  std::size_t kept = 0;
  for (auto it = stored.rbegin(); it != stored.rend(); ++it, ++kept) {
    bytes += it->bytes;
    const bool fits = kept < retention.count && (bytes <= retention.bytes || kept == 0) &&
                      now.ns - it->time.ns <= retention.age.count();
    if (!fits) break;
  }
  return stored.size() - kept;
}

bool drop(const std::string& root, const std::string& name) {
  const std::string doomed = root + "/" + temporary_name(id_of_directory(name), ::getpid());
  if (::rename((root + "/" + name).c_str(), doomed.c_str()) != 0) return false;
  if (const Result<> removed = remove_flat_directory(doomed); !removed) {
    log::warn("dropping incident {}: {}", printable(name), printable(removed.error().message));
  }
  return true;
}

// Left by a writer that died. Our own pid's is one too: this thread is the only writer, and in a
// container the daemon is pid 1 every time.
bool is_leftover(const std::string& path, int pid, WallTime now) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return false;
  const bool is_dead = pid == ::getpid() || (::kill(pid, 0) != 0 && errno == ESRCH);
  return is_dead || now.ns / 1'000'000'000 - status.st_mtime > kTemporaryAge / std::chrono::seconds(1);
}

}  // namespace

Result<std::size_t> IncidentStore::prune(const Retention& retention, WallTime now) {
  auto entries = list_directory(root_, kMaxEntries);
  if (!entries && entries.error().code == ErrorCode::kNotFound) return std::size_t{0};
  if (!entries) return tl::make_unexpected(std::move(entries).error());
  std::size_t dropped = 0;
  const std::vector<Stored> stored = stored_below(root_, *entries);
  const std::size_t doomed = count_to_drop(stored, retention, now);
  for (std::size_t i = 0; i < doomed; ++i) dropped += drop(root_, stored[i].name) ? 1 : 0;
  for (const std::string& name : *entries) {
    const auto pid = pid_of_temporary(name);
    if (!pid || !is_leftover(root_ + "/" + name, *pid, now)) continue;
    dropped += remove_flat_directory(root_ + "/" + name).has_value() ? 1 : 0;
  }
  return dropped;
}

}  // namespace oomw
