// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "pprof/profile.h"

namespace oomw::cli {

struct LoadedProfile {
  std::string name;  // for people: a path, or incident/file
  pprof::Profile profile;
};

// Loads the profile that a command's argument names: a file, an incident's directory, or an incident as
// `show` accepts it (id, directory name or a unique prefix). An incident stands for its most informative
// profile (best_profile_file).
[[nodiscard]] Result<LoadedProfile> load_profile(const std::string& what, const std::string& data_dir);

// The two ends of one incident: its best profile, and its earliest profile of the same process. kNotFound if
// there is only one.
struct IncidentEnds {
  LoadedProfile first, best;
};
[[nodiscard]] Result<IncidentEnds> load_ends(const std::string& incident, const std::string& data_dir);

}  // namespace oomw::cli
