// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "base/memory_limit.h"
#include "base/text.h"
#include "cli/read/foreign_file.h"
#include "cli/read/profile_source.h"
#include "cli/read/read_commands.h"
#include "facts/component_group.h"
#include "facts/operation_profile.h"
#include "pprof/estimate.h"
#include "pprof/growth_text.h"
#include "pprof/regroup.h"

namespace oomw::cli {
namespace {

Result<pprof::Growth> growth_of(const CommandLine& line, const OperationPatterns& patterns,
                                const pprof::Profile& before, const pprof::Profile& after) {
  const std::string& type = line.sample_type;
  if (line.group_by == "stack") return pprof::growth_by_stack(before, after, type);
  if (line.group_by == "package") return pprof::growth_by_package(before, after, type);
  if (line.group_by == "module") {
    return pprof::growth_by_function(pprof::regrouped_by_module(before), pprof::regrouped_by_module(after), type);
  }
  if (line.group_by == "component") return pprof::growth_by(before, after, type, component_group_of);
  if (line.group_by == "operation") {
    return pprof::growth_by(rooted_by_operation(before, patterns), rooted_by_operation(after, patterns), type,
                            operation_group_of);
  }
  return pprof::growth_by_function(before, after, type);
}

nlohmann::json to_json(const pprof::GroupRow& row) {
  nlohmann::json out = {{"name", to_valid_utf8(row.name)},
                        {"growth", row.growth()},
                        {"before", row.before},
                        {"after", row.after},
                        {"cum_growth", row.cum_growth()},
                        {"cum_before", row.cum_before},
                        {"cum_after", row.cum_after}};
  for (const std::string& function : row.stack) out["stack"].push_back(to_valid_utf8(function));
  return out;
}

void print_growth_json(const CommandLine& line, const IncidentEnds& ends, const pprof::Growth& growth) {
  nlohmann::json out = {{"before", {{"file", to_valid_utf8(ends.first.name)}, {"total", growth.before}}},
                        {"after", {{"file", to_valid_utf8(ends.best.name)}, {"total", growth.after}}},
                        {"sample_type", to_valid_utf8(growth.type.type)},
                        {"unit", to_valid_utf8(growth.type.unit)},
                        {"by", line.group_by},
                        {"groups", growth.groups},
                        {"rows", nlohmann::json::array()}};
  if (pprof::is_estimate(ends.first.profile)) out["before"]["estimated"] = true;
  if (pprof::is_estimate(ends.best.profile)) out["after"]["estimated"] = true;
  for (std::size_t i = 0; i < std::min(line.rows, growth.rows.size()); ++i) {
    out["rows"].push_back(to_json(growth.rows[i]));
  }
  fmt::print("{}\n", to_json_text(out));
}

Result<IncidentEnds> load_both(const CommandLine& line, const std::string& data_dir) {
  if (line.other_path.empty()) return load_ends(line.input_path, data_dir);
  ASSIGN_OR_RETURN(LoadedProfile before, load_profile(line.input_path, data_dir));
  ASSIGN_OR_RETURN(LoadedProfile after, load_profile(line.other_path, data_dir));
  return IncidentEnds{std::move(before), std::move(after)};
}

}  // namespace

int diff_command(const CommandLine& line, const std::string& data_dir, const OperationPatterns& patterns) {
  const MemoryLimit limit(kMaxReadMemory, "the difference of these profiles");
  const Result<IncidentEnds> ends = load_both(line, data_dir);
  if (!ends.has_value()) return report(ends.error());
  const Result<pprof::Growth> growth = growth_of(line, patterns, ends->first.profile, ends->best.profile);
  if (!growth.has_value()) return report(growth.error());
  if (line.json) {
    print_growth_json(line, *ends, *growth);
    return kOk;
  }
  const bool has_cum = line.group_by == "function" || line.group_by == "package" || line.group_by == "module";
  fmt::print("{}{}\n{}",
             pprof::heading_text({ends->first.name, ends->first.profile}, {ends->best.name, ends->best.profile}),
             pprof::summary_line(*growth), pprof::to_text(*growth, {line.group_by, line.rows, has_cum}));
  return kOk;
}

}  // namespace oomw::cli
