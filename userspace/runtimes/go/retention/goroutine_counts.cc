// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/retention/goroutine_counts.h"

#include <algorithm>
#include <compare>
#include <map>
#include <span>

#include "base/text.h"
#include "memory/deadline_source.h"
#include "runtimes/go/retention/countable_list.h"
#include "runtimes/go/retention/present_memory.h"

namespace oomw::go::retention {

namespace {

constexpr std::size_t kMaxGroups = 1000;
constexpr std::uint64_t kStackPart = 8U << 10;  // from the stack pointer up: some 20 frames

struct GoroutinePlace {
  GoroutineState state = GoroutineState::kOther;
  const Function* blocked_in = nullptr;
  const Function* function = nullptr;
  const Function* outermost = nullptr;
  const Function* created_by = nullptr;
  friend auto operator<=>(const GoroutinePlace&, const GoroutinePlace&) = default;
};

GoroutinePlace place_of(Image& image, const Goroutine& g, const std::vector<StackFrame>& frames) {
  GoroutinePlace place;
  place.state = g.state;
  place.created_by = image.find(g.created_at_pc);
  for (const StackFrame& frame : frames) {
    const Function* f = frame.function;
    const bool is_parking = f->name == "runtime.gopark" || f->name == "runtime.goparkunlock";
    if (f->is_runtime && !place.function && !place.blocked_in && !is_parking) place.blocked_in = f;
    if (f->is_runtime) continue;
    if (!place.function) place.function = f;
    if (!is_goroutine_wrapper(f->name) || !place.outermost) place.outermost = f;
  }
  if (!place.outermost) place.outermost = image.find(g.start_pc);
  return place;
}

std::string name_of(const Function* function) {
  return function ? printable(without_type_arguments(function->name)) : "";
}

}  // namespace

Result<GoroutineCounts> count_goroutines(const Subject& subject, const Clock& clock, const HolderLimits& limits) {
  const DeadlineSource timed(subject.memory, clock, clock.now() + limits.budget);
  ASSIGN_OR_RETURN(const auto image, Image::open(subject.executable, subject.load_bias));
  const PresentMemory memory(timed, subject.pagemap, image->elf(), subject.load_bias, limits.max_bytes_read);
  CachedReader reader(memory, limits.max_bytes_read, 16U << 10);
  ASSIGN_OR_RETURN(Goroutines goroutines, Goroutines::locate(*image, reader));
  GoroutineCounts counts;
  std::map<GoroutinePlace, GoroutineGroup> groups;
  std::vector<std::byte> buffer(kStackPart);
  for (const Goroutine& g : goroutines.all()) {
    const std::uint64_t top = g.stack_top() & ~std::uint64_t{7};
    const std::span stack(buffer.data(), std::min(g.stack_high - top, kStackPart));
    const bool is_running = g.state == GoroutineState::kRunning;
    if (!is_running) RETURN_IF_ERROR(memory.read_some(top, stack));
    const auto frames = is_running ? std::vector<StackFrame>{} : goroutines.unwind(g, stack);
    GoroutineGroup& group = groups[place_of(*image, g, frames)];
    ++group.count;
    group.stack_bytes += g.stack_high - g.stack_low;
    counts.stack_bytes += g.stack_high - g.stack_low;
  }
  auto list = find_countable_list(*image, goroutines, reader);
  if (list) counts.list = std::move(*list);
  if (!list) counts.why_no_list = list.error().message;
  counts.total = goroutines.all().size();
  counts.not_read = goroutines.not_read();
  for (auto& [place, group] : groups) {
    group.state = place.state;
    group.blocked_in = name_of(place.blocked_in);
    group.function = name_of(place.function);
    group.outermost = name_of(place.outermost);
    group.created_by = name_of(place.created_by);
    counts.groups.push_back(std::move(group));
  }
  std::stable_sort(counts.groups.begin(), counts.groups.end(),
                   [](const GoroutineGroup& a, const GoroutineGroup& b) { return a.count > b.count; });
  if (counts.groups.size() > kMaxGroups) counts.groups.resize(kMaxGroups);
  return counts;
}

}  // namespace oomw::go::retention
