// SPDX-License-Identifier: Apache-2.0
#include "pprof/regroup.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "base/text.h"
#include "pprof/frame_names.h"

namespace oomw::pprof {
namespace {

// Groups as locations of the new profile, each with one function of the same id.
class Groups {
 public:
  explicit Groups(Profile& out) : out_(out) {}

  std::uint64_t id_of(const std::string& group) {
    const auto [known, is_new] = ids_.try_emplace(group, ids_.size() + 1);
    if (is_new) {
      out_.functions.push_back({known->second, group, group, "", 0});
      out_.locations.push_back({known->second, 0, 0, {{known->second, 0}}});
    }
    return known->second;
  }

 private:
  Profile& out_;
  std::unordered_map<std::string, std::uint64_t> ids_;
};

constexpr char kNoModule[] = "(no module)";

// The files of items by their ids.
std::unordered_map<std::uint64_t, std::string> files_of(const auto& items) {
  std::unordered_map<std::uint64_t, std::string> files;
  for (const auto& item : items) files.try_emplace(item.id, base_name(item.filename));
  return files;
}

}  // namespace

Profile regrouped(const Profile& profile, const std::function<std::string(const std::string&)>& group_of,
                  const std::string& rest) {
  Profile out;
  out.sample_types = profile.sample_types;
  out.period_type = profile.period_type;
  out.period = profile.period;
  out.time_nanos = profile.time_nanos;
  out.comments = profile.comments;
  out.default_sample_type = profile.default_sample_type;
  Groups groups(out);
  FrameNames names;
  FrameBudget budget;
  const FrameNames::ByLocation locations = names.add(profile);
  std::vector<std::uint64_t> of_name(names.size());  // 0: it has no group
  for (std::uint32_t i = 0; i < of_name.size(); ++i) {
    const std::string group = group_of(names.name(i));
    of_name[i] = group.empty() ? 0 : groups.id_of(group);
  }
  for (const Sample& sample : profile.samples) {
    Sample grouped{{}, sample.values, sample.labels};
    const FrameNames::Stack stack = FrameNames::stack_of(sample, locations);
    if (budget.take(stack.size())) {
      for (const std::uint32_t name : stack) {
        const std::uint64_t id = of_name[name];
        if (id != 0 && (grouped.location_ids.empty() || grouped.location_ids.back() != id)) {
          grouped.location_ids.push_back(id);
        }
      }
    }
    if (grouped.location_ids.empty()) grouped.location_ids.push_back(groups.id_of(rest));
    out.samples.push_back(std::move(grouped));
  }
  return out;
}

Profile regrouped_by_module(Profile profile) {
  const auto mapped = files_of(profile.mappings), sources = files_of(profile.functions);
  const auto file_in = [](const auto& files, std::uint64_t id) {
    const auto known = files.find(id);
    return known == files.end() ? "" : known->second;
  };
  std::vector<Location> locations = std::exchange(profile.locations, {});
  profile.functions.clear();
  std::unordered_map<std::string, std::uint64_t> ids;
  for (const Location& location : locations) {
    std::string module = file_in(mapped, location.mapping_id);
    if (module.empty() && !location.lines.empty()) module = file_in(sources, location.lines.front().function_id);
    if (module.empty()) module = kNoModule;
    const auto [known, is_new] = ids.try_emplace(module, ids.size() + 1);
    if (is_new) profile.functions.push_back({known->second, module, module, "", 0});
    profile.locations.push_back({location.id, 0, 0, {{known->second, 0}}});
  }
  return regrouped(
      profile, [](const std::string& module) { return module; }, kNoModule);
}

}  // namespace oomw::pprof
