// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/memory_limit.h"
#include "base/text.h"
#include "cli/read/foreign_file.h"
#include "cli/read/read_commands.h"
#include "facts/operation_profile.h"
#include "pprof/codec.h"
#include "pprof/top.h"

namespace oomw::cli {

int top_command(const CommandLine& line, const OperationPatterns& patterns) {
  const MemoryLimit limit(kMaxReadMemory, "the profile");
  const Result<std::string> bytes = read_plain_file(line.input_path, kMaxProfileBytes);
  if (!bytes.has_value()) return report(bytes.error());
  Result<pprof::Profile> profile = pprof::read(*bytes);
  if (!profile.has_value()) return report(Error(profile.error()).with_context(line.input_path));
  if (!line.sample_type.empty() && profile->type_index(line.sample_type) < 0) {
    return report(Error{ErrorCode::kInvalid, line.input_path + ": no sample type '" + line.sample_type + "'"});
  }
  if (line.group_by == "operation") profile = summed_by_operation(*std::move(profile), patterns);
  for (const std::string& comment : profile->comments) fmt::print("# {}\n", printable(comment, 512));
  fmt::print("{}", pprof::to_text(pprof::top(*profile, line.sample_type), line.rows));
  return kOk;
}

}  // namespace oomw::cli
