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
    if (known != entries_.end() && known->second.measured) continue;
    if (pid_of_temporary(name)) temporaries_.insert(name);
    if (is_incident_directory(name)) put(name, *time_of_directory(name));
  }
  restored_.clear();
  return {};
}

void IncidentIndex::forget() {
  for (auto& [name, entry] : entries_) entry.measured.reset();
  incidents_ = bytes_ = 0;
}

bool IncidentIndex::Entry::has_facts() const { return known && measured && known->changed_ns == measured->changed_ns; }

// A name carries the second of its incident; a name that a person chose may carry another one.
WallTime IncidentIndex::Entry::time() const {
  if (!known) return second;
  const WallTime exact = known->facts.time;
  return exact >= second && exact.ns - second.ns < 1'000'000'000 ? exact : second;
}

void IncidentIndex::note(const std::string& name, const IncidentFacts& facts) {
  const auto second = time_of_directory(name);
  if (!second) return;
  put(name, *second);
  entries_[name].is_own = true;
  set_facts(name, facts);
}

void IncidentIndex::set_facts(const std::string& name, const IncidentFacts& facts) {
  const auto entry = entries_.find(name);
  if (entry == entries_.end() || !entry->second.measured) return;
  entry->second.known = KnownFacts{facts, entry->second.measured->changed_ns};
  ++facts_version_;
}

void IncidentIndex::restore(std::map<std::string, KnownFacts> known) {
  restored_ = std::move(known);
  for (auto& [name, entry] : entries_) {
    const auto restored = restored_.find(name);
    if (restored != restored_.end() && !entry.known) entry.known = restored->second;
  }
}

std::vector<std::string> IncidentIndex::without_facts(std::size_t max) const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) {
    if (names.size() == max) break;
    if (entry.measured && !entry.has_facts()) names.push_back(name);
  }
  return names;
}

std::vector<KeptIncident> IncidentIndex::incidents() const {
  std::vector<KeptIncident> incidents;
  incidents.reserve(incidents_);
  for (const auto& [name, entry] : entries_) {
    if (!entry.measured) continue;
    incidents.push_back({name, entry.time(), entry.measured->bytes, {}});
    if (entry.has_facts()) incidents.back().facts = entry.known->facts;
  }
  return incidents;
}

std::optional<WallTime> IncidentIndex::newest_found() const {
  const auto newest = std::find_if(entries_.rbegin(), entries_.rend(),
                                   [](const auto& named) { return named.second.measured && !named.second.is_own; });
  return newest == entries_.rend() ? std::nullopt : std::optional(newest->second.second);
}

std::map<std::string, KnownFacts> IncidentIndex::known_facts() const {
  std::map<std::string, KnownFacts> known;
  for (const auto& [name, entry] : entries_) {
    if (entry.has_facts()) known.emplace_hint(known.end(), name, *entry.known);
  }
  return known;
}

// Facts outlive the measuring: whether they are still true is decided by the time of incident.json.
void IncidentIndex::put(const std::string& name, WallTime second) {
  Entry& entry = entries_[name];
  remove_size(entry);
  entry.second = second;
  entry.measured = measure(name);
  if (const auto restored = restored_.find(name); !entry.known && restored != restored_.end()) {
    entry.known = restored->second;
  }
  incidents_ += entry.measured.has_value();
  bytes_ += entry.measured ? entry.measured->bytes : 0;
}

void IncidentIndex::remove_size(const Entry& entry) {
  if (!entry.measured) return;
  --incidents_;
  bytes_ -= entry.measured->bytes;
}

void IncidentIndex::erase(const std::string& name) {
  const auto entry = entries_.find(name);
  if (entry == entries_.end()) return;
  remove_size(entry->second);
  facts_version_ += entry->second.known.has_value();
  entries_.erase(entry);
}

std::string IncidentIndex::find(const std::string& id) const {
  std::string found;
  for (auto entry = entries_.lower_bound(std::string(second_of(id))); entry != entries_.end(); ++entry) {
    if (second_of(entry->first) != second_of(id)) break;
    const bool is_better = found.empty() || entry->second.measured;
    if (id_of_directory(entry->first) == id && is_better) found = entry->first;
  }
  return found;
}

std::optional<IncidentIndex::Measured> IncidentIndex::measure(const std::string& name) const {
  ++measured_;
  const std::string path = root_ + "/" + name;
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return std::nullopt;
  const auto files = list_directory(path, kMaxFiles);
  if (!files || std::find(files->begin(), files->end(), kIncidentFile) == files->end()) return std::nullopt;
  Measured measured;
  for (const std::string& file : *files) {
    if (::lstat((path + "/" + file).c_str(), &status) != 0) continue;
    measured.bytes += static_cast<std::uint64_t>(status.st_size);
    if (file == kIncidentFile) measured.changed_ns = status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
  }
  return measured;
}

}  // namespace oomw
