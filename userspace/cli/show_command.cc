// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/files.h"
#include "cli/commands.h"
#include "cli/markdown_view.h"
#include "store/incident_store.h"

namespace oomw::cli {

int show_command(const CommandLine& line, const Config& config) {
  constexpr std::size_t kMaxBytes = 16u << 20;
  const IncidentStore store(config.data_dir);
  const Result<IncidentSummary> found = store.find(line.incident_id);
  if (!found.has_value()) return report(found.error());
  const std::string directory = store.root() + "/" + found->directory;
  const Result<std::string> text = read_file(directory + (line.json ? "/incident.json" : "/report.md"), kMaxBytes);
  if (!text.has_value()) return report(text.error());
  const TerminalView view = stdout_view();
  const bool is_for_people = !line.json && view.columns > 0;
  fmt::print("{}{}", is_for_people ? for_terminal(*text, view) : *text, text->ends_with('\n') ? "" : "\n");
  if (!line.json) fmt::print("\nFiles: {}\n", directory);
  return kOk;
}

}  // namespace oomw::cli
