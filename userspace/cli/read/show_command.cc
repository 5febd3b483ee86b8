// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/memory_limit.h"
#include "base/text.h"
#include "cli/read/foreign_file.h"
#include "cli/read/markdown_view.h"
#include "cli/read/read_commands.h"
#include "store/incident_reader.h"

namespace oomw::cli {

int show_command(const CommandLine& line, const std::string& data_dir) {
  constexpr std::size_t kMaxBytes = 16u << 20;
  const MemoryLimit limit(kMaxReadMemory, "the incident");
  const Result<StoredIncident> found = IncidentReader(data_dir).get(line.incident_id);
  if (!found.has_value()) return report(found.error());
  const std::string& directory = found->directory;
  const Result<std::string> text =
      read_plain_file(directory + (line.json ? "/incident.json" : "/report.md"), kMaxBytes);
  if (!text.has_value()) return report(text.error());
  const TerminalView view = stdout_view();
  if (view.columns > 0) {
    fmt::print("{}", line.json ? for_any_terminal(*text) : for_terminal(*text, view));
  } else {
    fmt::print("{}", *text);
  }
  if (!text->ends_with('\n') && (view.columns == 0 || !line.json)) fmt::print("\n");
  if (!line.json) fmt::print("\nFiles: {}\n", printable(directory, directory.size()));
  return kOk;
}

}  // namespace oomw::cli
