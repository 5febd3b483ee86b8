// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/files.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/worker_pool.h"
#include "cli/commands.h"
#include "cli/read/announced.h"
#include "cli/read/event_line.h"
#include "cli/read/line_budget.h"
#include "daemon/daemon.h"
#include "events/record.h"

namespace oomw::cli {
namespace {

log::Level level_of(const std::string& name) {
  if (name == "debug") return log::Level::kDebug;
  if (name == "warn") return log::Level::kWarn;
  if (name == "error") return log::Level::kError;
  return log::Level::kInfo;
}

// Writes lines to stdout from a thread of its own: a reader that stops reading (a full pipe) must not
// stop the core. Lines beyond kMaxLines waiting are dropped, and shutdown waits at most kPatience for one
// to be read. Does not use stdio: exit() would wait to flush its buffer.
class Console {
 public:
  static constexpr std::size_t kMaxLines = 1'024;
  static constexpr Nanoseconds kPatience = std::chrono::seconds(2);
  Console() = default;
  ~Console() { worker_.relieve(SystemClock().now(), kPatience); }
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;
  // False: the line was dropped.
  bool print(std::string line, log::Level level = log::Level::kInfo) {
    line.insert(0, log::journal_prefix(level, STDOUT_FILENO));
    line += '\n';
    return worker_.post([line = std::move(line)] { (void)write_all(STDOUT_FILENO, line); });
  }

 private:
  WorkerPool worker_{"oomw-console", 1, kMaxLines};
};

bool is_worth_a_line(const Event& event) {
  return std::holds_alternative<OomKill>(event) || std::holds_alternative<WatermarkCrossed>(event) ||
         std::holds_alternative<CaptureFinished>(event) || std::holds_alternative<EventsLost>(event) ||
         std::holds_alternative<CollectorSampled>(event) || std::holds_alternative<HeapAnalysed>(event) ||
         std::holds_alternative<GrowthProfile>(event);
}

// Warnings are what people search a journal for: kills, incidents and lost evidence.
log::Level level_of(const Event& event) {
  const bool matters = std::holds_alternative<OomKill>(event) || std::holds_alternative<EventsLost>(event);
  return matters ? log::Level::kWarn : log::Level::kInfo;
}

// A line for each incident, and for each revision that has news; with --json for every revision.
class LineSink final : public IncidentSink {
 public:
  LineSink(Console& console, bool is_json) : console_(console), is_json_(is_json) {}
  void publish(const Incident& incident, const StoredAt& at) override {
    if (is_json_) {
      console_.print(json_line(incident, at));
      return;
    }
    const Announced::News news = announced_.note(incident, at.is_revision);
    if (news == Announced::News::kNone) return;
    const bool is_amended = news == Announced::News::kChanged;
    console_.print(incident_line(incident, at.directory, is_amended), log::Level::kWarn);
  }

 private:
  // Who, where, why and what to do: a collector of a DaemonSet's log sees no more of the incident than this.
  static std::string json_line(const Incident& incident, const StoredAt& at) {
    nlohmann::json line = {
        {"type", "incident"}, {"id", incident.id}, {"directory", at.directory}, {"amended", at.is_revision}};
    const auto add = [&](const char* key, const std::string& text) {
      if (!text.empty()) line[key] = text;
    };
    add("scope", incident.scope);
    add("namespace", incident.container.pod_namespace);
    add("pod", incident.container.pod_name);
    add("container", incident.container.name);
    add("unit", incident.container.unit);
    if (incident.pod) add("node", incident.pod->node);
    if (!incident.victims.empty()) add("comm", incident.victims.front().comm);
    if (incident.limit_bytes) line["limit_bytes"] = *incident.limit_bytes;
    if (incident.verdict) add("cause", incident.verdict->cause);
    if (incident.answer) {
      add("answer", incident.answer->sentence);
      add("action", incident.answer->action);
      add("again", incident.answer->again);
    }
    return to_json_text(line);
  }
  Console& console_;
  const bool is_json_;
  Announced announced_;
};

// "" = no one cgroup, or none that the model knows.
std::string place_text(std::optional<CgroupId> cgroup, const RunOptions::PlaceOf& place_of) {
  if (!cgroup || !*cgroup) return "";
  const std::string place = place_of(*cgroup);
  return place.empty() ? "cgroup " + std::to_string(cgroup->value) : place;
}

// Prints what was left out before, then the event's own line if its container has one left.
void print_event(const Event& event, const RunOptions::PlaceOf& place_of, LineBudget& lines, Repeats& repeats,
                 Console& console, const Clock& clock) {
  const MonotonicTime now = clock.now();
  for (const LineBudget::LeftOut& left_out : lines.left_out(now)) {
    console.print(left_out_line(place_text(left_out.cgroup, place_of), left_out.lines, clock.wall_of(now)),
                  log::Level::kWarn);
  }
  if (!is_worth_a_line(event) || repeats.is_repeat(event)) return;
  const std::optional<CgroupId> cgroup = cgroup_of_line(event);
  if (cgroup && !lines.take(*cgroup, std::holds_alternative<OomKill>(event), now)) return;
  if (auto text = event_line(event, place_text(cgroup, place_of), clock.wall_of(time_of(event)))) {
    console.print(std::move(*text), level_of(event));
  }
}

RunOptions make_options(const CommandLine& line, Console& console, LineBudget& lines, const Clock& clock) {
  RunOptions options;
  options.record_path = line.record_path;
  options.standby = line.standby;
  // The stream of JSON is for programs, which get every event.
  options.on_event = [json = line.json, &console, &lines, &clock, repeats = Repeats()](
                         const Event& event, const RunOptions::PlaceOf& place_of) mutable {
    if (!json) return print_event(event, place_of, lines, repeats, console, clock);
    if (is_worth_a_line(event)) console.print(to_json_line(event));
  };
  options.print_line = [&console](std::string text) { return console.print(std::move(text)); };
  options.lines_left_out = [&lines] { return std::pair(lines.total_left_out(), lines.last_left_out()); };
  options.sinks.push_back(std::make_unique<LineSink>(console, line.json));
  return options;
}

}  // namespace

int run_command(const CommandLine& line, Config config) {
  if (line.metrics_listen) config.metrics_listen = *line.metrics_listen;
  if (line.web_listen) config.web_listen = *line.web_listen;
  const SystemClock clock;
  Console console;
  LineBudget lines;
  const std::string watching =
      watching_line(config.data_dir, place_options(line), config.metrics_listen, clock.wall_now());
  Result<std::unique_ptr<Daemon>> daemon = [&] {
    RunOptions options = make_options(line, console, lines, clock);
    log::start(level_of(config.log_level));
    return Daemon::make(std::move(config), std::move(options));
  }();
  Result<> result;
  if (daemon.has_value()) {
    if (!line.json) console.print(watching);
    result = (*daemon)->run();
    daemon->reset();
  }
  log::stop();
  if (!daemon.has_value()) return report(daemon.error());
  return result.has_value() ? kOk : report(result.error());
}

}  // namespace oomw::cli
