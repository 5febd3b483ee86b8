// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "incident/incident.h"
#include "store/incident_index.h"
#include "store/incident_retention.h"

namespace oomw {

// Writes <data-dir>/incidents. One writer (a worker thread); readers anywhere, also in other processes
// (IncidentReader). A directory is whole (written as .tmp-<id>-<pid>, every file and the directory fsynced,
// then renamed) or absent. An amended incident.json or report.md replaces the old one by rename. An incident
// to drop is renamed first and then removed.
//   - a refused write (full disk: kNoSpace) leaves nothing behind;
//   - only directories named like ours with an incident.json inside are ever removed;
//   - a write or a pruning reads only what it writes or drops. The writer's IncidentIndex knows the rest,
//     including what a person adds or deletes meanwhile.
class IncidentStore {
 public:
  // Places a capture's bytes at a path (Spool::place, or a copy).
  using Place = std::function<Result<>(const IncidentCapture& capture, const std::string& target)>;

  explicit IncidentStore(std::string data_dir);
  // Fills in the captures' file names, writes everything and returns the directory's path. A second call with
  // the same id amends the incident. A capture that cannot be placed becomes a note, not an error.
  [[nodiscard]] Result<std::string> write(Incident incident, const Place& place);
  // Drops incidents beyond the bounds and the temporary leftovers of dead writers: see IncidentRetention.
  [[nodiscard]] Result<Pruned> prune(const Retention& retention, const ClockReading& now) {
    return retention_.prune(index_, retention, now);
  }
  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] std::uint64_t measured() const { return index_.measured(); }  // directories, for tests

 private:
  // The name of the directory with this id; "" = none yet.
  [[nodiscard]] std::string existing_directory(const Incident& incident);
  [[nodiscard]] Result<std::string> create(Incident incident, const Place& place);
  [[nodiscard]] Result<std::string> amend(Incident incident, const std::string& name, const Place& place);

  std::string root_;
  IncidentIndex index_;
  IncidentRetention retention_;
};

}  // namespace oomw
