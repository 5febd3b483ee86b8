// SPDX-License-Identifier: Apache-2.0
#include "store/incident_index.h"

#include <sys/stat.h>

#include <algorithm>

#include "base/files.h"
#include "store/directory_names.h"

namespace oomw {

namespace {

constexpr std::size_t kMaxFiles = 1'000;

// "20261121T030405Z" of a name or an id.
std::string_view second_of(std::string_view name) { return name.substr(0, name.find('-')); }

}  // namespace

Result<> IncidentIndex::refresh() {
  ASSIGN_OR_RETURN(std::vector<std::string> names, list_directory(root_, kMaxEntries));
  std::ranges::sort(names);
  std::vector<std::string> gone;
  for (const auto& [name, entry] : entries_) {
    if (!std::ranges::binary_search(names, name)) gone.push_back(name);
  }
  for (const std::string& name : gone) erase(name);
  temporaries_.clear();
  for (const std::string& name : names) {
    const auto known = entries_.find(name);
    if (known != entries_.end() && known->second.bytes) continue;
    if (pid_of_temporary(name)) temporaries_.insert(name);
    if (!is_incident_directory(name)) continue;
    put(name, known == entries_.end() ? *time_of_directory(name) : known->second.time);
  }
  return {};
}

void IncidentIndex::forget() {
  for (auto& [name, entry] : entries_) entry.bytes.reset();
  incidents_ = bytes_ = 0;
}

// A name carries the second of its incident; a name that a person chose may carry another one.
void IncidentIndex::note(const std::string& name, WallTime time) {
  const auto second = time_of_directory(name);
  if (second) put(name, time >= *second && time.ns - second->ns < 1'000'000'000 ? time : *second);
}

void IncidentIndex::put(const std::string& name, WallTime time) {
  erase(name);
  const auto bytes = measure(name);
  entries_.emplace(name, Entry{time, bytes});
  incidents_ += bytes.has_value();
  bytes_ += bytes.value_or(0);
}

void IncidentIndex::erase(const std::string& name) {
  const auto known = entries_.find(name);
  if (known == entries_.end()) return;
  incidents_ -= known->second.bytes.has_value();
  bytes_ -= known->second.bytes.value_or(0);
  entries_.erase(known);
}

std::string IncidentIndex::find(const std::string& id) const {
  std::string found;
  for (auto entry = entries_.lower_bound(std::string(second_of(id))); entry != entries_.end(); ++entry) {
    if (second_of(entry->first) != second_of(id)) break;
    const bool is_better = found.empty() || entry->second.bytes;
    if (id_of_directory(entry->first) == id && is_better) found = entry->first;
  }
  return found;
}

// Names order incidents only to the second; within one second their times decide.
std::optional<IncidentIndex::Stored> IncidentIndex::oldest() const {
  std::optional<Stored> oldest;
  for (const auto& [name, entry] : entries_) {
    if (oldest && second_of(name) != second_of(oldest->name)) break;
    if (entry.bytes && (!oldest || entry.time < oldest->time)) oldest = Stored{name, entry.time};
  }
  return oldest;
}

std::optional<std::uint64_t> IncidentIndex::measure(const std::string& name) const {
  ++measured_;
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
