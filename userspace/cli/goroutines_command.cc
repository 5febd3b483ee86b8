// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "analyses/go_analysis.h"
#include "analyses/holders_document.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/go_subject.h"
#include "runtimes/go/retention/goroutine_counts.h"

namespace oomw::cli {
namespace {

using go::retention::GoroutineCounts;
using go::retention::GoroutineGroup;

// "waiting in runtime.chansend: main.handle (started by main.main)"
std::string describe(const GoroutineGroup& group) {
  std::string text(to_string(group.state));
  if (!group.blocked_in.empty()) text += " in " + group.blocked_in;
  if (!group.function.empty()) text += ": " + without_paths(group.function);
  if (!group.outermost.empty() && group.outermost != group.function)
    text += ", run by " + without_paths(group.outermost);
  if (!group.created_by.empty()) text += " (started by " + without_paths(group.created_by) + ")";
  return text;
}

void print_goroutines(const GoroutineCounts& counts, std::size_t rows) {
  fmt::print("{} goroutines, {} of stacks\n\n", counts.total + counts.not_read, human_bytes(counts.stack_bytes));
  for (std::size_t i = 0; i < std::min(rows, counts.groups.size()); ++i) {
    fmt::print("{:8}  {}\n", counts.groups[i].count, describe(counts.groups[i]));
  }
  if (counts.not_read > 0) fmt::print("{:8}  not read\n", counts.not_read);
}

}  // namespace

int goroutines_command(const CommandLine& line, const Config& config) {
  const Result<GoSubject> subject = GoSubject::open(config, {line.pid, line.container, line.pod});
  if (!subject.has_value()) return report(subject.error());
  go::retention::HolderLimits limits;
  limits.budget = std::chrono::seconds(10);
  const auto counts = go::retention::count_goroutines(subject->view(), SystemClock(), limits);
  if (!counts.has_value()) return report(counts.error());
  if (line.json) {
    fmt::print("{}", goroutines_document(*counts));
  } else {
    print_goroutines(*counts, line.rows);
  }
  return kOk;
}

}  // namespace oomw::cli
