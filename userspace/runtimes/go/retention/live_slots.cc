// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/retention/live_slots.h"

#include <algorithm>
#include <array>

namespace oomw::go::retention {

namespace {

constexpr std::uint32_t kArguments = 0, kLocals = 1, kVariables = 2;  // tables of FUNCDATA
constexpr std::uint32_t kStackMapIndex = 1;                           // of PCDATA
constexpr std::size_t kMaxDeferred = 64;
// In all versions, before the saved registers of a g: the newest panic and the newest deferred call.
constexpr std::uint64_t kPanic = 32, kDefer = 40;

// Below the return address and the saved frame pointer.
std::uint64_t locals_of(const StackFrame& frame) {
  const std::uint64_t return_slot = frame.high - 8;
  return return_slot > frame.low ? return_slot - 8 : return_slot;
}

}  // namespace

LiveSlots::LiveSlots(Goroutines& goroutines, Image& image, CachedReader& memory, const Goroutine& g,
                     std::span<const std::byte> stack)
    : goroutines_(goroutines),
      image_(image),
      memory_(memory),
      g_(g),
      stack_(stack),
      base_(g.stack_top() & ~std::uint64_t{7}),
      frames_(goroutines.unwind(g, stack)) {}

std::optional<LiveSlot> LiveSlots::find(std::uint64_t slot) {
  if (g_.state == GoroutineState::kRunning || frames_.empty()) return LiveSlot{};
  if (const auto live = in_stack_map(slot)) return live;
  find_variables();
  const Variable* variable = variable_at(slot);
  return variable && variable->is_live ? std::optional(variable->owner) : std::nullopt;
}

std::optional<std::uint64_t> LiveSlots::word_at(std::uint64_t address) const {
  if (address < base_ || address - base_ + 8 > stack_.size()) return std::nullopt;
  return value_at<std::uint64_t>(stack_, address - base_);
}

std::optional<LiveSlot> LiveSlots::in_stack_map(std::uint64_t slot) {
  const auto it =
      std::find_if(frames_.begin(), frames_.end(), [&](const StackFrame& f) { return slot >= f.low && slot < f.high; });
  const auto at = static_cast<std::size_t>(it - frames_.begin());
  if (it == frames_.end()) {  // arguments in the caller's area, or not unwound
    return slot < frames_.back().high ? std::optional(LiveSlot{at}) : std::nullopt;
  }
  // What a function was called with lies in its caller's frame, and so does what it spills of its registers.
  if (at > 0 && is_set(frames_[at - 1], kArguments, frames_[at - 1].high, false, slot)) return LiveSlot{at - 1, true};
  return is_set(*it, kLocals, locals_of(*it), true, slot) ? std::optional(LiveSlot{at}) : std::nullopt;
}

// A bit of a stack map: FUNCDATA is {rows, bits of a row, rows of bytes}. Locals end at `base`, arguments begin there.
bool LiveSlots::is_set(const StackFrame& frame, std::uint32_t table, std::uint64_t base, bool is_below,
                       std::uint64_t slot) {
  const bool is_leaf = &frame == &frames_.front() && g_.state == GoroutineState::kRunnable;
  const std::uint64_t pc = !is_leaf && frame.pc > frame.function->entry ? frame.pc - 1 : frame.pc;
  const std::int32_t index = std::max(0, image_.pcdata(*frame.function, kStackMapIndex, pc));
  const auto offset = image_.funcdata(*frame.function, table);
  if (!offset) return false;
  const std::uint64_t map = goroutines_.function_data() + *offset;
  const auto head = memory_.get<std::array<std::int32_t, 2>>(map);
  if (!head.has_value() || (*head)[0] <= index || (*head)[1] <= 0 || (*head)[1] >= (1 << 24)) return false;
  const auto bits = static_cast<std::uint64_t>((*head)[1]);
  const std::uint64_t first = is_below ? base - 8 * bits : base;
  if (slot < first || slot >= first + 8 * bits) return false;
  const std::uint64_t bit = (slot - first) / 8;
  const std::uint64_t row = map + 8 + static_cast<std::uint64_t>(index) * ((bits + 7) / 8);
  const auto byte = memory_.get<std::uint8_t>(row + bit / 8);
  return byte.has_value() && (*byte & (1U << (bit % 8))) != 0;
}

void LiveSlots::add_variables(std::size_t frame) {
  const StackFrame& f = frames_[frame];
  const auto objects = image_.funcdata(*f.function, kVariables);
  if (!objects) return;
  const std::uint64_t list = goroutines_.function_data() + *objects;
  const auto count = memory_.get<std::uint64_t>(list);
  for (std::uint64_t i = 0; count.has_value() && i < *count && variables_->size() < kMaxVariables; ++i) {
    struct StackObject {
      std::int32_t offset, size;
    };
    const auto object = memory_.get<StackObject>(list + 8 + 16 * i);
    if (!object.has_value()) break;
    const bool is_argument = object->offset >= 0;
    const std::uint64_t begin =
        (is_argument ? f.high : locals_of(f)) + static_cast<std::uint64_t>(std::int64_t{object->offset});
    variables_->push_back({begin, begin + static_cast<std::uint32_t>(object->size), {frame, is_argument}, false});
  }
}

void LiveSlots::find_variables() {
  if (variables_) return;
  variables_.emplace();
  for (std::size_t i = 0; i < frames_.size(); ++i) add_variables(i);
  std::sort(variables_->begin(), variables_->end(),
            [](const Variable& a, const Variable& b) { return a.begin < b.begin; });
  if (variables_->empty()) return;
  // Those of a compiler do not overlap. With this, no word is visited twice, whatever a hostile table says.
  for (std::size_t i = 0; i + 1 < variables_->size(); ++i) {
    (*variables_)[i].end = std::min((*variables_)[i].end, (*variables_)[i + 1].begin);
  }
  for (std::uint64_t slot = base_; slot < frames_.back().high; slot += 8) {
    const auto word = word_at(slot);
    if (!word) break;
    if (variable_at(*word) && in_stack_map(slot)) refer_to(*word);
  }
  refer_from_deferred_calls();
  while (!to_visit_.empty()) {
    const Variable& variable = *to_visit_.back();
    to_visit_.pop_back();
    for (std::uint64_t slot = (variable.begin + 7) & ~std::uint64_t{7}; slot + 8 <= variable.end; slot += 8) {
      const auto word = word_at(slot);
      if (!word) break;
      refer_to(*word);
    }
  }
}

// A record says where the stack was when it was made: that tells one from a word which is none. The next one is its
// fifth word or its sixth.
void LiveSlots::refer_from_deferred_calls() {
  refer_to(memory_.get<std::uint64_t>(g_.address + kPanic).value_or(0));
  std::uint64_t record = memory_.get<std::uint64_t>(g_.address + kDefer).value_or(0);
  for (std::size_t i = 0; i < kMaxDeferred && record != 0; ++i) {
    const auto words = memory_.get<std::array<std::uint64_t, 6>>(record);
    record = 0;
    if (!words.has_value() || (*words)[1] < g_.stack_low || (*words)[1] > g_.stack_high) return;
    for (const std::uint64_t word : *words) refer_to(word);
    for (const std::size_t next : {5U, 4U}) {
      const auto sp = memory_.get<std::uint64_t>((*words)[next] + 8);
      if (sp.has_value() && *sp > g_.stack_low && *sp <= g_.stack_high) record = (*words)[next];
    }
  }
}

void LiveSlots::refer_to(std::uint64_t address) {
  Variable* variable = variable_at(address);
  if (!variable || variable->is_live) return;
  variable->is_live = true;
  to_visit_.push_back(variable);
}

LiveSlots::Variable* LiveSlots::variable_at(std::uint64_t address) {
  const auto after = std::upper_bound(variables_->begin(), variables_->end(), address,
                                      [](std::uint64_t a, const Variable& v) { return a < v.begin; });
  if (after == variables_->begin()) return nullptr;
  Variable& variable = *(after - 1);
  return address < variable.end ? &variable : nullptr;
}

}  // namespace oomw::go::retention
