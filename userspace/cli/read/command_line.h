// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace oomw::cli {

// Exit codes of every command.
inline constexpr int kOk = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;  // bad usage or config

struct CommandLine {
  std::string command;  // "run", "doctor", ...
  // for all
  std::string config_path;  // "" = default
  std::optional<std::string> data_dir;
  bool json = false;
  // run
  std::optional<std::string> metrics_listen, web_listen;
  std::string record_path;
  bool standby = false;
  // incidents: with pod and container, of which a part is enough
  std::string pod_namespace, cause, since;
  std::size_t limit = 0;                // rows; 0 = all
  bool all = false;                     // repeats have rows of their own
  std::string output_format = "table";  // table | wide | json
  bool local_time = false;
  // show
  std::string incident_id;
  bool full = false, markdown = false;
  // help
  std::string topic;
  // fetch: with incident_id and output_path; "" = as configured
  std::string bucket, endpoint, region, prefix, cluster;
  // capture
  std::optional<std::int32_t> pid;
  std::string container, pod;
  std::string output_path;
  // trend: with pid, container, pod and output_path
  double interval_seconds = 10;
  std::size_t count = 30;
  // top, diff, render, replay
  std::string input_path;
  std::string sample_type;
  std::size_t rows = 20;
  std::string group_by = "function";  // function | module | operation; of diff also stack | package | component
  // diff
  std::string other_path;  // "" = the two ends of the incident that input_path names
  // render
  std::string diff_base_path;
  unsigned width_px = 1200;
  bool png = false;
};

// The parsed command, or the exit code after usage or an error was printed.
[[nodiscard]] std::variant<CommandLine, int> parse_command_line(int argc, char** argv);

// What may stand in the place of the last of `words`, which follow the program's name: commands, else options of the
// command; those that begin with it.
[[nodiscard]] std::vector<std::string> completions_of(const std::vector<std::string>& words);
// oomwitness(1), as roff.
[[nodiscard]] std::string man_page();

}  // namespace oomw::cli
