// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/result.h"
#include "events/event.h"
#include "incident/incident.h"
#include "incident/incident_files.h"
#include "report/capture_top.h"
#include "store/incident_index.h"
#include "store/incident_retention.h"

namespace oomw {

using UnplacedFiles = std::vector<FilesUnplaced::File>;

struct WrittenIncident {
  std::string directory;
  UnplacedFiles unplaced;   // that it names and that are not there
  bool has_unread = false;  // its report says of a profile that there was no time for it
};

// Writes <data-dir>/incidents. One writer, with a few threads for different incidents; readers anywhere, also in other
// processes (IncidentReader). A directory is whole (written as .tmp-<id>-<pid>, every file and the directory fsynced,
// then renamed) or absent. A revision's incident.json and report.md replace the old ones by rename. An incident
// to drop is renamed first and then removed.
//   - an incident is written as it was built. Only files that its earlier revisions did not bring are placed;
//   - a refused write (full disk: kNoSpace) leaves nothing behind;
//   - only directories named like ours with an incident.json inside are ever removed;
//   - a write or a pruning reads only what it writes or drops. The writer's IncidentIndex knows the rest,
//     including what a person adds or deletes meanwhile.
class IncidentStore {
 public:
  // Places a file's bytes at a path, replacing what may be there (Spool::place, or a copy).
  using Place = std::function<Result<>(const EvidenceFile& file, const std::string& target)>;

  // The texts of the profiles in a directory, for its report. is_first: nothing of the incident is on disk yet, and the
  // next kill's waits. Else the lock is not held: what a container's profile costs is not the time of others.
  using ReadProfiles = std::function<ReadTexts(const Incident& incident, const std::string& directory, bool is_first)>;

  static ReadTexts read_profiles_here(const Incident& incident, const std::string& directory, bool is_first);

  // Where a sink copies the files of an incident to, for its report; "" = nowhere. Known before anything is copied.
  using CopyUrl = std::function<std::string(const std::string& id)>;

  IncidentStore(std::string data_dir, Place place, ReadProfiles read_profiles = read_profiles_here,
                CopyUrl copy_url = {});
  // Writes everything. A second call with the same id writes a revision in the same directory. A file that cannot be
  // placed is listed, not an error. One thread for one incident.
  [[nodiscard]] Result<WrittenIncident> write(const Incident& incident);
  // Drops incidents beyond the bounds and the temporary leftovers of dead writers: see IncidentRetention.
  [[nodiscard]] Result<Pruned> prune(const Retention& retention, const ClockReading& now, const IsHeld& is_held = {}) {
    const std::lock_guard lock(mutex_);
    return retention_.prune(index_, retention, now, is_held);
  }
  void note_start(const ClockReading& start) {
    const std::lock_guard lock(mutex_);
    retention_.note_start(start);
  }
  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] std::uint64_t measured() const { return index_.measured(); }  // directories, for tests

 private:
  // Incidents whose placed files are remembered. Of others, a file that exists is taken for the one that is named.
  static constexpr std::size_t kMaxPlaced = 256;
  struct Placement {
    std::vector<std::string> names;  // placed now
    UnplacedFiles unplaced;
  };
  // The name of the directory with this id; "" = none yet.
  [[nodiscard]] std::string existing_directory(const Incident& incident);
  using Lock = std::unique_lock<std::mutex>;
  [[nodiscard]] Result<WrittenIncident> create(const Incident& incident);
  [[nodiscard]] Result<WrittenIncident> revise(const Incident& incident, const std::string& name, Lock& lock);
  [[nodiscard]] std::string report_of(const Incident& incident, const ProfileTexts& profiles) const;
  [[nodiscard]] Placement place_files(const Incident& incident, const std::string& directory);
  [[nodiscard]] std::map<std::string, std::string>& placed_of(const std::string& id);

  const std::string root_;
  const Place place_;
  const ReadProfiles read_profiles_;
  const CopyUrl copy_url_;
  std::mutex mutex_;                                                  // of all below, and of the directory's names
  std::map<std::string, std::map<std::string, std::string>> placed_;  // by id: spool file by name
  std::deque<std::string> placed_by_age_;
  IncidentIndex index_;
  IncidentRetention retention_;
};

}  // namespace oomw
