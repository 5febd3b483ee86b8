// SPDX-License-Identifier: Apache-2.0
#include "store/incident_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/files.h"
#include "base/log.h"
#include "base/text.h"
#include "incident/incident_size.h"
#include "report/capture_top.h"
#include "report/timeline_svg.h"
#include "store/directory_names.h"
#include "store/incident_reader.h"

namespace oomw {

namespace {

constexpr std::size_t kMaxEntries = IncidentIndex::kMaxEntries;
constexpr const char* kJsonName = "incident.json";
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

// Gives each stored profile its file name and place. A profile that cannot be placed becomes a note.
void place_captures(Incident& incident, const std::string& directory, unsigned next_number,
                    const IncidentStore::Place& place) {
  for (IncidentCapture& capture : incident.captures) {
    if (!capture.file.empty() || capture.spool_file.empty()) continue;
    const std::string name = capture_file_name(next_number, capture.method);
    if (const Result<> placed = place(capture, directory + "/" + name); !placed) {
      (void)::unlink((directory + "/" + name).c_str());  // a copy may have stopped half way
      incident.notes.push_back("captures.file: a profile could not be kept: " + printable(placed.error().message));
      continue;
    }
    capture.file = name;
    ++next_number;
  }
}

std::vector<std::string> files_of(const Incident& incident) {
  std::vector<std::string> names{kJsonName, kReportName};
  for (const IncidentCapture& capture : incident.captures) {
    if (!capture.file.empty()) names.push_back(capture.file);
  }
  return names;
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

Result<ProfileTexts> fill_directory(Incident& incident, const std::string& directory,
                                    const IncidentStore::Place& place) {
  place_captures(incident, directory, 1, place);
  ProfileTexts profiles = read_profiles(incident, directory);
  ASSIGN_OR_RETURN(const UniqueFd dir, open_directory(directory));
  RETURN_IF_ERROR(write_new_file(dir.get(), kReportName, to_markdown(incident, profiles)));
  RETURN_IF_ERROR(write_new_file(dir.get(), kJsonName, to_json(incident)));
  RETURN_IF_ERROR(sync_files(directory, files_of(incident)));
  return profiles;
}

bool is_same_capture(const IncidentCapture& a, const IncidentCapture& b) {
  return a.method == b.method && a.time == b.time && a.pid == b.pid && a.result == b.result;
}

// Files that an earlier write of this incident already placed.
void adopt_files(Incident& incident, const Incident& earlier) {
  for (IncidentCapture& capture : incident.captures) {
    for (const IncidentCapture& known : earlier.captures) {
      if (is_same_capture(capture, known)) capture.file = known.file;
    }
  }
}

unsigned next_capture_number(const std::string& directory) {
  unsigned highest = 0;
  const auto names = list_directory(directory, kMaxEntries);
  if (!names) return 1;
  for (const std::string& name : *names) highest = std::max(highest, number_of_capture_file(name).value_or(0));
  return highest + 1;
}

}  // namespace

IncidentStore::IncidentStore(std::string data_dir)
    : root_(data_dir + "/incidents"), index_(root_), retention_(std::move(data_dir)) {}

Result<std::string> IncidentStore::write(Incident incident, const Place& place) {
  bound_serialised(incident);
  RETURN_IF_ERROR(make_directories(root_, 0700));
  const std::string name = existing_directory(incident);
  const IncidentFacts facts = facts_of(incident);
  auto written = name.empty() ? create(std::move(incident), place) : amend(std::move(incident), name, place);
  if (written) index_.note(written->substr(root_.size() + 1), facts);
  return written;
}

// The directory may have been named before the container's name was known, so the id decides. If the index
// cannot be read, the incident is written as new: better twice than not at all.
std::string IncidentStore::existing_directory(const Incident& incident) {
  return index_.refresh() ? index_.find(incident.id) : "";
}

Result<std::string> IncidentStore::create(Incident incident, const Place& place) {
  const std::string temporary = root_ + "/" + temporary_name(incident.id, ::getpid());
  const std::string target = root_ + "/" + directory_name(incident);
  if (::mkdir(temporary.c_str(), 0700) != 0) {
    // Only a dead writer with our pid can have left it.
    if (errno != EEXIST) return fail_errno(errno, "mkdir " + temporary);
    RETURN_IF_ERROR(remove_flat_directory(temporary));
    if (::mkdir(temporary.c_str(), 0700) != 0) return fail_errno(errno, "mkdir " + temporary);
  }
  Result<ProfileTexts> written = fill_directory(incident, temporary, place);
  if (written && ::rename(temporary.c_str(), target.c_str()) != 0) written = fail_errno(errno, "rename to " + target);
  if (!written) {
    (void)remove_flat_directory(temporary);
    return tl::make_unexpected(std::move(written.error()).with_context("writing incident " + incident.id));
  }
  RETURN_IF_ERROR(fsync_directory(root_));
  write_extras(incident, *written, target);
  return target;
}

Result<std::string> IncidentStore::amend(Incident incident, const std::string& name, const Place& place) {
  const std::string directory = root_ + "/" + name;
  if (const auto earlier = read_incident(directory)) adopt_files(incident, *earlier);
  const std::vector<std::string> known = files_of(incident);
  place_captures(incident, directory, next_capture_number(directory), place);
  const ProfileTexts profiles = read_profiles(incident, directory);
  // Profiles first: incident.json never names a file that a crash could lose. The files it names already are
  // safe, and each fsync would flush the disk, 2 to 8 ms while others write.
  std::vector<std::string> files = files_of(incident);
  std::erase_if(files, [&](const std::string& file) { return std::ranges::find(known, file) != known.end(); });
  if (!files.empty()) RETURN_IF_ERROR(sync_files(directory, files));
  write_extras(incident, profiles, directory);
  RETURN_IF_ERROR(write_file_atomic(directory + "/" + kReportName, to_markdown(incident, profiles)));
  RETURN_IF_ERROR(write_file_atomic(directory + "/" + kJsonName, to_json(incident)));
  return directory;
}

}  // namespace oomw
