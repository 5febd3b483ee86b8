// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "pprof/profile.h"

namespace oomw::cli {

struct LoadedProfile {
  std::string name;  // as a person would look for it: a path, or incident/file
  pprof::Profile profile;
};

// What a person may name where a profile is wanted: a file, an incident's directory, or an incident
// as `show` takes it (id, directory name or a unique prefix); an incident stands for the profile
// that says most of it.
[[nodiscard]] Result<LoadedProfile> load_profile(const std::string& what, const std::string& data_dir);

// The two ends of one incident: its earliest profile of the process that its best one is of, and
// that best one. kNotFound if there is only one.
struct IncidentEnds {
  LoadedProfile first, best;
};
[[nodiscard]] Result<IncidentEnds> load_ends(const std::string& incident, const std::string& data_dir);

}  // namespace oomw::cli
