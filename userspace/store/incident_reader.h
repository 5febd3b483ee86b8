// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "incident/incident.h"

namespace oomw {

struct StoredIncident {
  std::string directory;  // its path
  Incident incident;
};

// By the second in the directories' names.
struct IncidentFilter {
  std::optional<WallTime> since, until;
};

// Reads <data-dir>/incidents in any process, whether or not a daemon is running and writing there.
class IncidentReader {
 public:
  explicit IncidentReader(const std::string& data_dir) : root_(data_dir + "/incidents") {}

  // Oldest first; one that cannot be read is skipped and logged. 200 incidents take 40 ms.
  [[nodiscard]] Result<std::vector<StoredIncident>> list(const IncidentFilter& filter = {}) const;
  // By id, directory name, unique prefix of either (kInvalid when ambiguous), or the path of a directory, which may
  // be a copy in another place.
  [[nodiscard]] Result<StoredIncident> get(const std::string& what) const;
  [[nodiscard]] const std::string& root() const { return root_; }

 private:
  [[nodiscard]] Result<std::vector<std::string>> names(const IncidentFilter& filter) const;  // ours, oldest first
  [[nodiscard]] Result<StoredIncident> load(const std::string& name) const;

  std::string root_;
};

// Reads <directory>/incident.json, which must be a plain file.
[[nodiscard]] Result<Incident> read_incident(const std::string& directory);

}  // namespace oomw
