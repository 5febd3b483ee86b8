// SPDX-License-Identifier: Apache-2.0
#include "cli/read/profile_source.h"

#include <filesystem>

#include "base/text.h"
#include "cli/read/foreign_file.h"
#include "incident/incident_files.h"
#include "pprof/codec.h"
#include "store/incident_reader.h"
#include "verdict/shell_word.h"

namespace oomw::cli {
namespace {

Result<LoadedProfile> load_file(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string bytes, read_plain_file(path, kMaxProfileBytes));
  Result<pprof::Profile> profile = pprof::read(bytes);
  if (!profile) return tl::make_unexpected(std::move(profile).error().with_context(printable(path)));
  return LoadedProfile{path, std::move(*profile)};
}

Result<std::string> best_of(const StoredIncident& found) {
  std::string best = best_profile_file(found.incident);
  if (!best.empty()) return best;
  return fail(ErrorCode::kNotFound, "incident " + printable(found.incident.id, 64) + " has no profile");
}

}  // namespace

Result<LoadedProfile> load_profile(const std::string& what, const std::string& data_dir) {
  std::error_code ignored;
  const auto kind = std::filesystem::status(what, ignored).type();
  const bool is_file = kind != std::filesystem::file_type::not_found && kind != std::filesystem::file_type::directory;
  // An argument in the form of a path is one: "no such file" is a better message than "no such incident".
  if (is_file || (what.find(".pb") != std::string::npos)) return load_file(what);
  ASSIGN_OR_RETURN(const StoredIncident found, IncidentReader(data_dir).get(what));
  ASSIGN_OR_RETURN(const std::string best, best_of(found));
  return load_file(found.directory + "/" + best);
}

Result<IncidentEnds> load_ends(const std::string& incident, const std::string& data_dir) {
  ASSIGN_OR_RETURN(const StoredIncident found, IncidentReader(data_dir).get(incident));
  ASSIGN_OR_RETURN(const std::string best, best_of(found));
  const std::string first = earlier_profile_file(found.incident, best);
  if (first.empty()) {
    const bool has_growth = found.incident.growth && !found.incident.growth->file.empty();
    return fail(
        ErrorCode::kNotFound,
        "incident " + printable(found.incident.id, 64) + " has one profile only: name another to compare with" +
            (has_growth ? "; what it grew by: oomwitness top " + shell_word(found.directory + "/" + kGrowthFile) : ""));
  }
  ASSIGN_OR_RETURN(LoadedProfile before, load_file(found.directory + "/" + first));
  ASSIGN_OR_RETURN(LoadedProfile after, load_file(found.directory + "/" + best));
  return IncidentEnds{std::move(before), std::move(after)};
}

}  // namespace oomw::cli
