// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include <fmt/format.h>

#include "base/memory_limit.h"
#include "base/text.h"
#include "cli/read/foreign_file.h"
#include "cli/read/profile_source.h"
#include "cli/read/read_commands.h"
#include "facts/operation_profile.h"
#include "pprof/regroup.h"
#include "pprof/top.h"

namespace oomw::cli {

int top_command(const CommandLine& line, const std::string& data_dir, const OperationPatterns& patterns) {
  const MemoryLimit limit(kMaxReadMemory, "the profile");
  Result<LoadedProfile> loaded = load_profile(line.input_path, data_dir);
  if (!loaded.has_value()) return report(loaded.error());
  pprof::Profile& profile = loaded->profile;
  if (!line.sample_type.empty() && profile.type_index(line.sample_type) < 0) {
    return report(Error{ErrorCode::kInvalid, line.input_path + ": no sample type '" + line.sample_type + "'"});
  }
  if (line.group_by == "module") profile = pprof::regrouped_by_module(std::move(profile));
  if (line.group_by == "operation") profile = summed_by_operation(std::move(profile), patterns);
  for (const std::string& comment : profile.comments) fmt::print("# {}\n", printable(comment, 512));
  fmt::print("{}", pprof::to_text(pprof::top(profile, line.sample_type), line.rows));
  return kOk;
}

}  // namespace oomw::cli
