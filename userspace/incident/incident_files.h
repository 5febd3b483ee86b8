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

// All that the incident names and that waits in the spool. Pure.
[[nodiscard]] std::vector<EvidenceFile> evidence_files_of(const Incident& incident);

}  // namespace oomw
