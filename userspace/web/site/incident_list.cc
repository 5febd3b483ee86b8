// SPDX-License-Identifier: Apache-2.0
#include "web/site/incident_list.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/files.h"
#include "store/directory_names.h"
#include "store/incident_index.h"
#include "store/incident_reader.h"

namespace oomw {
namespace {

bool has_plain_json(const std::string& directory) {
  struct stat status {};
  return ::lstat((directory + "/incident.json").c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// nullopt: no incident, or one that is being written.
std::optional<std::int64_t> changed_ns(int root, const std::string& name) {
  struct stat status {};
  if (::fstatat(root, (name + "/incident.json").c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode)) return std::nullopt;
  return status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
}

}  // namespace

IncidentList::IncidentList(const std::string& data_dir, const Clock& clock)
    : clock_(clock), root_(data_dir + "/incidents") {
  std::error_code ignored;
  if (std::filesystem::is_directory(root_, ignored)) return;
  if (has_plain_json(data_dir)) {
    root_ = data_dir;
    is_single_ = true;
    return;
  }
  const auto below = list_directory(data_dir, IncidentIndex::kMaxEntries);
  if (below && std::ranges::any_of(*below, is_incident_directory)) root_ = data_dir;
}

Result<std::vector<std::string>> IncidentList::names() const {
  if (is_single_) return std::vector<std::string>{"."};
  auto entries = list_directory(root_, IncidentIndex::kMaxEntries);
  if (!entries && entries.error().code == ErrorCode::kNotFound) return std::vector<std::string>{};
  if (!entries) return entries;
  std::erase_if(*entries, [](const std::string& name) { return !is_incident_directory(name); });
  std::sort(entries->begin(), entries->end(), std::greater<>());
  if (entries->size() > kMaxIncidents) entries->resize(kMaxIncidents);
  return entries;
}

std::optional<IncidentSummary> IncidentList::read(int root, const std::string& name) const {
  if (auto summary = read_summary(root, name)) return std::move(*summary);
  const auto incident = read_incident(root_ + "/" + name);
  if (!incident) return std::nullopt;
  IncidentSummary summary = summary_of(*incident);
  summary.directory = name;
  return summary;
}

Result<> IncidentList::refresh() {
  const MonotonicTime end = clock_.now() + kBudget;
  ASSIGN_OR_RETURN(const std::vector<std::string> found, names());
  std::map<std::string, Entry, std::greater<>> kept;
  std::size_t reads = 0;
  unread_ = 0;
  const auto root = open_directory(root_);
  if (!root && !found.empty()) return tl::make_unexpected(root.error());  // else nothing below uses it
  for (const std::string& name : found) {
    const auto known = entries_.find(name);
    const bool is_late = reads >= kLeastReads && clock_.now() > end;
    if (is_late && known == entries_.end()) {  // not even looked at: each is a read of the disk where nothing is cached
      ++unread_;
      continue;
    }
    const auto changed = changed_ns(root->get(), name);
    if (!changed) continue;
    const bool is_current = known != entries_.end() && known->second.changed_ns == *changed;
    if (is_late && !is_current) ++unread_;
    if (is_late || is_current) {
      kept.insert(entries_.extract(known));  // as it was
      continue;
    }
    ++reads;
    kept.emplace(name, Entry{*changed, read(root->get(), name)});
  }
  entries_ = std::move(kept);
  return {};
}

std::vector<const IncidentSummary*> IncidentList::newest_first() const {
  std::vector<const IncidentSummary*> all;
  all.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) {
    if (entry.summary) all.push_back(&*entry.summary);
  }
  std::ranges::stable_sort(all, [](const auto* a, const auto* b) { return a->time > b->time; });
  return all;
}

Result<std::string> IncidentList::directory_of(std::string_view id) const {
  if (is_single_) {
    ASSIGN_OR_RETURN(const Incident incident, read_incident(root_));
    if (incident.id == id) return root_;
    return fail(ErrorCode::kNotFound, "no such incident");
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> all, names());
  for (const std::string& name : all) {
    if (id_of_directory(name) == id) return root_ + "/" + name;
  }
  return fail(ErrorCode::kNotFound, "no such incident");
}

}  // namespace oomw
