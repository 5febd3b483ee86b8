// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <oomwitness/growth.h>

#include "base/clock.h"
#include "base/fair_share.h"
#include "growth/growth_account.h"
#include "growth/growth_rest.h"
#include "growth/unwound.h"
#include "kernel/growth_programs.h"

namespace oomw {

// What the sampler knows of a process that it watches, or that lost its place. For the sampler's thread.
struct WatchedGrowth {
  static constexpr std::size_t kMaxBatch = 64;
  struct Batch {
    std::vector<oomw_growth_sample> heads;
    std::vector<std::byte> records;
  };

  WatchedGrowth(const GrowthTarget& target, ShareOwner whose)
      : account(target.process, target.cgroup),
        process(target.process),
        slot_bytes(target.slot_bytes),
        owner(std::move(whose)) {}

  // Of those that wait for names.
  Batch take_batch() {
    const auto count = static_cast<std::ptrdiff_t>(std::min(heads.size(), kMaxBatch));
    Batch batch{{heads.begin(), heads.begin() + count}, {}};
    std::ptrdiff_t bytes = 0;
    for (const oomw_growth_sample& head : batch.heads) bytes += head.stack_bytes > 0 ? head.size : 0;
    batch.records.assign(records.begin(), records.begin() + bytes);
    heads.erase(heads.begin(), heads.begin() + count);
    records.erase(records.begin(), records.begin() + bytes);
    if (records.empty()) records.shrink_to_fit();
    return batch;
  }

  // What the kernel's half cannot count: growth before the process's first event, and since the last rest.
  void note_bytes(std::uint64_t anon_bytes, bool has_begun_now, bool is_attached) {
    const std::uint64_t known = known_bytes.value_or(anon_bytes);
    const std::uint64_t slots = anon_bytes > known ? (anon_bytes - known) / slot_bytes : 0;
    const bool is_counted = has_begun_now && (is_attached || !has_begun);
    if (!has_begun_now) slots_before = slots;
    slots_since_rest = has_begun_now && !is_counted ? slots : 0;
    known_bytes = is_counted ? anon_bytes : known;
    has_begun = has_begun_now;
  }

  void set_unseen(const GrowthState& state) {
    account.set_unseen(state.unseen + slots_before + slots_since_rest);
    unsent = state.over_budget + state.ring_full;
  }

  GrowthAccount account;
  ProcessKey process;
  std::uint64_t slot_bytes;
  ShareOwner owner;
  std::optional<SampledProcess> files;  // from the first sample on
  bool is_opened = false;
  bool has_python = false;
  GrowthClimb climb;
  MonotonicTime climbed;                     // or was armed
  std::optional<oomw_growth_target> parked;  // when it lost its place
  bool has_begun = false;
  std::optional<std::uint64_t> known_bytes;  // anonymous, when it was armed or the kernel's half saw it last
  std::uint64_t slots_before = 0, slots_since_rest = 0;
  // Waiting for names: the heads, and the records of those with a stack, one after the other.
  std::vector<oomw_growth_sample> heads;
  std::vector<std::byte> records;
  std::uint64_t delivered_samples = 0;
  MonotonicTime delivered_at;
  std::uint64_t unsent = 0;
  std::optional<MonotonicTime> ended;       // the kernel's half knows it no more: it has lost its place, or is gone
  std::optional<MonotonicTime> gone_since;  // it has ended, and no kill was reported
};

}  // namespace oomw
