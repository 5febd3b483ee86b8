// SPDX-License-Identifier: Apache-2.0
#include "store/incident_index.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/files.h"
#include "store/directory_names.h"

namespace oomw {

namespace {

constexpr std::size_t kMaxFiles = 1'000;
constexpr std::int64_t kSecond = 1'000'000'000;

WallTime next_second(WallTime time) { return {time.ns + kSecond}; }

bool is_in_second(WallTime time, WallTime second) { return time >= second && time < next_second(second); }

}  // namespace

Result<> IncidentIndex::refresh() {
  if (!is_built_ || !watch_ || !is_same_directory()) return walk();
  const auto changed = watch_->take();
  if (!changed) return walk();
  for (const std::string& name : *changed) look_at(name);
  return {};
}

// The watch begins before the walk: what changes meanwhile is looked at twice, and not missed.
Result<> IncidentIndex::walk() {
  ++walks_;
  is_built_ = false;
  std::map<std::string, WallTime> exact_times;
  for (const auto& [key, bytes] : std::exchange(entries_, {})) exact_times.emplace(key.second, key.first);
  unready_.clear();
  temporaries_.clear();
  bytes_ = 0;
  watch_.reset();
  if (auto watch = DirectoryWatch::open(root_)) watch_ = std::move(*watch);
  struct stat status {};
  if (::stat(root_.c_str(), &status) == 0) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, list_directory(root_, kMaxEntries));
  for (const std::string& name : names) look_at(name);
  for (const auto& [name, time] : exact_times) {
    if (find_name(name) != entries_.end()) note(name, time);
  }
  is_built_ = true;
  return {};
}

// Somebody may have moved it away, with the watch on it.
bool IncidentIndex::is_same_directory() const {
  struct stat status {};
  return ::stat(root_.c_str(), &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

void IncidentIndex::look_at(const std::string& name) {
  if (is_incident_directory(name)) return put(name, std::nullopt);
  if (!pid_of_temporary(name)) return;
  struct stat status {};
  if (::lstat((root_ + "/" + name).c_str(), &status) == 0) {
    temporaries_.insert(name);
  } else {
    temporaries_.erase(name);
  }
}

void IncidentIndex::note(const std::string& name, WallTime time) {
  const auto second = time_of_directory(name);
  if (second) put(name, is_in_second(time, *second) ? time : *second);
}

void IncidentIndex::put(const std::string& name, std::optional<WallTime> time) {
  if (const auto known = find_name(name); known != entries_.end()) {
    if (!time) time = known->first.first;
    remove(known);
  }
  unready_.erase(name);
  if (const auto bytes = measure(name)) {
    entries_.emplace(Key{time ? *time : *time_of_directory(name), name}, *bytes);
    bytes_ += *bytes;
    return;
  }
  struct stat status {};
  if (::lstat((root_ + "/" + name).c_str(), &status) == 0) unready_.insert(name);
}

void IncidentIndex::recount() {
  for (const std::string& name : std::set(unready_)) put(name, std::nullopt);
}

void IncidentIndex::erase(const std::string& name) {
  if (const auto known = find_name(name); known != entries_.end()) remove(known);
  unready_.erase(name);
}

void IncidentIndex::remove(Entries::const_iterator entry) {
  bytes_ -= entry->second;
  entries_.erase(entry);
}

// A name and an id begin with the second that its entry lies in.
IncidentIndex::Entries::const_iterator IncidentIndex::find_name(const std::string& name) const {
  const auto time = time_of_directory(name);
  if (!time) return entries_.end();
  const auto end = entries_.lower_bound({next_second(*time), ""});
  const auto found = std::find_if(entries_.lower_bound({*time, ""}), end,
                                  [&](const auto& entry) { return entry.first.second == name; });
  return found == end ? entries_.end() : found;
}

std::string IncidentIndex::find(const std::string& id) const {
  const auto time = time_of_directory(id);
  if (!time) return "";
  const auto end = entries_.lower_bound({next_second(*time), ""});
  for (auto entry = entries_.lower_bound({*time, ""}); entry != end; ++entry) {
    if (id_of_directory(entry->first.second) == id) return entry->first.second;
  }
  for (const std::string& name : unready_) {
    if (id_of_directory(name) == id) return name;
  }
  return "";
}

std::optional<IncidentIndex::Stored> IncidentIndex::oldest() const {
  if (entries_.empty()) return std::nullopt;
  const auto& [key, bytes] = *entries_.begin();
  return Stored{key.second, key.first, bytes};
}

std::optional<std::uint64_t> IncidentIndex::measure(const std::string& name) const {
  const std::string path = root_ + "/" + name;
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

}  // namespace oomw
