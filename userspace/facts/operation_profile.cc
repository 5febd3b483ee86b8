// SPDX-License-Identifier: Apache-2.0
#include "facts/operation_profile.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "facts/contents_pprof.h"
#include "facts/growth_pprof.h"
#include "facts/operation.h"
#include "pprof/frame_names.h"

namespace oomw {
namespace {

constexpr std::array<std::string_view, 4> kOperationKinds = {"endpoint ", "method ", "component ", "job "};

bool is_operation(std::string_view text) {
  return std::ranges::any_of(kOperationKinds, [&](std::string_view kind) { return text.starts_with(kind); });
}

std::optional<Operation> labelled_operation(const pprof::Sample& sample) {
  const auto label = std::ranges::find(sample.labels, kOperationLabel, &pprof::Label::key);
  if (label == sample.labels.end() || !is_operation(label->text)) return std::nullopt;
  const std::size_t gap = label->text.find(' ');
  return Operation{label->text.substr(0, gap), printable(label->text.substr(gap + 1), kMaxCodeName)};
}

// Their operations are labels, if they have any: by the rules for Go the root of a native stack would be a job, and so
// would a class.
bool has_no_go_code(const pprof::Profile& profile) {
  constexpr std::array<const char*, 3> kTypes = {kGrowthType, kContentsType, kHeldType};
  return std::ranges::any_of(kTypes, [&](const char* type) { return profile.type_index(type) == 0; });
}

std::vector<std::optional<Operation>> operations_of(const pprof::Profile& profile, const OperationPatterns& patterns) {
  const StackReader reader(profile, patterns);
  const bool is_foreign = has_no_go_code(profile);
  pprof::FrameBudget budget;
  std::vector<std::optional<Operation>> operations;
  operations.reserve(profile.samples.size());
  for (const pprof::Sample& sample : profile.samples) {
    if (auto labelled = labelled_operation(sample); labelled || is_foreign) {
      operations.push_back(std::move(labelled));
      continue;
    }
    const auto stack = reader.frames_of(sample);
    operations.push_back(budget.take(stack.size()) ? operation_of(stack) : std::nullopt);
  }
  return operations;
}

std::uint64_t unused_id(const auto& items) {
  std::uint64_t highest = 0;
  for (const auto& item : items) highest = std::max(highest, item.id);
  return highest + 1;  // 0, which pprof leaves out, if the highest is taken
}

std::string name_of(const std::optional<Operation>& operation) {
  return operation ? operation->kind + " " + operation->name : "(no operation)";
}

enum class Frames { kAllBelow, kNone };  // what is left of a stack beside its operation

pprof::Profile with_operations(pprof::Profile profile, const OperationPatterns& patterns, Frames left) {
  const auto operations = operations_of(profile, patterns);
  std::uint64_t function = unused_id(profile.functions), location = unused_id(profile.locations);
  std::map<std::string, std::uint64_t> roots;  // name -> location
  for (std::size_t i = 0; i < operations.size(); ++i) {
    if (!operations[i] && left == Frames::kAllBelow) continue;
    const auto [root, is_new] = roots.try_emplace(name_of(operations[i]), location);
    if (is_new) {
      profile.functions.push_back({function, root->first, root->first, "", 0});
      profile.locations.push_back({location++, 0, 0, {{function++, 0}}});
    }
    if (left == Frames::kNone) profile.samples[i].location_ids.clear();
    profile.samples[i].location_ids.push_back(root->second);
  }
  return profile;
}

}  // namespace

pprof::Profile rooted_by_operation(pprof::Profile profile, const OperationPatterns& patterns) {
  return with_operations(std::move(profile), patterns, Frames::kAllBelow);
}

pprof::Profile summed_by_operation(pprof::Profile profile, const OperationPatterns& patterns) {
  return with_operations(std::move(profile), patterns, Frames::kNone);
}

pprof::Group operation_group_of(const std::string& function) {
  return is_operation(function) ? pprof::Group{function, false} : pprof::Group{};
}

}  // namespace oomw
