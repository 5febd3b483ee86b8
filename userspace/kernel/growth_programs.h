// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include <oomwitness/growth_target.h>

#include "base/result.h"
#include "events/ids.h"
#include "kernel/kernel_source.h"

namespace oomw {

struct GrowthConfig {
  std::size_t ring_bytes = 4u << 20;  // power of two >= page size
  std::uint32_t max_processes = 64;
  Rung best_allowed = Rung::kFentry;  // tests
};

struct GrowthTarget {
  ProcessKey process;
  CgroupId cgroup;  // the limiting one: its processes share a budget
  std::uint64_t slot_bytes = 256u << 10;
  std::uint32_t stack_max_bytes = OOMW_GROWTH_STACK_MAX;
  std::uint64_t budget_bytes_per_second = 32u << 20;  // a later target of the same cgroup replaces it
  // As parked() gave it before unwatch(): its slots go on, and what it grew by since counts as unseen.
  std::optional<oomw_growth_target> parked;
};

// Where a process stands, as the program keeps it.
struct GrowthState {
  bool has_begun = false;  // no event yet, so no slot
  std::uint32_t slot = 0;  // counted as records count it
  std::uint64_t samples = 0, over_budget = 0, ring_full = 0;
  std::uint64_t unseen = 0;  // slots that it grew by while the program was detached, which `slot` leaves out
};

// The program that samples growing processes, with a ring of its own. It is attached from resume() on, until rest() or
// until no process is watched: otherwise no page fault pays for it. Destroying this unloads it. One thread at a
// time.
class GrowthPrograms {
 public:
  using Record = std::span<const std::byte>;

  // kUnsupported with the reason: no rung serves it, or this is not x86-64. Takes 20 to 200 ms: the kernel's types are
  // read.
  [[nodiscard]] static Result<std::unique_ptr<GrowthPrograms>> make(const GrowthConfig& config);
  ~GrowthPrograms();

  // From the next resume() on, or at once where the program is attached. kLimit: as many as there may be are watched. A
  // second call begins anew, where the target is not parked.
  [[nodiscard]] Result<> watch(const GrowthTarget& target);
  // Nothing happens for one that is not watched. Its records may still lie in the ring. The last one waits until no CPU
  // runs the program, 10 to 90 ms.
  void unwatch(ProcessKey process);
  // Detaches the program; what is watched stays so. Waits as unwatch() does.
  void rest();
  // What the processes grew by meanwhile counts as unseen. Nothing happens where none is watched. Takes 1 ms.
  [[nodiscard]] Result<> resume();
  [[nodiscard]] Result<> set_python(ProcessKey process, const oomw_growth_python& layout);
  // nullopt: not watched.
  [[nodiscard]] std::optional<GrowthState> state(ProcessKey process) const;
  [[nodiscard]] std::optional<oomw_growth_target> parked(ProcessKey process) const;

  // Readable at the first sample of a process and when the ring is a quarter full. Samples wait silently otherwise: who
  // wants them sooner drains without waiting.
  [[nodiscard]] int ring_fd() const;
  // At most max_records; returns how many. A record has a valid head of oomw_growth_sample with its size.
  std::size_t drain(const std::function<void(Record)>& deliver, std::size_t max_records);

  [[nodiscard]] const FeatureStatus& status() const;
  [[nodiscard]] bool is_attached() const;
  [[nodiscard]] std::size_t watched() const;

 private:
  GrowthPrograms();
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomw
