// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "incident/incident.h"
#include "store/incident_filter.h"

namespace oomw {

struct StoredIncident {
  std::string directory;  // its path
  Incident incident;
};

// Reads <data-dir>/incidents in any process, whether or not a daemon is running and writing there.
class IncidentReader {
 public:
  explicit IncidentReader(const std::string& data_dir) : root_(data_dir + "/incidents") {}

  // In all of them kNotFound where the data directory itself is not there; a daemon makes it when it starts.
  // Newest first. From summary.json where it is whole, else from incident.json; one that cannot be read is skipped and
  // logged. 10,000 take 0.2 s from summaries.
  [[nodiscard]] Result<std::vector<IncidentSummary>> summaries(const IncidentFilter& filter = {}) const;
  // Whole incidents, oldest first: 200 take 40 ms.
  [[nodiscard]] Result<std::vector<StoredIncident>> list(const IncidentFilter& filter = {}) const;
  // By "latest", the path of a directory (which may be a copy in another place), an id, a directory's name, or a unique
  // part of either: kInvalid when several have it, and the error names some of them.
  [[nodiscard]] Result<StoredIncident> get(const std::string& what) const;
  [[nodiscard]] const std::string& root() const { return root_; }

 private:
  [[nodiscard]] Result<std::vector<std::string>> names(const IncidentFilter& filter) const;  // ours, oldest first
  [[nodiscard]] Result<std::string> find(const std::string& what) const;                     // a directory's name
  [[nodiscard]] Result<StoredIncident> load(const std::string& name) const;

  std::string root_;
};

// Reads <directory>/incident.json, which must be a plain file.
[[nodiscard]] Result<Incident> read_incident(const std::string& directory);

// Reads summary.json of the incident `name` below the open directory `incidents`. An error where there is none, or
// where it may be that of an earlier revision: a version that knows no summaries has amended the incident.
[[nodiscard]] Result<IncidentSummary> read_summary(int incidents, const std::string& name);

}  // namespace oomw
