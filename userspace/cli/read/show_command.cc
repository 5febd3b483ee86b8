// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/memory_limit.h"
#include "base/text.h"
#include "cli/read/brief_view.h"
#include "cli/read/foreign_file.h"
#include "cli/read/markdown_view.h"
#include "cli/read/pager.h"
#include "cli/read/read_commands.h"
#include "store/incident_reader.h"

namespace oomw::cli {

int show_command(const CommandLine& line, const std::string& data_dir) {
  constexpr std::size_t kMaxBytes = 16u << 20;
  const MemoryLimit limit(kMaxReadMemory, "the incident");
  const Result<StoredIncident> found = IncidentReader(data_dir).get(line.incident_id);
  if (!found.has_value()) return report(found.error());
  const std::string& directory = found->directory;
  const TerminalView view = stdout_view();
  if (view.columns > 0 && !line.full && !line.json) {
    fmt::print("{}", brief_text(*found, SystemClock().wall_now(), view));
    return kOk;
  }
  const Result<std::string> text =
      read_plain_file(directory + (line.json ? "/incident.json" : "/report.md"), kMaxBytes);
  if (!text.has_value()) return report(text.error());
  std::string shown = *text;
  if (view.columns > 0) shown = line.json ? for_any_terminal(*text) : for_terminal(*text, view);
  if (!text->ends_with('\n') && (view.columns == 0 || !line.json)) shown += "\n";
  if (!line.json) shown += fmt::format("\nFiles: {}\n", printable(directory, directory.size()));
  print_paged(shown);
  return kOk;
}

}  // namespace oomw::cli
