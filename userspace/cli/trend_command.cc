// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>

#include "base/files.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/read/output_file.h"
#include "cli/read/progress.h"
#include "daemon/trend_once.h"

namespace oomw::cli {
namespace {

// Sleeps for the interval. An interrupt ends the command as it ends `run`: with the results so far.
class Pause {
 public:
  explicit Pause(double seconds) {
    interval_.tv_sec = static_cast<time_t>(seconds);
    interval_.tv_nsec = static_cast<long>((seconds - std::floor(seconds)) * 1e9);
    sigemptyset(&ends_);
    sigaddset(&ends_, SIGINT);
    sigaddset(&ends_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &ends_, nullptr);
  }
  [[nodiscard]] bool wait() const { return ::sigtimedwait(&ends_, nullptr, &interval_) < 0; }

 private:
  timespec interval_{};
  sigset_t ends_{};
};

// Prints each reading, and writes its profile if there is one.
class Printer {
 public:
  Printer(std::string directory, std::size_t count, double interval_seconds)
      : directory_(std::move(directory)), count_(count), interval_seconds_(interval_seconds) {}

  void on_reading(const TrendReading& reading, const std::string& profile) {
    progress_.clear();
    if (!first_) {
      first_ = reading.time;
      fmt::print("{:>8}  {:>6}  {:>10}  {:>10}  {:>9}\n", "seconds", "gc", "live", "held", "sites");
    }
    fmt::print("{:8.1f}  {:>6}  {:>10}  {:>10}  {:9}{}\n", to_seconds(reading.time - *first_),
               reading.gc_cycle ? std::to_string(*reading.gc_cycle) : "-", human_bytes(reading.live_bytes),
               human_bytes(reading.held_bytes), reading.buckets.size(), reading.is_complete ? "" : "  partial");
    std::fflush(stdout);
    if (!profile.empty()) write(profile);
    ++readings_;
    const double seconds_left = static_cast<double>(count_ - std::min(readings_, count_)) * interval_seconds_;
    if (readings_ < count_) progress_.show(progress_text(readings_, count_, seconds_left) + "; Ctrl-C ends it earlier");
  }
  void end() { progress_.clear(); }
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

 private:
  void write(const std::string& profile) {
    const std::string path = fmt::format("{}/trend-{:02}.pb.gz", directory_, ++written_);
    if (Result<> done = write_file_atomic(path, profile); !done.has_value()) error_ = done.error();
  }

  const std::string directory_;
  const std::size_t count_;
  const double interval_seconds_;
  Progress progress_;
  std::size_t readings_ = 0;
  std::optional<MonotonicTime> first_;
  int written_ = 0;
  std::optional<Error> error_;
};

void print_site(const NamedSite& site) {
  const SiteTrend& t = site.trend;
  fmt::print("\n  {} -> {}, {}/s (between {} and {}); more than before in {:.0f} % of the readings\n",
             human_signed_bytes(t.first_bytes), human_signed_bytes(t.last_bytes), human_signed_bytes(t.slope),
             human_signed_bytes(t.slope_low), human_signed_bytes(t.slope_high), t.growth_share * 100);
  for (const std::string& frame : site.frames) fmt::print("      {}\n", frame);
}

// From the first reading to the last. No more is known of a heap with dead objects in it.
void print_grown(const TrendFindings& findings) {
  fmt::print("\nwhat grew most from the first reading to the last{}:\n",
             findings.grown.empty() ? ": nothing that was listed" : "");
  for (const NamedSite& site : findings.grown) {
    fmt::print("  {:>10} -> {:>10}  {}\n", human_bytes(static_cast<std::uint64_t>(site.trend.held_first_bytes)),
               human_bytes(static_cast<std::uint64_t>(site.trend.held_last_bytes)), fmt::join(site.frames, ", "));
  }
}

void print_unjudged(const TrendFindings& findings) {
  print_grown(findings);
  if (findings.of == RuntimeKind::kGo) {
    fmt::print(
        "This program has no heap profile: the amounts are estimated from a sample of its heap, by what keeps it. "
        "oomwitness holders --pid {} shows the chains.\n",
        findings.process.pid);
    return;
  }
  fmt::print(
      "Dead objects count until a collection frees them, so these figures cannot show a leak. What still grows over "
      "several minutes (--interval 30 --count 20) is more likely to be kept.\n");
}

void print_findings(const TrendFindings& findings) {
  const LeakReport& report = findings.report;
  const bool is_go = findings.of == RuntimeKind::kGo;
  if (!findings.is_judged) return print_unjudged(findings);
  const std::string_view sites = is_go ? "call sites" : "names";
  fmt::print("\n{} readings {} in {:.0f} s; {} {}, {} of them worth a test\n", report.readings,
             is_go ? "with a collection between them" : "with a change between them", report.span_seconds,
             report.sites_seen, sites, report.sites_tested);
  std::string judgement(to_string(report.whole.judgement));
  std::ranges::replace(judgement, '_', ' ');
  fmt::print("whole {}: {}, {}/s\n", is_go ? "heap" : "process", judgement, human_signed_bytes(report.whole.slope));
  if (report.suspects.empty()) fmt::print("no {} is suspected of a leak\n", is_go ? "call site" : "name");
  if (report.is_undecided) fmt::print("too few readings for so many {}: more of them will tell\n", sites);
  if (!report.suspects.empty()) {
    fmt::print("suspected of a leak, {:.2f} % sure of each slope:\n", report.confidence * 100);
  }
  for (const NamedSite& site : findings.suspects) print_site(site);
  if (!report.likely.empty()) {
    fmt::print(
        "likely, but too few readings to be sure: chance alone brings such a rise once in {:.0f} times at a site\n",
        1 / report.likely.front().chance);
  }
  for (const NamedSite& site : findings.likely) print_site(site);
  if (!is_go) print_grown(findings);
}

}  // namespace

int trend_command(const CommandLine& line, const Config& config) {
  const bool wants_profiles = !line.output_path.empty();
  if (is_stdout(line.output_path))
    return report({ErrorCode::kInvalid, "trend -o names a directory: one profile a reading"});
  if (wants_profiles) {
    if (Result<> made = make_directories(line.output_path, 0700); !made.has_value()) return report(made.error());
  }
  const Pause pause(line.interval_seconds);
  Printer printer(line.output_path, line.count, line.interval_seconds);
  const TrendRequest request{
      line.count, wants_profiles, [&pause] { return pause.wait(); },
      [&printer](const TrendReading& reading, const std::string& profile) { printer.on_reading(reading, profile); }};
  const Result<TrendFindings> findings = watch_trend(config, {line.pid, line.container, line.pod}, request);
  printer.end();
  if (!findings.has_value()) return report(findings.error());
  if (!findings->ended.empty())
    fmt::print(stderr, "no further reading: pid {} could not be read: {}\n", findings->process.pid, findings->ended);
  print_findings(*findings);
  return printer.error() ? report(*printer.error()) : kOk;
}

}  // namespace oomw::cli
