// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/json_text.h"
#include "base/patience.h"
#include "base/text.h"
#include "cli/commands.h"
#include "cli/process_contents.h"

namespace oomw::cli {
namespace {

Result<ProcessContents> read_go(const CommandLine& line, const Config& config) {
  patience_factor = std::max(5U, config.patience);  // nobody waits for what is read by hand, and it may be large
  return read_process_contents(config, {line.pid, line.container, line.pod}, RuntimeKind::kGo);
}

int print_document(const ProcessContents& contents, const char* member) {
  const nlohmann::json document = parse_json(contents.document);
  const bool is_one = document.is_object() && (member == nullptr || document.contains(member));
  if (!is_one) return report({ErrorCode::kUnavailable, fmt::format("{}", fmt::join(contents.found.notes, "; "))});
  fmt::print("{}\n", to_json_utf8(member == nullptr ? document : document[member], 2));
  return kOk;
}

void print_holders(const HeapAnalysed& found) {
  if (found.why_no_owner.empty() && !found.holders.empty() && !found.holders.front().chain.empty()) {
    const HeapHolder& owner = found.holders.front();
    fmt::print("{}{} keeps {:.0f} % of the heap\n\n", owner.chain.front(),
               owner.component.empty() ? "" : " (" + owner.component + ")", owner.share * 100);
  } else {
    fmt::print("owner not found ({})\n\n", found.why_no_owner);
  }
  for (const HeapHolder& holder : found.holders) {
    fmt::print("{:5.1f} %  {}\n", holder.share * 100, fmt::join(holder.chain, ""));
  }
  for (const HeapFiller& queue : found.fillers) fmt::print("         a {}: {}\n", queue.name, queue.count);
  fmt::print("\n{} samples, {:.0f} % of their bytes with a root; {} goroutines\n", found.samples,
             found.rooted_ratio.value_or(0) * 100, found.goroutine_count);
}

std::string text_of(const GoroutineStack& one) {
  return fmt::format("{}{}{}{}", one.state, one.stack.empty() ? "" : ": ", fmt::join(one.stack, ", in "),
                     one.created_by.empty() ? "" : " (started by " + one.created_by + ")");
}

}  // namespace

int holders_command(const CommandLine& line, const Config& config) {
  const auto contents = read_go(line, config);
  if (!contents) return report(contents.error());
  if (line.json || contents->document.empty()) return print_document(*contents, nullptr);
  print_holders(contents->found);
  return kOk;
}

int goroutines_command(const CommandLine& line, const Config& config) {
  const auto contents = read_go(line, config);
  if (!contents) return report(contents.error());
  if (line.json) return print_document(*contents, "goroutines");
  const HeapAnalysed& found = contents->found;
  fmt::print("{} goroutines\n\n", found.goroutine_count);
  std::uint64_t listed = 0;
  for (std::size_t i = 0; i < std::min<std::size_t>(line.rows, found.goroutines.size()); ++i) {
    fmt::print("{:8}  {}\n", found.goroutines[i].count, text_of(found.goroutines[i]));
    listed += found.goroutines[i].count;
  }
  if (listed < found.goroutine_count) fmt::print("{:8}  others (--json)\n", found.goroutine_count - listed);
  return kOk;
}

}  // namespace oomw::cli
