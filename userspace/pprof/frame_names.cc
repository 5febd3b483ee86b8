// SPDX-License-Identifier: Apache-2.0
#include "pprof/frame_names.h"

#include <algorithm>

#include "base/text.h"

namespace oomw::pprof {
namespace {

std::string binary_name(const std::unordered_map<std::uint64_t, const std::string*>& mappings, std::uint64_t id) {
  const auto mapping = mappings.find(id);
  if (mapping == mappings.end() || mapping->second->empty()) return "<unknown>";
  return "[" + std::string(base_name(*mapping->second)) + "]";
}

}  // namespace

FrameNames::ByLocation FrameNames::add(const Profile& profile) {
  std::unordered_map<std::uint64_t, std::uint32_t> functions;
  std::unordered_map<std::uint64_t, const std::string*> mappings;
  for (const auto& function : profile.functions) {
    if (!function.name.empty()) functions.emplace(function.id, number_of(function.name));
  }
  for (const auto& mapping : profile.mappings) mappings.emplace(mapping.id, &mapping.filename);
  ByLocation frames;
  frames.reserve(profile.locations.size());
  for (const auto& location : profile.locations) {
    Stack stack;
    for (const auto& line : location.lines) {
      const auto known = functions.find(line.function_id);
      stack.push_back(known != functions.end() ? known->second : number_of(binary_name(mappings, location.mapping_id)));
    }
    if (stack.empty()) stack.push_back(number_of(binary_name(mappings, location.mapping_id)));
    frames.emplace(location.id, std::move(stack));
  }
  return frames;
}

FrameNames::Stack FrameNames::stack_of(const Sample& sample, const ByLocation& locations) {
  Stack stack;
  for (const std::uint64_t id : sample.location_ids) {
    const auto found = locations.find(id);
    if (found == locations.end()) continue;
    const std::size_t room = kMaxStackFrames - stack.size();
    const auto end = found->second.begin() + static_cast<std::ptrdiff_t>(std::min(room, found->second.size()));
    stack.insert(stack.end(), found->second.begin(), end);
  }
  return stack;
}

std::uint32_t FrameNames::number_of(const std::string& name) {
  const auto [entry, is_new] = numbers_.try_emplace(name, static_cast<std::uint32_t>(names_.size()));
  if (is_new) names_.push_back(&entry->first);
  return entry->second;
}

int chosen_type(const Profile& profile, const std::string& type) {
  const std::string& wanted = type.empty() ? profile.default_sample_type : type;
  if (wanted.empty()) return static_cast<int>(profile.sample_types.size()) - 1;
  return profile.type_index(wanted);
}

}  // namespace oomw::pprof
