// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/memory_limit.h"
#include "base/text.h"
#include "cli/read/foreign_file.h"
#include "cli/read/read_commands.h"
#include "cli/read/terminal.h"
#include "report/brief_view.h"
#include "store/incident_reader.h"
#include "verdict/shell_word.h"

namespace oomw::cli {

namespace {

// For a further command: the end of its id, which is random, where that is looked for in the same data directory.
std::string name_of(const StoredIncident& stored, const IncidentReader& reader, const CommandLine& line) {
  if (!stored.directory.starts_with(reader.root() + "/")) return shell_word(stored.directory);
  const std::string id = to_file_component(stored.incident.id);
  return id.substr(id.size() - std::min<std::size_t>(id.size(), 8)) + place_options(line);
}

}  // namespace

int show_command(const CommandLine& line, const std::string& data_dir) {
  constexpr std::size_t kMaxBytes = 16u << 20;
  const MemoryLimit limit(kMaxReadMemory, "the incident");
  const IncidentReader reader(data_dir);
  const Result<StoredIncident> found = reader.get(line.incident_id);
  if (!found.has_value()) return report(found.error());
  const std::string& directory = found->directory;
  const TerminalView terminal = stdout_view();
  const TerminalView view = terminal.columns > 0 ? terminal : TerminalView{};
  if (!line.full && !line.json && !line.markdown) {
    const std::string all = "oomwitness show " + name_of(*found, reader, line) + " --full";
    fmt::print("{}",
               brief_text(found->incident, where_the_rest_is(all, directory, view), SystemClock().wall_now(), view));
    return kOk;
  }
  const Result<std::string> text =
      read_plain_file(directory + (line.json ? "/incident.json" : "/report.md"), kMaxBytes);
  if (!text.has_value()) return report(text.error());
  std::string shown = *text;
  if (line.full) {
    shown = for_terminal(*text, view) + fmt::format("\nFiles: {}\n", printable(directory, directory.size()));
  } else if (terminal.columns > 0) {
    shown = for_any_terminal(*text);
  }
  print_paged(shown.ends_with('\n') ? shown : shown + "\n");
  return kOk;
}

}  // namespace oomw::cli
