// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/files.h"
#include "cli/read/markdown_view.h"
#include "cli/read/read_commands.h"
#include "store/incident_reader.h"

namespace oomw::cli {

int show_command(const CommandLine& line, const std::string& data_dir) {
  constexpr std::size_t kMaxBytes = 16u << 20;
  const Result<StoredIncident> found = IncidentReader(data_dir).get(line.incident_id);
  if (!found.has_value()) return report(found.error());
  const std::string& directory = found->directory;
  const Result<std::string> text = read_file(directory + (line.json ? "/incident.json" : "/report.md"), kMaxBytes);
  if (!text.has_value()) return report(text.error());
  const TerminalView view = stdout_view();
  const bool is_for_people = !line.json && view.columns > 0;
  fmt::print("{}{}", is_for_people ? for_terminal(*text, view) : *text, text->ends_with('\n') ? "" : "\n");
  if (!line.json) fmt::print("\nFiles: {}\n", directory);
  return kOk;
}

}  // namespace oomw::cli
