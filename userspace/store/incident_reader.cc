// SPDX-License-Identifier: Apache-2.0
#include "store/incident_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "incident/incident_size.h"
#include "store/directory_names.h"
#include "store/incident_index.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxIncidents = 10'000;

bool is_wanted(const std::string& name, const IncidentFilter& filter) {
  if (!is_incident_directory(name)) return false;
  const WallTime time = *time_of_directory(name);
  return (!filter.since || time >= *filter.since) && (!filter.until || time <= *filter.until);
}

}  // namespace

Result<Incident> read_incident(const std::string& directory) {
  ASSIGN_OR_RETURN(const UniqueFd dir, open_at(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  struct stat status {};
  if (::fstatat(dir.get(), "incident.json", &status, AT_SYMLINK_NOFOLLOW) != 0) return fail_errno(errno, directory);
  if (!S_ISREG(status.st_mode)) return fail(ErrorCode::kInvalid, "incident.json is not a plain file");
  ASSIGN_OR_RETURN(const std::string text, read_file_at(dir.get(), "incident.json", kMaxReadIncidentBytes));
  return incident_from_json(text);
}

Result<StoredIncident> IncidentReader::load(const std::string& name) const {
  ASSIGN_OR_RETURN(Incident incident, read_incident(root_ + "/" + name));
  if (incident.id != id_of_directory(name)) return fail(ErrorCode::kInvalid, "its id is not that of the directory");
  return StoredIncident{root_ + "/" + name, std::move(incident)};
}

Result<std::vector<std::string>> IncidentReader::names(const IncidentFilter& filter) const {
  auto entries = list_directory(root_, IncidentIndex::kMaxEntries);
  if (!entries && entries.error().code == ErrorCode::kNotFound) return std::vector<std::string>{};
  if (!entries) return entries;
  std::erase_if(*entries, [&](const std::string& name) { return !is_wanted(name, filter); });
  std::sort(entries->begin(), entries->end());
  if (entries->size() > kMaxIncidents) entries->erase(entries->begin(), entries->end() - kMaxIncidents);
  return entries;
}

Result<std::vector<StoredIncident>> IncidentReader::list(const IncidentFilter& filter) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> wanted, names(filter));
  std::vector<StoredIncident> incidents;
  for (const std::string& name : wanted) {
    auto stored = load(name);
    if (stored) {
      incidents.push_back(std::move(*stored));
    } else {
      log::warn("incident {} is skipped: {}", printable(name), printable(stored.error().message));
    }
  }
  std::ranges::stable_sort(incidents, {}, [](const StoredIncident& stored) { return stored.incident.time; });
  return incidents;
}

Result<StoredIncident> IncidentReader::get(const std::string& what) const {
  std::error_code ignored;
  if (std::filesystem::is_directory(what, ignored)) {
    ASSIGN_OR_RETURN(Incident incident, read_incident(what));
    return StoredIncident{what, std::move(incident)};
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> all, names({}));
  std::vector<std::string> matches;
  for (const std::string& name : all) {
    const std::string own_id = id_of_directory(name);
    const bool is_exact = own_id == what || name == what;
    if (is_exact) matches.clear();
    if (is_exact || own_id.starts_with(what) || name.starts_with(what)) matches.push_back(name);
    if (is_exact) break;
  }
  if (matches.empty()) return fail(ErrorCode::kNotFound, "no incident " + printable(what) + " in " + root_);
  if (matches.size() > 1) {
    return fail(ErrorCode::kInvalid, printable(what) + " is the start of several incidents, of " +
                                         id_of_directory(matches[0]) + " and " + id_of_directory(matches[1]));
  }
  auto stored = load(matches.front());
  if (!stored) return tl::make_unexpected(std::move(stored).error().with_context(root_ + "/" + matches.front()));
  return stored;
}

}  // namespace oomw
