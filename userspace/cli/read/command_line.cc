// SPDX-License-Identifier: Apache-2.0
// The one file that includes CLI11 (4.8 s of compile time).
#include "cli/read/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "base/suggestion.h"
#include "base/text.h"
#include "base/version.h"

namespace oomw::cli {
namespace {

void add_common(CLI::App& app, CommandLine& line) {
  app.add_option("--config", line.config_path, "Configuration file (default /etc/oomwitness/oomwitness.toml)");
  app.add_option("--data-dir", line.data_dir, "Where incidents are kept (default /var/lib/oomwitness)");
}

CLI::App* add_command(CLI::App& app, CommandLine& line, const std::string& name, const std::string& description) {
  CLI::App* command = app.add_subcommand(name, description);
  add_common(*command, line);
  command->callback([&line, name] { line.command = name; });
  return command;
}

void add_run(CLI::App& app, CommandLine& line) {
  CLI::App* run = add_command(app, line, "run", "Trace this node until interrupted");
  run->add_flag("--json", line.json, "One JSON object per line");
  run->add_option("--metrics-listen", line.metrics_listen,
                  "ADDRESS:PORT of /metrics and health (default 127.0.0.1:9435)");
  run->add_option("--web-listen", line.web_listen,
                  "ADDRESS:PORT of the pages, this machine only (default 127.0.0.1:9436); off = none");
  run->add_flag("--standby", line.standby,
                "Where another run has the data directory: wait, ready to take over when it ends, instead of failing");
  run->add_option("--record", line.record_path, "Also write every event to this file, for replay");
}

// No sign, no exponent, no "nan" or "inf".
std::string is_decimal(const std::string& text) {
  return text.find_first_not_of("0123456789.") == std::string::npos ? "" : text + " is no decimal number";
}

// CLI::PositiveNumber would print its range, which has 300 digits.
std::string is_pid(const std::string& text) {
  constexpr std::uint64_t kMaxPid = 4'194'304;  // the kernel's PID_MAX_LIMIT
  const auto pid = parse_u64(text);
  return pid && *pid > 0 && *pid <= kMaxPid ? "" : "'" + printable(text, 64) + "' is not a process id";
}

constexpr const char* kIncidentNames =
    "\"latest\" (also if left out), an id or directory name, a unique part of one, or a directory";
constexpr const char* kProfile =
    "A profile (.pb.gz), or an incident (left out: the newest): its best heap profile, else what filled it, else its "
    "growth";
constexpr const char* kSampleTypes =
    "inuse_space (default), alloc_space, inuse_objects, alloc_objects; of what fills a process: contents (default), "
    "objects, held";

void add_diff(CLI::App& app, CommandLine& line) {
  CLI::App* diff = add_command(app, line, "diff", "What grew from one heap profile to another");
  diff->add_option("before", line.input_path, kProfile);
  diff->add_option("after", line.other_path,
                   "The later one; left out, the first profile of the incident is compared with its best");
  diff->add_option("--by", line.group_by,
                   "function (default), stack, package, module (mapped file), component (of a Collector) or operation "
                   "(endpoint, job ...)")
      ->check(CLI::IsMember({"function", "stack", "package", "module", "component", "operation"}));
  diff->add_option("--type,--sample-type", line.sample_type, kSampleTypes);
  diff->add_option("--rows", line.rows, "How many rows")->check(CLI::Range(1, 10000));
  diff->add_flag("--json", line.json, "One JSON object; values are in the sample type's unit");
}

void add_by(CLI::App& command, CommandLine& line) {
  constexpr const char* kMeaning =
      "function (default), module (mapped file), or operation: the endpoint, method, job or component it is for";
  command.add_option("--by", line.group_by, kMeaning)->check(CLI::IsMember({"function", "module", "operation"}));
}

void add_render(CLI::App& app, CommandLine& line) {
  CLI::App* render = add_command(app, line, "render", "A heap profile, or a diff of two, as an SVG flame graph");
  render->add_option("profile", line.input_path, kProfile);
  render->add_option("-o,--output", line.output_path, "File to write, - for stdout (default PROFILE.svg here)");
  render->add_option("--diff-base", line.diff_base_path, "Draw what grew since this profile or incident");
  render->add_option("--type,--sample-type", line.sample_type, kSampleTypes);
  add_by(*render, line);
  render->add_option("--width", line.width_px, "Pixels (default 1200)")->check(CLI::Range(400, 10000));
  render->add_flag("--png", line.png, "Also a picture beside it; needs rsvg-convert");
}

void add_incidents(CLI::App& app, CommandLine& line) {
  CLI::App* incidents = add_command(app, line, "incidents", "List the OOM kills on disk, newest first");
  incidents->add_option("-n,--namespace", line.pod_namespace, "Only those of this namespace");
  incidents->add_option("--pod", line.pod, "Only pods with this in their names");
  incidents->add_option("--container", line.container, "Only containers (or units) with this in their names");
  incidents->add_option("--cause", line.cause, "Only this cause: leak, spike, undersized, ... or unknown");
  incidents->add_option("--since", line.since, "Only newer ones: 90s, 30m, 2h, 7d, or 2026-11-21T03:04:05Z");
  incidents->add_option("--limit", line.limit, "How many rows")->check(CLI::Range(1, 10000));
  incidents->add_flag("--all", line.all, "A row for each kill, repeats of one container and cause too");
  incidents->add_option("-o,--output", line.output_format, "table (default), wide, or json: one object per line")
      ->check(CLI::IsMember({"table", "wide", "json"}));
  incidents->add_flag("--local-time", line.local_time, "Times (-o wide) in the machine's time zone, not in UTC");
  incidents->add_flag("--json", line.json, "The same as -o json");
}

void add_fetch(CLI::App& app, CommandLine& line) {
  CLI::App* fetch =
      add_command(app, line, "fetch", "Incidents in object storage: lists them, or copies one to this disk");
  fetch->add_option("id", line.incident_id, "Incident id; left out, they are listed");
  fetch->add_option("-o,--output", line.output_path, "Data directory to copy to (default oomwitness-fetched here)");
  fetch->add_option("--bucket", line.bucket, "Instead of [sinks.s3] bucket; keys come from AWS_* or the configuration");
  fetch->add_option("--endpoint", line.endpoint, "https://HOST[:PORT], where it is not AWS");
  fetch->add_option("--region", line.region, "Of the bucket");
  fetch->add_option("--prefix", line.prefix, "Of its keys");
  fetch->add_option("--cluster", line.cluster, "Whose incidents ([sinks] cluster_name, else \"default\")");
  fetch->add_flag("--json", line.json, "One JSON object per line");
}

void add_readers(CLI::App& app, CommandLine& line) {
  add_command(app, line, "doctor", "What works on this node, and why not the rest")->add_flag("--json", line.json);
  add_incidents(app, line);
  CLI::App* show = add_command(app, line, "show", "Why one container was killed, whose code it was, what to do");
  show->add_option("id", line.incident_id, kIncidentNames);
  CLI::Option* full = show->add_flag("--full", line.full, "The whole report as plain text; otherwise one screen of it");
  CLI::Option* markdown = show->add_flag("--markdown", line.markdown, "report.md as stored")->excludes(full);
  show->add_flag("--json", line.json, "incident.json as stored")->excludes(full)->excludes(markdown);
  CLI::App* exported = add_command(app, line, "export", "One incident's files as a tar");
  exported->add_option("id", line.incident_id, kIncidentNames);
  exported->add_option("-o,--output", line.output_path, "File to write, - for stdout (default ID.tar here)");
  add_fetch(app, line);
  CLI::App* web =
      add_command(app, line, "web", "The incidents of a directory as pages for a browser, until interrupted");
  web->add_option("--listen", line.web_listen, "ADDRESS:PORT, this machine only (default 127.0.0.1:9436, else any)");
  CLI::App* top = add_command(app, line, "top", "Functions of a heap profile by bytes, or what fills a process");
  top->add_option("profile", line.input_path, kProfile);
  top->add_option("--sample-type,--type", line.sample_type, kSampleTypes);
  add_by(*top, line);
  top->add_option("--rows", line.rows, "How many rows")->check(CLI::Range(1, 10000));
  add_diff(app, line);
  add_render(app, line);
  CLI::App* replay = add_command(app, line, "replay", "Run a recording through the pipeline; prints its incidents");
  replay->add_option("recording", line.input_path, "File written by run --record")->required();
  replay->add_flag("--json", line.json, "Whole incidents, one JSON object per line");
}

// Exactly one of them names the process.
void add_target(CLI::App& command, CommandLine& line) {
  CLI::Option_group* target = command.add_option_group("target");
  target->add_option("--pid", line.pid, "Process id")->check(is_pid);
  target->add_option("--container", line.container,
                     "Container: its name, its unit, its cgroup's directory, or 6 characters of its id");
  target->add_option("--pod", line.pod, "NAMESPACE/NAME");
  target->require_option(1);
}

void add_capture(CLI::App& app, CommandLine& line) {
  CLI::App* capture = add_command(
      app, line, "capture", "Take a heap profile now, or what fills a program without one; needs no running daemon");
  add_target(*capture, line);
  capture->add_option("-o,--output", line.output_path,
                      "File to write, - for stdout (default oomwitness-PID-TIME.pb.gz here)");
}

void add_trend(CLI::App& app, CommandLine& line) {
  CLI::App* trend =
      add_command(app, line, "trend", "Read a process again and again and tell what in it grows; needs no daemon");
  add_target(*trend, line);
  trend->add_option("--interval", line.interval_seconds, "Seconds between readings (default 10)")
      ->check(is_decimal)  // Range() lets "nan" pass
      ->check(CLI::Range(0.1, 86400.0));
  trend->add_option("--count", line.count, "Readings (default 30); it ends earlier when interrupted")
      ->check(CLI::Range(1, 100000));
  trend->add_option("-o,--output", line.output_path, "Directory for a profile of each reading; Go only");
}

void add_heap_readers(CLI::App& app, CommandLine& line) {
  CLI::App* holders =
      add_command(app, line, "holders", "Who keeps a Go heap: the roots that hold most of it; needs no running daemon");
  holders->add_flag("--json", line.json, "One JSON object; shares are 0 to 1");
  CLI::App* goroutines = add_command(app, line, "goroutines", "What a Go program's goroutines do, counted by place");
  goroutines->add_option("--rows", line.rows, "How many rows")->check(CLI::Range(1, 10000));
  goroutines->add_flag("--json", line.json, "One JSON object");
  for (CLI::App* command : {holders, goroutines}) add_target(*command, line);
}

std::vector<std::string> names_of_commands(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> names_of_options(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// CLI11 itself reports only that a command is required.
bool is_unknown_command(const CLI::App& app, const std::string& word) {
  const auto names = names_of_commands(app);
  return !word.starts_with('-') && std::find(names.begin(), names.end(), word) == names.end();
}

int report_unknown_command(const CLI::App& app, const std::string& word) {
  const auto names = names_of_commands(app);
  std::fprintf(stderr, "oomwitness: no command '%s'%s\nThe commands are:", printable(word, 64).c_str(),
               did_you_mean(word, names).c_str());
  for (const std::string& name : names) std::fprintf(stderr, " %s", name.c_str());
  std::fprintf(stderr, "\nRun with --help for more information.\n");
  return kUsage;
}

// The first word that is neither an option nor an option's value; "" = none.
std::string first_word(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!word.starts_with('-')) return word;
    if (word == "--data-dir" || word == "--config") ++i;
  }
  return "";
}

int print_help(CLI::App& app, const std::string& topic) {
  if (topic.empty()) {
    app.clear();  // of "help" itself, whose options it would print
    std::printf("%s", app.help().c_str());
    return kOk;
  }
  if (is_unknown_command(app, topic)) return report_unknown_command(app, topic);
  std::printf("%s", app.get_subcommand(topic)->help("oomwitness").c_str());
  return kOk;
}

int report_unexpected(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  const CLI::App& command = commands.empty() ? app : *commands.front();
  const std::vector<std::string> left = app.remaining(true);
  const std::string word = left.empty() ? "" : left.front();
  const std::string name = word.substr(0, word.find('='));
  std::fprintf(stderr, "oomwitness %s: unexpected '%s'%s\nRun with --help for more information.\n",
               command.get_name().c_str(), printable(word, 64).c_str(),
               did_you_mean(name, names_of_options(command)).c_str());
  return kUsage;
}

constexpr const char* kDescription = "oomwitness: the evidence of an OOM kill, on disk before you look for it";

void add_all(CLI::App& app, CommandLine& line) {
  app.set_version_flag("--version", std::string(kVersion));
  app.require_subcommand(1);
  add_common(app, line);
  add_run(app, line);
  add_readers(app, line);
  add_capture(app, line);
  add_trend(app, line);
  add_heap_readers(app, line);
  CLI::App* help = app.add_subcommand("help", "What a command does, with its options");
  help->add_option("command", line.topic, "Its name");
  help->callback([&line] { line.command = "help"; });
}

std::vector<std::string> that_start(std::vector<std::string> names, const std::string& start) {
  std::erase_if(names, [&](const std::string& name) { return !name.starts_with(start); });
  return names;
}

// A hyphen is a minus in roff, and a line may not begin with a dot.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '-' || c == '\\') out += '\\';
    out += c;
  }
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string roff_options(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_lnames() == std::vector<std::string>{"help"}) continue;
    text += ".TP\n.B " + roff(option->get_name(!option->get_positional(), true)) + "\n" +
            roff(option->get_description()) + "\n";
  }
  return text;
}

// What is advised and printed holds in any directory.
void make_absolute(CommandLine& line) {
  const auto absolute = [](const std::string& path) {
    std::error_code error;
    const std::filesystem::path full = std::filesystem::absolute(path, error).lexically_normal();
    return error ? path : full.string();
  };
  if (line.data_dir && !line.data_dir->empty()) line.data_dir = absolute(*line.data_dir);
  if (!line.config_path.empty()) line.config_path = absolute(line.config_path);
}

}  // namespace

std::vector<std::string> completions_of(const std::vector<std::string>& words) {
  CommandLine line;
  CLI::App app{kDescription, "oomwitness"};
  add_all(app, line);
  const std::string last = words.empty() ? "" : words.back();
  const auto commands = names_of_commands(app);
  const auto given = std::find_first_of(words.begin(), words.empty() ? words.end() : words.end() - 1, commands.begin(),
                                        commands.end());
  if (words.size() > 1 && given != words.end() - 1) {
    if (*given == "help") return that_start(commands, last);
    return last.starts_with('-') ? that_start(names_of_options(*app.get_subcommand(*given)), last)
                                 : std::vector<std::string>{};
  }
  return that_start(last.starts_with('-') ? names_of_options(app) : commands, last);
}

std::string man_page() {
  CommandLine line;
  CLI::App app{kDescription, "oomwitness"};
  add_all(app, line);
  std::string text = std::string(".TH OOMWITNESS 1 \"\" \"oomwitness ") + std::string(kVersion) +
                     "\"\n.SH NAME\noomwitness \\- the evidence of an OOM kill, on disk before you look for it\n"
                     ".SH SYNOPSIS\n.B oomwitness\n[OPTIONS] COMMAND [OPTIONS]\n.SH OPTIONS\n" +
                     roff_options(app);
  text += ".SH COMMANDS\n";
  for (const CLI::App* command : app.get_subcommands({})) {
    text +=
        ".SS " + roff(command->get_name()) + "\n" + roff(command->get_description()) + ".\n" + roff_options(*command);
  }
  return text +
         ".SH FILES\n/etc/oomwitness/oomwitness.toml, /var/lib/oomwitness\n.SH EXIT STATUS\n"
         "0: done. 1: it failed. 2: bad usage or configuration.\n";
}

std::variant<CommandLine, int> parse_command_line(int argc, char** argv) {
  CommandLine line;
  CLI::App app{kDescription, "oomwitness"};
  add_all(app, line);
  if (argc < 2) {
    std::fprintf(stderr, "%s", app.help().c_str());
    return kUsage;
  }
  const std::string word = first_word(argc, argv);
  if (!word.empty() && is_unknown_command(app, word)) return report_unknown_command(app, word);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);
  } catch (const CLI::ExtrasError&) {
    return report_unexpected(app);
  } catch (const CLI::ParseError& e) {
    (void)app.exit(e);
    return kUsage;
  }
  if (line.command == "help") return print_help(app, line.topic);
  make_absolute(line);
  const auto is_any_of = [&line](auto... commands) { return ((line.command == commands) || ...); };
  if (is_any_of("show", "export") && line.incident_id.empty()) line.incident_id = "latest";
  if (is_any_of("top", "diff", "render") && line.input_path.empty()) line.input_path = "latest";
  return line;
}

}  // namespace oomw::cli
