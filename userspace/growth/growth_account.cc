// SPDX-License-Identifier: Apache-2.0
#include "growth/growth_account.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace oomw {
namespace {

std::string python_text(std::uint32_t version) {
  if (version < 0x0308) return "Python before 3.8";
  return "Python " + std::to_string(version >> 8) + "." + std::to_string(version & 0xff);
}

}  // namespace

std::uint32_t GrowthAccount::frame_id(const GrowthFrame& frame) {
  FrameKey key(frame.function, frame.file, frame.module, frame.line, frame.is_managed, frame.is_allocator);
  if (const auto known = frame_ids_.find(key); known != frame_ids_.end()) return known->second;
  if (frames_.size() >= kMaxFrames) return GrowthSlots::kNobody;
  const auto id = static_cast<std::uint32_t>(frames_.size());
  frames_.push_back(frame);
  frame_ids_.emplace(std::move(key), id);
  return id;
}

std::uint32_t GrowthAccount::stack_id(const UnwoundStack& stack, const std::vector<GrowthFrame>& frames) {
  Stack kept{.is_complete = stack.is_complete, .frames = {}};
  for (const std::uint32_t index : stack.frames) {
    if (index >= frames.size() || kept.frames.size() == GrowthProfile::kMaxFrames) {
      kept.is_complete = false;
      break;
    }
    const std::uint32_t id = frame_id(frames[index]);
    if (id == GrowthSlots::kNobody) return id;
    kept.frames.push_back(id);
  }
  if (kept.frames.empty()) return GrowthSlots::kNobody;
  if (const auto known = stack_ids_.find(kept); known != stack_ids_.end()) return known->second;
  if (stacks_.size() >= kMaxStacks) return GrowthSlots::kNobody;
  const auto id = static_cast<std::uint32_t>(stacks_.size());
  stacks_.push_back(&stack_ids_.emplace(std::move(kept), id).first->first);
  return id;
}

void GrowthAccount::count(const oomw_growth_sample& head, std::uint32_t stack) {
  if (samples_++ == 0) first_ns_ = head.time_ns;
  if (stack == GrowthSlots::kNobody) ++unnamed_;
  if (head.python_frames != 0) has_python_frames_ = true;
  newest_ns_ = std::max<std::uint64_t>(newest_ns_, head.time_ns);
  slot_bytes_ = head.slot_bytes;
  const std::uint32_t sampled_ms = sampled_.at({static_cast<std::int64_t>(head.time_ns)});
  sampled_ms_ = std::max(sampled_ms_, sampled_ms);
  slots_.rise(head.time_ns, head.slot_before, head.slot_after, stack, sampled_ms);
}

void GrowthAccount::add(const std::vector<oomw_growth_sample>& heads, const UnwoundSamples& unwound) {
  for (const auto& [module, build_id] : unwound.builds) {
    if (builds_.size() >= kMaxModules && !builds_.contains(module)) continue;
    const auto [known, is_new] = builds_.emplace(module, build_id);
    if (!is_new && known->second != build_id) known->second.clear();
  }
  if (unwound.python_version != 0) python_version_ = unwound.python_version;
  std::size_t next = 0;
  for (const oomw_growth_sample& head : heads) {
    const bool has_stack = head.stack_bytes != 0 && next < unwound.stacks.size();
    count(head, has_stack ? stack_id(unwound.stacks[next++], unwound.frames) : GrowthSlots::kNobody);
  }
}

void GrowthAccount::add_unnamed(const std::vector<oomw_growth_sample>& heads) {
  for (const oomw_growth_sample& head : heads) count(head, GrowthSlots::kNobody);
}

std::map<std::string, std::string> GrowthAccount::builds_in(const GrowthProfile& profile) const {
  std::map<std::string, std::string> builds;
  for (const GrowthStack& stack : profile.stacks) {
    for (const GrowthFrame& frame : stack.frames) {
      const auto known = builds_.find(frame.module);
      if (known != builds_.end() && !known->second.empty()) builds.insert(*known);
    }
  }
  return builds;
}

GrowthProfile GrowthAccount::profile(std::uint64_t lost_before) const {
  GrowthProfile profile;
  profile.time = {static_cast<std::int64_t>(newest_ns_)};
  profile.started = {static_cast<std::int64_t>(first_ns_)};
  profile.process = process_;
  profile.cgroup = cgroup_;
  profile.slot_bytes = slot_bytes_;
  profile.grown_bytes = slots_.count() * slot_bytes_;
  profile.samples = samples_;
  profile.lost = lost_before + unnamed_;
  profile.sampled_ms = sampled_ms_;
  const bool has_parts = sampled_ms_ >= GrowthProfile::kParts;  // a millisecond is the shortest
  for (const auto& [id, held] : slots_.by_stack(sampled_ms_)) {
    GrowthStack& stack = profile.stacks.emplace_back();
    stack.late_bytes = held.late * slot_bytes_;
    for (const std::uint64_t slots : held.parts) {
      stack.bytes += slots * slot_bytes_;
      if (has_parts) stack.parts.push_back(slots * slot_bytes_);
    }
    stack.is_complete = stacks_[id]->is_complete;
    for (const std::uint32_t frame : stacks_[id]->frames) stack.frames.push_back(frames_[frame]);
  }
  std::ranges::stable_sort(profile.stacks, std::ranges::greater{}, &GrowthStack::bytes);
  if (profile.stacks.size() > GrowthProfile::kMaxStacks) {
    profile.notes.push_back(std::to_string(profile.stacks.size() - GrowthProfile::kMaxStacks) +
                            " more stacks, each of fewer bytes");
    profile.stacks.resize(GrowthProfile::kMaxStacks);
  }
  profile.builds = builds_in(profile);
  if (unseen_ > 0) {
    profile.notes.push_back(human_bytes(unseen_ * slot_bytes_) + " more grew while nothing was sampled");
  }
  if (python_version_ != 0 && !has_python_frames_) {
    profile.notes.push_back(python_text(python_version_) +
                            ": its functions are not visible in the stacks, only the interpreter's own");
  }
  return profile;
}

}  // namespace oomw
