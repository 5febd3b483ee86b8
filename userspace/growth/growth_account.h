// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <oomwitness/growth.h>

#include "events/growth_profile.h"
#include "growth/growth_slots.h"
#include "growth/sampled_time.h"
#include "growth/unwound.h"

namespace oomw {

// What is known of one process's growth: its slots, and the stacks that hold them by their names. Bounded: a frame and
// a stack are kept once, at most kMaxFrames and kMaxStacks of them; samples beyond count as lost. Pure.
class GrowthAccount {
 public:
  static constexpr std::size_t kMaxFrames = 16'384, kMaxStacks = 8'192, kMaxModules = 128;

  GrowthAccount(ProcessKey process, CgroupId cgroup) : process_(process), cgroup_(cgroup) {}

  // `heads` in the order of the records given to unwind(); `unwound` has a stack for each that has one.
  void add(const std::vector<oomw_growth_sample>& heads, const UnwoundSamples& unwound);
  // The same where no stack could be named: the slots belong to nobody.
  void add_unnamed(const std::vector<oomw_growth_sample>& heads);
  void stand_at(std::uint32_t slot) { slots_.stand_at(slot); }

  // Between these two nobody is sampled: that time is in no part of the profile.
  void rest(MonotonicTime now) { sampled_.rest(now); }
  void resume(MonotonicTime now) { sampled_.resume(now); }
  void set_unseen(std::uint64_t slots) { unseen_ = slots; }  // grown by while nobody was sampled

  // `lost_before`: samples that the kernel did not send. The stacks with the most bytes.
  [[nodiscard]] GrowthProfile profile(std::uint64_t lost_before) const;
  [[nodiscard]] std::uint64_t samples() const { return samples_; }

 private:
  struct Stack {
    bool is_complete = false;
    std::vector<std::uint32_t> frames;
    friend auto operator<=>(const Stack&, const Stack&) = default;
  };
  using FrameKey = std::tuple<std::string, std::string, std::string, std::uint64_t, bool, bool>;

  std::uint32_t stack_id(const UnwoundStack& stack, const std::vector<GrowthFrame>& frames);
  std::uint32_t frame_id(const GrowthFrame& frame);  // GrowthSlots::kNobody: no room
  void count(const oomw_growth_sample& head, std::uint32_t stack);
  [[nodiscard]] std::map<std::string, std::string> builds_in(const GrowthProfile& profile) const;

  ProcessKey process_;
  CgroupId cgroup_;
  GrowthSlots slots_;
  SampledTime sampled_;
  std::uint32_t sampled_ms_ = 0;  // up to the newest sample
  std::map<FrameKey, std::uint32_t> frame_ids_;
  std::vector<GrowthFrame> frames_;
  ModuleBuilds builds_;  // of all batches
  std::uint32_t python_version_ = 0;
  bool has_python_frames_ = false;
  std::map<Stack, std::uint32_t> stack_ids_;
  std::vector<const Stack*> stacks_;  // into stack_ids_
  std::uint64_t samples_ = 0, unnamed_ = 0, first_ns_ = 0, newest_ns_ = 0, slot_bytes_ = 0, unseen_ = 0;
};

}  // namespace oomw
