// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/memory_limit.h"
#include "base/text.h"
#include "cli/read/foreign_file.h"
#include "cli/read/profile_source.h"
#include "cli/read/read_commands.h"
#include "facts/contents_pprof.h"
#include "facts/heap_sites.h"
#include "facts/operation_profile.h"
#include "pprof/frame_names.h"
#include "pprof/growth_text.h"
#include "pprof/regroup.h"
#include "pprof/top.h"

namespace oomw::cli {
namespace {

// Functions of the runtime and of libraries hold most of a heap by themselves, and touch it first; whose code asked
// them is what a reader looks for, so it comes first. Of a heap profile's bytes in use and of growth; "" for others.
std::string own_code_text(const pprof::Profile& profile, const CommandLine& line, const OperationPatterns& patterns) {
  if (line.group_by != "function") return "";
  HeapSites found = grown_sites_of(profile);
  const bool is_in_use = line.sample_type.empty() || line.sample_type == "inuse_space";
  if (found.sites.empty() && is_in_use) found = heap_sites_of(profile, patterns);
  std::string text;
  for (const HeapSite& site : found.sites) {
    text += fmt::format("{:>10} {:>6.2f}%  {}{}{}\n", human_bytes(site.bytes), site.share * 100, site.code,
                        site.operation.empty() ? "" : ", for ", site.operation);
  }
  return text.empty() ? "" : "By the program's own code nearest to the allocation:\n" + text + "\n";
}

// Who keeps the memory is in whole stacks: of a Go heap from the root down, else a container and the name that holds
// it, below the part and the runtime. "" for profiles without.
std::string held_text(const pprof::Profile& profile, const CommandLine& line) {
  constexpr std::size_t kMaxOfContents = 5, kAboveContainer = 2;
  const int column = profile.type_index(kHeldType);
  if (column < 0 || line.group_by != "function" || !line.sample_type.empty()) return "";
  std::vector<std::pair<std::int64_t, const pprof::Sample*>> held;
  for (const pprof::Sample& sample : profile.samples) {
    const auto at = static_cast<std::size_t>(column);
    if (at < sample.values.size() && sample.values[at] > 0) held.emplace_back(sample.values[at], &sample);
  }
  std::ranges::stable_sort(held, std::greater(), [](const auto& one) { return one.first; });
  held.resize(std::min(held.size(), column == 0 ? line.rows : kMaxOfContents));
  pprof::FrameNames names;
  const auto locations = names.add(profile);
  const double total = static_cast<double>(std::max<std::int64_t>(profile.total(0), 1));
  std::string text;
  for (const auto& [bytes, sample] : held) {
    std::string row =
        fmt::format("{:>10} {:>6.2f}% ", pprof::amount(bytes, "bytes"), 100 * static_cast<double>(bytes) / total);
    auto stack = pprof::FrameNames::stack_of(*sample, locations);
    if (column > 0 && stack.size() > kAboveContainer) stack.resize(stack.size() - kAboveContainer);
    for (auto frame = stack.rbegin(); frame != stack.rend(); ++frame) row += " " + printable(names.name(*frame));
    if (text.find(row) == std::string::npos) text += row + "\n";  // containers in one container look alike
  }
  if (text.empty()) return "";
  return (column == 0 ? "By who keeps it, from the root:\n" : "By who holds it; one may be within another:\n") + text +
         "\n";
}

}  // namespace

int top_command(const CommandLine& line, const std::string& data_dir, const OperationPatterns& patterns) {
  const MemoryLimit limit(kMaxReadMemory, "the profile");
  Result<LoadedProfile> loaded = load_profile(line.input_path, data_dir);
  if (!loaded.has_value()) return report(loaded.error());
  pprof::Profile& profile = loaded->profile;
  if (!line.sample_type.empty() && profile.type_index(line.sample_type) < 0) {
    return report(Error{ErrorCode::kInvalid, line.input_path + ": no sample type '" + line.sample_type + "'"});
  }
  const std::string first = own_code_text(profile, line, patterns) + held_text(profile, line);
  if (line.group_by == "module") profile = pprof::regrouped_by_module(std::move(profile));
  if (line.group_by == "operation") profile = summed_by_operation(std::move(profile), patterns);
  fmt::print("{}{}", first, pprof::to_text(pprof::top(profile, line.sample_type), line.rows));
  for (const std::string& comment : profile.comments) fmt::print("# {}\n", printable(comment, 512));
  return kOk;
}

}  // namespace oomw::cli
