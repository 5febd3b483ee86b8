// SPDX-License-Identifier: Apache-2.0
#include "captures/spool.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/copy_file.h"
#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "pprof/codec.h"

namespace oomw {
namespace {

constexpr std::string_view kSuffix = ".pb.gz";
constexpr std::size_t kMaxAdopted = 65'536;
constexpr std::size_t kMaxProfileBytes = 256u << 20;

struct Found {
  timespec modified{};
  std::string name;
  std::uint64_t bytes = 0;
};

std::vector<Found> find_profiles(const std::string& directory) {
  std::vector<Found> found;
  for (auto& name : list_directory(directory, kMaxAdopted).value_or(std::vector<std::string>{})) {
    const std::string path = directory + "/" + name;
    struct stat info {};
    if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    if (name.ends_with(kSuffix)) {
      found.push_back({info.st_mtim, std::move(name), static_cast<std::uint64_t>(info.st_size)});
    } else if (name.find(".tmp-") != std::string::npos) {
      ::unlink(path.c_str());  // a half-written file of a run that was killed
    }
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tuple(a.modified.tv_sec, a.modified.tv_nsec, a.name) <
           std::tuple(b.modified.tv_sec, b.modified.tv_nsec, b.name);
  });
  return found;
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
}

// Makes `target` a link to `path`, in the place of what is there; errno, or 0. rename() of two links to one file does
// nothing, so the second name is removed in any case.
int link_over(const std::string& path, const std::string& target) {
  if (::link(path.c_str(), target.c_str()) == 0) return 0;
  if (errno != EEXIST) return errno;
  const std::string temporary = target + ".tmp";
  if (::link(path.c_str(), temporary.c_str()) != 0 && errno != EEXIST) return errno;
  const int err = ::rename(temporary.c_str(), target.c_str()) == 0 ? 0 : errno;
  (void)::unlink(temporary.c_str());
  return err;
}

}  // namespace

Spool::Spool(std::string directory, Limits limits, Start start)
    : directory_(std::move(directory)), limits_(limits), is_in_memory_(start == Start::kInMemory) {
  if (start == Start::kOnDisk) adopt_files();
}

// Profiles in memory stay there until the next put(), or until an incident takes them.
void Spool::use_disk() {
  adopt_files();
  const std::lock_guard lock(mutex_);
  is_in_memory_ = false;
}

void Spool::adopt_files() {
  (void)make_directories(directory_, 0700);  // put() reports what is wrong with it
  const std::lock_guard lock(mutex_);
  for (auto& found : find_profiles(directory_)) {
    on_disk_.push_back({std::move(found.name), found.bytes, true, {}});
    disk_bytes_ += found.bytes;
  }
  prune_locked();
}

std::string Spool::new_name(std::uint64_t capture_id, std::string_view method) {
  const std::lock_guard lock(mutex_);
  // What the directory holds is not known yet: the pid keeps names unique.
  const std::string mark = is_in_memory_ ? "s" + std::to_string(::getpid()) + "-" : "";
  const std::string base = mark + std::to_string(capture_id) + "-" + to_file_component(method);
  std::string name = base + std::string(kSuffix);
  const auto is_taken = [&] {
    const auto has_name = [&](const auto& entry) { return entry.name == name; };
    return std::any_of(on_disk_.begin(), on_disk_.end(), has_name) ||
           std::any_of(in_memory_.begin(), in_memory_.end(), has_name);
  };
  for (unsigned n = 1; is_taken(); ++n) name = base + "-" + std::to_string(n) + std::string(kSuffix);
  return name;
}

Result<std::string> Spool::put(std::uint64_t capture_id, std::string_view method, Profile profile,
                               const ShareOwner& owner) {
  std::string name = new_name(capture_id, method);
  if (const std::lock_guard lock(mutex_); is_in_memory_) {
    RETURN_IF_ERROR(keep_in_memory_locked(name, std::move(profile), owner));
    return name;
  }
  const auto written = store(name, profile, owner);
  note_disk(written);
  if (!written) {
    const std::lock_guard lock(mutex_);
    RETURN_IF_ERROR(keep_in_memory_locked(name, std::move(profile), owner));
    return name;
  }
  drain_memory();
  return name;
}

Result<> Spool::store(const std::string& name, const Profile& profile, const ShareOwner& owner) {
  // Repeated each time: the directory may have been removed meanwhile, or the data directory mounted.
  RETURN_IF_ERROR(make_directories(directory_, 0700));
  if (profile.file) {
    RETURN_IF_ERROR(write_file_atomic_by(
        path_of(name), [&](int target) { return copy_bytes(profile.file->fd(), target, profile.size()); }));
  } else {
    RETURN_IF_ERROR(write_file_atomic(path_of(name), profile.bytes));
  }
  const std::lock_guard lock(mutex_);
  on_disk_.push_back({name, profile.size(), false, owner, profile.string_count});
  disk_bytes_ += profile.size();
  prune_locked();
  return {};
}

void Spool::note_disk(const Result<>& outcome) {
  {
    const std::lock_guard lock(mutex_);
    if (disk_refused_ == !outcome.has_value()) return;
    disk_refused_ = !outcome.has_value();
  }
  if (outcome) {
    log::info("spool: {} takes profiles again", directory_);
  } else {
    log::warn("spool: profiles stay in memory, the newest {}: {}", human_bytes(limits_.memory_bytes),
              outcome.error().message);
  }
}

Result<> Spool::keep_in_memory_locked(const std::string& name, Profile profile, const ShareOwner& owner) {
  const auto lost = [&](const char* why) {
    ++dropped_;
    return fail(ErrorCode::kNoSpace, why);
  };
  if (profile.size() > limits_.memory_bytes) {
    return lost("the disk refuses and the profile is larger than the memory kept for it");
  }
  if (profile.file) {
    ASSIGN_OR_RETURN(profile.bytes, profile.file->read(limits_.memory_bytes));
    profile.file.reset();
  }
  in_memory_.push_back({name, std::move(profile.bytes), owner, profile.string_count});
  for (;;) {
    std::vector<ShareEntry> held;
    for (const InMemory& kept : in_memory_) held.push_back({&kept.owner, kept.profile.size()});
    const auto loser = entry_to_drop(held, limits_.memory_bytes);
    if (!loser) return {};
    note_over_share(in_memory_[*loser].owner);
    const bool is_new = *loser + 1 == in_memory_.size();
    in_memory_.erase(in_memory_.begin() + static_cast<std::ptrdiff_t>(*loser));
    if (is_new) return lost("the disk refuses and the profile is larger than its container's share of memory");
    ++dropped_;
  }
}

// Oldest first, until the disk refuses again. An entry leaves memory once it is on disk, so that
// it can be read at any moment.
void Spool::drain_memory() {
  for (;;) {
    InMemory entry;
    {
      const std::lock_guard lock(mutex_);
      if (in_memory_.empty()) return;
      entry = in_memory_.front();
    }
    if (!store(entry.name, {entry.profile, {}, entry.string_count}, entry.owner)) return;
    const std::lock_guard lock(mutex_);
    std::erase_if(in_memory_, [&](const InMemory& other) { return other.name == entry.name; });
  }
}

std::optional<std::string> Spool::in_memory_profile(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : in_memory_) {
    if (entry.name == name) return entry.profile;
  }
  return std::nullopt;
}

Result<> Spool::place(const std::string& name, const std::string& target, const std::vector<std::string>& comments) {
  if (!is_plain_name(name)) return fail(ErrorCode::kInvalid, "not a spool name: " + printable(name));
  RETURN_IF_ERROR(link_or_copy(name, target));
  if (comments.empty()) return {};
  // The evidence is in place; missing comments are no reason to lose it.
  if (const Result<> said = comment(name, target, comments); !said) {
    log::debug("spool: {} goes without its comments: {}", name, printable(said.error().message));
  }
  return {};
}

std::uint64_t Spool::string_count_of(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : on_disk_) {
    if (entry.name == name) return entry.string_count;
  }
  for (const auto& entry : in_memory_) {
    if (entry.name == name) return entry.string_count;
  }
  return 0;
}

// `target` exists already: a link to the profile that others have too, so a copy takes its place.
Result<> Spool::comment(const std::string& name, const std::string& target, const std::vector<std::string>& comments) {
  const std::uint64_t string_count = string_count_of(name);
  if (string_count == 0) return fail(ErrorCode::kUnsupported, "it is of an earlier run");
  const std::string temporary = target + ".tmp";
  const auto write = [&]() -> Result<> {
    ASSIGN_OR_RETURN(const UniqueFd from, open_at(AT_FDCWD, target, O_RDONLY | O_NOFOLLOW));
    ASSIGN_OR_RETURN(const UniqueFd file, open_at(AT_FDCWD, temporary, O_WRONLY | O_CREAT | O_EXCL, 0600));
    RETURN_IF_ERROR(copy_bytes(from.get(), file.get(), kMaxProfileBytes));
    return write_all(file.get(), pprof::comment_member(string_count, comments));
  };
  Result<> written = write();
  if (written && ::rename(temporary.c_str(), target.c_str()) != 0) written = fail_errno(errno, "rename " + temporary);
  if (!written) (void)::unlink(temporary.c_str());
  return written;
}

Result<> Spool::link_or_copy(const std::string& name, const std::string& target) {
  if (const auto profile = in_memory_profile(name)) return write_file_atomic(target, *profile);
  if (const int err = link_over(path_of(name), target); err != 0) {
    // Another file system, or one without hard links.
    if (err != EXDEV && err != EPERM && err != EMLINK) return fail_errno(err, "link " + path_of(name));
    ASSIGN_OR_RETURN(const UniqueFd from, open_at(AT_FDCWD, path_of(name), O_RDONLY | O_NOFOLLOW));
    RETURN_IF_ERROR(
        write_file_atomic_by(target, [&](int file) { return copy_bytes(from.get(), file, kMaxProfileBytes); }));
  }
  const std::lock_guard lock(mutex_);
  for (auto& entry : on_disk_) {
    if (entry.name == name) entry.is_used = true;
  }
  return {};
}

Result<std::string> Spool::read(const std::string& name, std::size_t max_bytes) {
  if (!is_plain_name(name)) return fail(ErrorCode::kInvalid, "not a spool name: " + printable(name));
  if (auto profile = in_memory_profile(name)) {
    if (profile->size() > max_bytes) return fail(ErrorCode::kLimit, name + " is too large");
    return std::move(*profile);
  }
  return read_file(path_of(name), max_bytes);
}

bool Spool::is_disk_refused() const {
  const std::lock_guard lock(mutex_);
  return disk_refused_;
}

void Spool::note_over_share(const ShareOwner& owner) {
  const std::lock_guard lock(excess_mutex_);
  over_share_.note(owner);
}

ShareExcess Spool::over_share() const {
  const std::lock_guard lock(excess_mutex_);
  return over_share_;
}

// Profiles that an incident already has go first: in a storm of kills, profiles come three per kill, faster than
// incidents are written, and those of the waiting incidents must still be there. The end of the list: nothing more.
std::size_t Spool::to_prune_locked() const {
  const auto newest = std::prev(on_disk_.end());
  const auto used = std::find_if(on_disk_.begin(), newest, [](const OnDisk& entry) { return entry.is_used; });
  if (used != newest) return static_cast<std::size_t>(used - on_disk_.begin());
  const bool is_too_large = disk_bytes_ > limits_.bytes;
  std::vector<ShareEntry> kept;
  kept.reserve(on_disk_.size());
  for (const OnDisk& entry : on_disk_) kept.push_back({&entry.owner, is_too_large ? entry.bytes : 1});
  return entry_to_drop(kept, is_too_large ? limits_.bytes : limits_.files).value_or(on_disk_.size());
}

// The newest file stays, however large.
void Spool::prune_locked() {
  while (on_disk_.size() > 1 && (on_disk_.size() > limits_.files || disk_bytes_ > limits_.bytes)) {
    const std::size_t place = to_prune_locked();
    if (place + 1 >= on_disk_.size()) return;
    const auto victim = on_disk_.begin() + static_cast<std::ptrdiff_t>(place);
    ::unlink(path_of(victim->name).c_str());
    if (!victim->is_used) {
      ++dropped_;
      note_over_share(victim->owner);
    }
    disk_bytes_ -= victim->bytes;
    on_disk_.erase(victim);
  }
}

}  // namespace oomw
