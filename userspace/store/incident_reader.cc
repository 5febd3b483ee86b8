// SPDX-License-Identifier: Apache-2.0
#include "store/incident_reader.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "incident/incident_size.h"
#include "store/directory_names.h"
#include "store/incident_index.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxIncidents = 10'000;

constexpr std::int64_t kSecondNs = 1'000'000'000;

// A name has the second of the kill only; whether a kill lies within that second is matches()' to say.
bool is_wanted(const std::string& name, const IncidentFilter& filter) {
  if (!is_incident_directory(name)) return false;
  const WallTime time = *time_of_directory(name);
  return (!filter.since || time.ns + kSecondNs > filter.since->ns) && (!filter.until || time <= *filter.until);
}

std::int64_t changed_ns(const struct stat& status) {
  return status.st_mtim.tv_sec * kSecondNs + status.st_mtim.tv_nsec;
}

void log_skipped(const std::string& name, const Error& error) {
  log::warn("incident {} is skipped: {}", printable(name), printable(error.message));
}

// "shop-cart", "./x/", "/var/lib/oomwitness/incidents/x/incident.json": the directory that is meant.
std::string directory_of(std::string what) {
  constexpr std::string_view kJson = "/incident.json";
  if (what.ends_with(kJson)) what.erase(what.size() - kJson.size());
  while (what.size() > 1 && what.ends_with('/')) what.pop_back();
  return what;
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

Result<IncidentSummary> read_summary(int incidents, const std::string& name) {
  constexpr std::int64_t kOneWritingNs = 2 * kSecondNs;
  struct stat json {
  }, own{};
  if (::fstatat(incidents, (name + "/incident.json").c_str(), &json, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISREG(json.st_mode)) {
    return fail(ErrorCode::kNotFound, "no incident.json");
  }
  const std::string path = name + "/" + kSummaryFile;
  ASSIGN_OR_RETURN(const UniqueFd fd, open_at(incidents, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  if (::fstat(fd.get(), &own) != 0 || !S_ISREG(own.st_mode)) return fail(ErrorCode::kInvalid, "no plain file");
  if (changed_ns(json) - changed_ns(own) > kOneWritingNs) return fail(ErrorCode::kInvalid, "older than the incident");
  ASSIGN_OR_RETURN(const std::string text, read_open_file(fd.get(), path, kMaxSummaryBytes));
  ASSIGN_OR_RETURN(IncidentSummary summary, summary_from_json(text));
  if (summary.id != id_of_directory(name)) return fail(ErrorCode::kInvalid, "of another incident");
  summary.directory = name;
  return summary;
}

namespace {

// Of the newest of `names`, those of a container, pod or place that is called just `what`; all if there are none.
void keep_those_of(const std::string& root, std::string_view what, std::vector<std::string>& names) {
  constexpr std::size_t kMaxRead = 256;
  const auto directory = open_directory(root);
  if (!directory) return;
  std::vector<std::string> exact;
  const auto begin = names.end() - static_cast<std::ptrdiff_t>(std::min(names.size(), kMaxRead));
  std::copy_if(begin, names.end(), std::back_inserter(exact), [&](const std::string& name) {
    const auto summary = read_summary(directory->get(), name);
    return summary && (summary->container == what || summary->pod_name == what || base_name(summary->place) == what);
  });
  if (!exact.empty()) names = std::move(exact);
}

// Names tell seconds: of those of the last one, the newest comes last.
void put_newest_last(const std::string& root, std::vector<std::string>& names) {
  const auto directory = open_directory(root);
  const std::string second = id_of_directory(names.back()).substr(0, 16);  // "20261121T030405Z"
  const auto begin = std::ranges::find_if(names, [&](const std::string& name) { return name.starts_with(second); });
  if (!directory || names.end() - begin < 2) return;
  std::vector<std::pair<WallTime, std::string>> timed;
  for (auto name = begin; name != names.end(); ++name) {
    timed.emplace_back(read_summary(directory->get(), *name).value_or(IncidentSummary{}).time, *name);
  }
  std::ranges::stable_sort(timed, {}, &std::pair<WallTime, std::string>::first);
  std::ranges::transform(timed, begin, &std::pair<WallTime, std::string>::second);
}

}  // namespace

Result<StoredIncident> IncidentReader::load(const std::string& name) const {
  ASSIGN_OR_RETURN(Incident incident, read_incident(root_ + "/" + name));
  if (incident.id != id_of_directory(name)) return fail(ErrorCode::kInvalid, "its id is not that of the directory");
  return StoredIncident{root_ + "/" + name, std::move(incident)};
}

Result<std::vector<std::string>> IncidentReader::names(const IncidentFilter& filter) const {
  auto entries = list_directory(root_, IncidentIndex::kMaxEntries);
  if (!entries && entries.error().code == ErrorCode::kNotFound) {
    const std::string data_dir(parent_path(root_));
    std::error_code ignored;
    if (std::filesystem::is_directory(data_dir, ignored)) return std::vector<std::string>{};
    return fail(ErrorCode::kNotFound, "no directory " + printable(data_dir) + ": no daemon has run with it here");
  }
  if (!entries) return entries;
  std::erase_if(*entries, [&](const std::string& name) { return !is_wanted(name, filter); });
  std::sort(entries->begin(), entries->end());
  if (entries->size() > kMaxIncidents) entries->erase(entries->begin(), entries->end() - kMaxIncidents);
  return entries;
}

Result<std::vector<IncidentSummary>> IncidentReader::summaries(const IncidentFilter& filter) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> wanted, names(filter));
  std::vector<IncidentSummary> summaries;
  if (wanted.empty()) return summaries;
  ASSIGN_OR_RETURN(const UniqueFd root, open_directory(root_));
  for (auto name = wanted.rbegin(); name != wanted.rend(); ++name) {
    auto summary = read_summary(root.get(), *name);
    if (!summary) {
      auto stored = load(*name);
      if (!stored) {
        log_skipped(*name, stored.error());
        continue;
      }
      summary = summary_of(stored->incident);
      summary->directory = *name;
    }
    if (!matches(*summary, filter)) continue;
    summaries.push_back(std::move(*summary));
    if (summaries.size() == filter.limit) break;  // never with limit 0
  }
  std::ranges::stable_sort(summaries, std::greater(), &IncidentSummary::time);
  return summaries;
}

Result<std::vector<StoredIncident>> IncidentReader::list(const IncidentFilter& filter) const {
  ASSIGN_OR_RETURN(const std::vector<std::string> wanted, names(filter));
  std::vector<StoredIncident> incidents;
  for (auto name = wanted.rbegin(); name != wanted.rend(); ++name) {
    auto stored = load(*name);
    if (!stored) {
      log_skipped(*name, stored.error());
      continue;
    }
    if (filter.has_words() && !matches(summary_of(stored->incident), filter)) continue;
    incidents.push_back(std::move(*stored));
    if (incidents.size() == filter.limit) break;
  }
  std::ranges::reverse(incidents);
  std::ranges::stable_sort(incidents, {}, [](const StoredIncident& stored) { return stored.incident.time; });
  return incidents;
}

// An exact name comes first, then what begins with `what`, then what has it anywhere. Of several those of the container
// or pod of just that name, and of these the newest, since the kills of a crash loop share a name.
// "shop/cart-7d9f/web", as lists show the place, is part of a name too: there its slashes are dashes.
Result<std::string> IncidentReader::find(const std::string& what) const {
  auto found = names({});
  if (!found) return tl::make_unexpected(std::move(found).error().with_context("no incident " + printable(what)));
  std::vector<std::string> all = std::move(*found);
  if (all.empty()) {
    return fail(ErrorCode::kNotFound, "no incident " + printable(what) + ": there are none in " + root_);
  }
  if (what == "latest") {
    put_newest_last(root_, all);
    return all.back();
  }
  std::string part = what;
  std::ranges::replace(part, '/', '-');
  std::vector<std::string> starts, parts;
  for (const std::string& name : all) {
    const std::string id = id_of_directory(name);
    if (id == what || name == what) return name;
    if (id.starts_with(part) || name.starts_with(part)) starts.push_back(name);
    if (id.find(part) != std::string::npos || name.find(part) != std::string::npos) parts.push_back(name);
  }
  std::vector<std::string>& matches = starts.empty() ? parts : starts;
  if (matches.empty() || what.empty()) {
    return fail(ErrorCode::kNotFound, "no incident " + printable(what) + " in " + root_ +
                                          "; what is there: oomwitness incidents --data-dir " + parent_path(root_));
  }
  if (matches.size() > 1) keep_those_of(root_, what, matches);
  if (matches.size() > 1) {
    put_newest_last(root_, matches);
    log::warn("{} incidents have \"{}\" in their names; this is the newest, the one before is {}", matches.size(),
              printable(what, 64), printable(matches[matches.size() - 2]));
  }
  return matches.back();
}

Result<StoredIncident> IncidentReader::get(const std::string& what) const {
  const std::string path = directory_of(what);
  std::error_code ignored;
  if (what != "latest" && std::filesystem::exists(path + "/incident.json", ignored)) {
    ASSIGN_OR_RETURN(Incident incident, read_incident(path));
    return StoredIncident{path, std::move(incident)};
  }
  // A directory that this reader has, by a path that leads nowhere here: copied from another machine's output.
  const std::string last(base_name(path));
  ASSIGN_OR_RETURN(const std::string name, find(is_incident_directory(last) ? last : what));
  auto stored = load(name);
  if (!stored) return tl::make_unexpected(std::move(stored).error().with_context(root_ + "/" + name));
  return stored;
}

}  // namespace oomw
