// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "incident/incident.h"

namespace oomw {

// A file that belongs beside incident.json, and the spool file that its bytes wait in.
struct EvidenceFile {
  std::string name;  // "capture-01-http.pb.gz", "trend.json"
  std::string spool_file;
  std::vector<std::string> comments;  // facts that a profile must carry even when it is passed on alone
};

// "capture-07-http.pb.gz"
[[nodiscard]] std::string capture_file_name(std::size_t number, std::string_view method);

// Whether an analysis has a file by this name.
[[nodiscard]] bool has_analysis_file(const Incident& incident, std::string_view name);
// Its most informative profile: the best capture's, else of what fills the memory, else of its growth; of its growth
// where the heap was little of the memory; "" = none.
[[nodiscard]] std::string best_profile_file(const Incident& incident);
// The profile of the same process to compare that file of the incident with: an earlier one; "" = none.
[[nodiscard]] std::string earlier_profile_file(const Incident& incident, const std::string& later);

// All that the incident names and that waits in the spool. Pure.
[[nodiscard]] std::vector<EvidenceFile> evidence_files_of(const Incident& incident);

}  // namespace oomw
