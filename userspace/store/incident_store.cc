// SPDX-License-Identifier: Apache-2.0
#include "store/incident_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "report/timeline_svg.h"
#include "store/directory_names.h"
#include "store/incident_summary.h"

namespace oomw {

namespace {

constexpr const char* kReportName = "report.md";
constexpr const char* kGrowthName = "growth-diff.txt";

// sync_files() calls fsync later; meanwhile the kernel writes the files' data out.
Result<> write_new_file(int dir_fd, const std::string& name, std::string_view bytes) {
  ASSIGN_OR_RETURN(const UniqueFd fd, open_at(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL, 0600));
  return write_all(fd.get(), bytes);
}

// Only a hint: if the file system does not support it, fsync() does all the work. O(1) for data written already.
void write_out(const std::vector<UniqueFd>& files, unsigned flags) {
  for (const UniqueFd& file : files) (void)::sync_file_range(file.get(), 0, 0, flags);
}

// Syncs every file and the directory. All data is written out first and together, so that the journal commit of
// the first fsync covers all files. One after the other, each file waited for its own commit if others wrote
// too: 8 ms per file, and 75 ms for an incident with six profiles.
Result<> sync_files(const std::string& directory, const std::vector<std::string>& names) {
  ASSIGN_OR_RETURN(const UniqueFd dir, open_directory(directory));
  std::vector<UniqueFd> files;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(UniqueFd fd, open_at(dir.get(), name, O_RDONLY | O_NOFOLLOW));
    files.push_back(std::move(fd));
  }
  write_out(files, SYNC_FILE_RANGE_WRITE);
  write_out(files, SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  for (const UniqueFd& file : files) {
    if (::fsync(file.get()) != 0) return fail_errno(errno, "fsync of a file in " + directory);
  }
  if (::fsync(dir.get()) != 0) return fail_errno(errno, "fsync " + directory);
  return {};
}

// Files for people that are derived from the incident. Nothing waits for them, and the incident is complete
// without them.
void write_extras(const Incident& incident, const ProfileTexts& profiles, const std::string& directory) {
  const auto write = [&](const char* name, const std::string& text) {
    if (text.empty()) return;
    const Result<> written = write_file_atomic(directory + "/" + name, text);
    if (!written) log::warn("incident {}: {}", printable(incident.id), printable(written.error().message));
  };
  write(kGrowthName, profiles.growth);
  write(kTimelineFile, timeline_svg(incident));
}

Result<> fill_directory(const Incident& incident, const std::string& report, const std::string& directory,
                        std::vector<std::string> placed) {
  ASSIGN_OR_RETURN(const UniqueFd dir, open_directory(directory));
  RETURN_IF_ERROR(write_new_file(dir.get(), kReportName, report));
  RETURN_IF_ERROR(write_new_file(dir.get(), kSummaryFile, to_summary_json(summary_of(incident))));
  RETURN_IF_ERROR(write_new_file(dir.get(), kIncidentFile, to_json(incident)));
  placed.insert(placed.end(), {kIncidentFile, kReportName, kSummaryFile});
  return sync_files(directory, placed);
}

}  // namespace

IncidentStore::IncidentStore(std::string data_dir, Place place, ReadProfiles read_profiles, CopyUrl copy_url)
    : root_(data_dir + "/incidents"),
      place_(std::move(place)),
      read_profiles_(std::move(read_profiles)),
      copy_url_(std::move(copy_url)),
      index_(root_),
      retention_(std::move(data_dir)) {}

Result<WrittenIncident> IncidentStore::write(const Incident& incident) {
  RETURN_IF_ERROR(make_directories(root_, 0700));
  Lock lock(mutex_);
  const std::string name = existing_directory(incident);
  auto written = name.empty() ? create(incident) : revise(incident, name, lock);
  if (written) index_.note(written->directory.substr(root_.size() + 1), facts_of(incident));
  return written;
}

// The directory may have been named before the container's name was known, so the id decides. If the index
// cannot be read, the incident is written as new: better twice than not at all.
std::string IncidentStore::existing_directory(const Incident& incident) {
  return index_.refresh() ? index_.find(incident.id) : "";
}

std::map<std::string, std::string>& IncidentStore::placed_of(const std::string& id) {
  const auto [entry, is_new] = placed_.try_emplace(id);
  if (!is_new) return entry->second;
  placed_by_age_.push_back(id);
  if (placed_by_age_.size() > kMaxPlaced) {
    placed_.erase(placed_by_age_.front());
    placed_by_age_.pop_front();
  }
  return entry->second;
}

IncidentStore::Placement IncidentStore::place_files(const Incident& incident, const std::string& directory) {
  Placement placement;
  std::map<std::string, std::string>& placed = placed_of(incident.id);
  for (const EvidenceFile& file : evidence_files_of(incident)) {
    const std::string target = directory + "/" + file.name;
    const auto known = placed.find(file.name);
    const bool is_there =
        known != placed.end() ? known->second == file.spool_file : ::access(target.c_str(), F_OK) == 0;
    if (is_there) continue;
    if (const Result<> done = place_(file, target); !done) {
      placement.unplaced.push_back({file.name, printable(done.error().message)});
      continue;
    }
    placed.insert_or_assign(file.name, file.spool_file);
    placement.names.push_back(file.name);
  }
  return placement;
}

std::string IncidentStore::report_of(const Incident& incident, const ProfileTexts& profiles) const {
  const std::string url = copy_url_ ? copy_url_(incident.id) : "";
  const std::string copy =
      url.empty() ? "" : "\nIts files in object storage, whole once incident.json is there:\n\n    " + url + "\n";
  return to_markdown(incident, profiles) + copy;
}

ReadTexts IncidentStore::read_profiles_here(const Incident& incident, const std::string& directory, bool) {
  return {read_profiles(incident, directory)};
}

Result<WrittenIncident> IncidentStore::create(const Incident& incident) {
  const std::string temporary = root_ + "/" + temporary_name(incident.id, ::getpid());
  const std::string target = root_ + "/" + directory_name(incident);
  if (::mkdir(temporary.c_str(), 0700) != 0) {
    // Only a dead writer with our pid can have left it.
    if (errno != EEXIST) return fail_errno(errno, "mkdir " + temporary);
    RETURN_IF_ERROR(remove_flat_directory(temporary));
    if (::mkdir(temporary.c_str(), 0700) != 0) return fail_errno(errno, "mkdir " + temporary);
  }
  placed_of(incident.id).clear();  // of a directory that is gone
  Placement placement = place_files(incident, temporary);
  const auto [profiles, has_unread] = read_profiles_(incident, temporary, true);
  Result<> written = fill_directory(incident, report_of(incident, profiles), temporary, placement.names);
  if (written && ::rename(temporary.c_str(), target.c_str()) != 0) written = fail_errno(errno, "rename to " + target);
  if (!written) {
    (void)remove_flat_directory(temporary);
    return tl::make_unexpected(std::move(written.error()).with_context("writing incident " + incident.id));
  }
  RETURN_IF_ERROR(fsync_directory(root_));
  write_extras(incident, profiles, target);
  return WrittenIncident{target, std::move(placement.unplaced), has_unread};
}

// If retention removes the incident meanwhile, that is no error: it must not return.
Result<WrittenIncident> IncidentStore::revise(const Incident& incident, const std::string& name, Lock& lock) {
  const std::string directory = root_ + "/" + name;
  Placement placement = place_files(incident, directory);
  lock.unlock();
  const auto [profiles, has_unread] = read_profiles_(incident, directory, false);
  lock.lock();
  if (::access(directory.c_str(), F_OK) != 0 && errno == ENOENT) return WrittenIncident{directory, {}, false};
  // Profiles first: incident.json never names a file that a crash could lose. The files it names already are
  // safe, and each fsync would flush the disk, 2 to 8 ms while others write.
  if (!placement.names.empty()) RETURN_IF_ERROR(sync_files(directory, placement.names));
  write_extras(incident, profiles, directory);
  RETURN_IF_ERROR(write_file_atomic(directory + "/" + kReportName, report_of(incident, profiles)));
  // Before incident.json: a reader ignores a summary that is older by more than one writing takes.
  RETURN_IF_ERROR(write_file_atomic(directory + "/" + kSummaryFile, to_summary_json(summary_of(incident))));
  RETURN_IF_ERROR(write_file_atomic(directory + "/" + kIncidentFile, to_json(incident)));
  return WrittenIncident{directory, std::move(placement.unplaced), has_unread};
}

}  // namespace oomw
