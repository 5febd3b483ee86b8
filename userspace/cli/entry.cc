// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "cli/commands.h"
#include "web/site/web_process.h"

namespace oomw::cli {
namespace {

int dispatch(const CommandLine& line, const Config& config) {
  if (line.command == "run") return run_command(line, config);
  if (line.command == "doctor") return doctor_command(line, config);
  if (line.command == "incidents") return incidents_command(line, config.data_dir);
  if (line.command == "show") return show_command(line, config.data_dir);
  if (line.command == "export") return export_command(line, config.data_dir);
  if (line.command == "fetch") return fetch_command(line, config);
  if (line.command == "capture") return capture_command(line, config);
  if (line.command == "trend") return trend_command(line, config);
  if (line.command == "holders") return holders_command(line, config);
  if (line.command == "goroutines") return goroutines_command(line, config);
  if (line.command == "top") return top_command(line, config.data_dir, config.patterns);
  if (line.command == "diff") return diff_command(line, config.data_dir, config.patterns);
  if (line.command == "render") return render_command(line, config.data_dir, config.patterns);
  if (line.command == "web") return web_command(line, config);
  if (line.command == "replay") return replay_command(line, config);
  return kUsage;
}

}  // namespace

int run_command_line(int argc, char** argv) {
  // Before anything is read: this process must not have a configuration, a log or a thread.
  if (argc > 1 && std::string_view(argv[1]) == "reader") return reader_command(argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "complete") return complete_command({argv + 2, argv + argc});
  if (argc == 2 && std::string_view(argv[1]) == "man") return man_command();
  if (argc > 1 && std::string_view(argv[1]) == "web-process") return run_web_process(argc, argv);
  const auto parsed = parse_command_line(argc, argv);
  if (const int* exit_code = std::get_if<int>(&parsed)) return *exit_code;
  const auto& line = std::get<CommandLine>(parsed);
  Result<Config> config = load_config(line.config_path);
  if (!config.has_value()) {
    (void)report(config.error());
    return kUsage;
  }
  if (line.data_dir) config->data_dir = *line.data_dir;
  return dispatch(line, *config);
}

}  // namespace oomw::cli
