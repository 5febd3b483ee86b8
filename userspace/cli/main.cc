// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include "base/patience.h"
#include "cli/commands.h"
#include "web/site/web_process.h"

namespace {

using namespace oomw;

int dispatch(const cli::CommandLine& line, const Config& config) {
  if (line.command == "run") return cli::run_command(line, config);
  if (line.command == "doctor") return cli::doctor_command(line, config);
  if (line.command == "incidents") return cli::incidents_command(line, config.data_dir);
  if (line.command == "show") return cli::show_command(line, config.data_dir);
  if (line.command == "export") return cli::export_command(line, config.data_dir);
  if (line.command == "fetch") return cli::fetch_command(line, config);
  if (line.command == "capture") return cli::capture_command(line, config);
  if (line.command == "trend") return cli::trend_command(line, config);
  if (line.command == "holders") return cli::holders_command(line, config);
  if (line.command == "goroutines") return cli::goroutines_command(line, config);
  if (line.command == "top") return cli::top_command(line, config.data_dir, config.patterns);
  if (line.command == "diff") return cli::diff_command(line, config.data_dir, config.patterns);
  if (line.command == "render") return cli::render_command(line, config.data_dir, config.patterns);
  if (line.command == "web") return cli::web_command(line, config);
  if (line.command == "replay") return cli::replay_command(line, config);
  return cli::kUsage;
}

}  // namespace

int main(int argc, char** argv) {
  // Before anything is read: this process must not have a configuration, a log or a thread.
  if (argc > 1 && std::string_view(argv[1]) == "reader") return cli::reader_command(argc, argv);
  if (argc > 1 && std::string_view(argv[1]) == "complete") return cli::complete_command({argv + 2, argv + argc});
  if (argc == 2 && std::string_view(argv[1]) == "man") return cli::man_command();
  if (argc > 1 && std::string_view(argv[1]) == "web-process") return run_web_process(argc, argv);
  const auto parsed = cli::parse_command_line(argc, argv);
  if (const int* exit_code = std::get_if<int>(&parsed)) return *exit_code;
  const auto& line = std::get<cli::CommandLine>(parsed);
  Result<Config> config = load_config(line.config_path);
  if (!config.has_value()) {
    (void)cli::report(config.error());
    return cli::kUsage;
  }
  patience_factor = config->patience;
  if (line.data_dir) config->data_dir = *line.data_dir;
  return dispatch(line, *config);
}
