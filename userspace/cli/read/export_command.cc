// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/read/output_file.h"
#include "cli/read/read_commands.h"
#include "store/incident_archive.h"
#include "store/incident_reader.h"

namespace oomw::cli {

int export_command(const CommandLine& line, const std::string& data_dir) {
  const Result<StoredIncident> found = IncidentReader(data_dir).get(line.incident_id);
  if (!found.has_value()) return report(found.error());
  const std::string& id = found->incident.id;
  const std::string path = line.output_path.empty() ? to_file_component(id) + ".tar" : line.output_path;
  if (is_stdout(path) && ::isatty(STDOUT_FILENO) == 1) {
    return report({ErrorCode::kInvalid, "an archive is not for a terminal: use -o FILE, or a pipe to tar -xf -"});
  }
  const Result<> written = write_output_in_pieces(
      path, [&](const auto& sink) { return write_incident_archive(found->directory, id, sink); });
  if (!written.has_value()) return report(written.error());
  if (!is_stdout(path)) fmt::print("{}\n", printable(path, path.size()));
  return kOk;
}

}  // namespace oomw::cli
