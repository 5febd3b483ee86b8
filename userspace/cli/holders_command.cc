// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <string>

#include "analyses/go_analysis.h"
#include "analyses/holders_document.h"
#include "base/clock.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/go_subject.h"
#include "runtimes/go/retention/holders.h"

namespace oomw::cli {
namespace {

using go::retention::Holder;
using go::retention::Holders;
using go::retention::HolderStep;

constexpr int kAttempts = 3;  // the process runs on: what was torn once is whole the next time

Result<Holders> search(const GoSubject& subject) {
  Result<Holders> found = fail(ErrorCode::kInternal, "");
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    go::retention::HolderLimits limits;
    limits.budget = std::chrono::seconds(10);  // nobody waits for the process: it is not stopped
    limits.seed = static_cast<std::uint64_t>(attempt) + 1;
    found = go::retention::find_holders(subject.view(), SystemClock(), limits);
    const bool is_final = found.has_value() ? found->is_named : found.error().code == ErrorCode::kUnsupported;
    if (is_final) break;
  }
  return found;
}

std::string chain(const Holder& holder) {
  std::string text = without_paths(holder.root);
  for (const HolderStep& step : holder.steps) {
    text += fmt::format("{} -> {}{}", step.field, without_paths(step.object), step.is_list ? " (list)" : "");
  }
  return text;
}

void print_holders(const Holders& found) {
  if (found.is_named) {
    const Holder& owner = found.holders.front();
    fmt::print("{}{} keeps {:.0f} % of the heap\n\n", without_paths(owner.root),
               owner.component.empty() ? "" : " (" + owner.component + ")", owner.share * 100);
  } else {
    fmt::print("owner not found ({})\n\n", found.why_not_named);
  }
  for (const Holder& holder : found.holders) {
    fmt::print("{:5.1f} %  {}\n", holder.share * 100, chain(holder));
    if (holder.queue) {
      fmt::print("         a {} of {} {}\n", holder.queue->is_channel ? "channel" : "list", holder.queue->length,
                 without_paths(holder.queue->item));
    }
    for (const HolderStep& branch : holder.branches) {
      fmt::print("         {:5.1f} %  {} -> {}\n", branch.share * 100, branch.field, without_paths(branch.object));
    }
  }
  fmt::print(
      "\n{} samples ({}), {:.0f} % of their bytes with a root; heap {}, {} goroutines; {} objects in {} passes\n",
      found.samples, found.is_from_profile ? "of the heap profile" : "chosen at random", found.rooted_share * 100,
      human_bytes(found.heap_bytes), found.goroutines, found.objects, found.passes);
}

}  // namespace

int holders_command(const CommandLine& line, const Config& config) {
  const Result<GoSubject> subject = GoSubject::open(config, {line.pid, line.container, line.pod});
  if (!subject.has_value()) return report(subject.error());
  const Result<Holders> found = search(*subject);
  if (!found.has_value()) return report(found.error());
  if (line.json) {
    fmt::print("{}", holders_document(*found, nullptr));
  } else {
    print_holders(*found);
  }
  return kOk;
}

}  // namespace oomw::cli
