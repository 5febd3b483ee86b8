// SPDX-License-Identifier: Apache-2.0
#include "growth/unwinder.h"

#include <algorithm>
#include <iterator>
#include <span>

namespace oomw::growth {

namespace {

// What the dynamic linker left on the stack when it bound a function leads to the stub that jumped to it.
bool follow_calls(std::span<const NativeFrame> frames) {
  return std::ranges::all_of(frames, [](const NativeFrame& frame) {
    const bool is_known =
        !frame.is_exact && frame.range != nullptr && frame.range->file != nullptr && frame.address != 0;
    return !is_known || frame.range->file->follows_call(frame.address + 1);
  });
}

}  // namespace

const CodeRange* CodeMap::at(std::uint64_t address) const {
  const auto after = std::ranges::upper_bound(ranges_, address, {}, &CodeRange::begin);
  if (after == ranges_.begin()) return nullptr;
  const CodeRange& range = *std::prev(after);
  return address < range.end ? &range : nullptr;
}

std::optional<elf::Registers> caller_by_frame_pointer(const elf::Registers& registers, const elf::StackCopy& stack) {
  const std::uint64_t bp = registers[elf::kBp];
  if (bp < registers[elf::kSp] || (bp & 7) != 0) return std::nullopt;
  const auto caller_bp = stack.word(bp), caller_ip = stack.word(bp + 8);
  if (!caller_bp || !caller_ip) return std::nullopt;
  elf::Registers caller = registers;
  caller[elf::kBp] = *caller_bp;
  caller[elf::kSp] = bp + 16;
  caller[elf::kIp] = *caller_ip;
  return caller;
}

NativeFrame Unwinder::frame_at(const Place& place, const elf::CfiRow*& row) const {
  NativeFrame frame;
  frame.pc = place.registers[elf::kIp];
  frame.is_exact = place.is_exact;
  // A return address may be the first byte of the next function.
  const std::uint64_t instruction = frame.pc - (place.is_exact ? 0 : 1);
  row = nullptr;
  frame.range = map_.at(instruction);
  if (frame.range == nullptr || frame.range->file == nullptr) return frame;
  const auto address = frame.range->file->address_of(instruction - frame.range->begin + frame.range->file_offset);
  if (!address) return frame;
  frame.address = *address;
  row = frame.range->file->row(*address);
  if (row != nullptr) frame.function = row->function;
  return frame;
}

std::optional<Unwinder::Place> Unwinder::step(const Place& place, const elf::CfiRow& row) const {
  const auto caller = caller_of(row, place.registers, stack_);
  if (!caller) return std::nullopt;
  // The stack only gets shorter; a signal's handler may run on another one.
  const bool is_progress = (*caller)[elf::kSp] > place.registers[elf::kSp];
  if (!is_progress && !row.is_signal_frame) return std::nullopt;
  return Place{*caller, row.is_signal_frame};
}

std::optional<Unwinder::Place> Unwinder::step_at_run_time(const Place& place, NativeFrame& frame) const {
  if (run_time_ == nullptr) return std::nullopt;
  const auto step = run_time_->step(place.registers, place.is_exact, stack_);
  if (!step || step->caller[elf::kSp] <= place.registers[elf::kSp]) return std::nullopt;
  // That it follows a call is not asked: V8 has return addresses that do not.
  if (map_.at(step->caller[elf::kIp] - 1) == nullptr) return std::nullopt;
  frame.method = step->method;
  return Place{step->caller, false};
}

Unwinder::End Unwinder::walk(Place place, int scans, std::vector<NativeFrame>& frames) {
  while (frames.size() < kMaxFrames && ++steps_ <= kMaxSteps) {
    if (place.registers[elf::kIp] == 0) return End::kBroken;
    const elf::CfiRow* row = nullptr;
    frames.push_back(frame_at(place, row));
    if (frames.back().range == nullptr) return End::kBroken;
    if (row == nullptr) {
      const auto next = step_at_run_time(place, frames.back());
      if (!next) return go_on_without(place, scans, frames);
      if (!believed_) believed_.emplace(place, frames.size());
      place = *next;
      continue;
    }
    if (row->rules[elf::kIp].kind == elf::RuleKind::kUndefined) return End::kOutermost;
    const auto next = step(place, *row);
    if (!next) return End::kBroken;
    place = *next;
  }
  return End::kBroken;
}

std::optional<Unwinder::Place> Unwinder::by_frame_pointer(const Place& place) const {
  const auto caller = caller_by_frame_pointer(place.registers, stack_);
  const bool is_code = caller && map_.at((*caller)[elf::kIp] - 1) != nullptr;
  return is_code ? std::optional(Place{*caller, false}) : std::nullopt;
}

// Whether the unwinding from a place that was guessed comes to the first frame; its frames are added then.
bool Unwinder::accept(const Place& place, int scans, std::vector<NativeFrame>& frames) {
  std::vector<NativeFrame> tried = frames;
  const std::size_t before = tried.size();
  const End end = walk(place, scans, tried);
  // A C library without tables calls main(), so the outermost frame has none either: the rest of the stack is empty.
  const bool is_back = end == End::kNothing && tried.size() > before + 1;
  if ((end != End::kOutermost && !is_back) || !follow_calls(std::span(tried).subspan(before))) return false;
  frames = std::move(tried);
  return true;
}

Unwinder::End Unwinder::go_on_without(const Place& place, int scans, std::vector<NativeFrame>& frames) {
  if (scans <= 0) return End::kBroken;
  const CodeRange& range = *frames.back().range;
  const bool may_have_frame_pointers = range.file == nullptr || !range.file->has_tables();
  const auto next = may_have_frame_pointers ? by_frame_pointer(place) : std::nullopt;
  if (next && accept(*next, scans - 1, frames)) return End::kOutermost;
  const End end = scan(place, scans - 1, frames);
  if (end != End::kBroken || !next) return end;
  // Not proved, so not complete: the callers as far as they go.
  return walk(*next, 0, frames) == End::kOutermost ? End::kOutermost : End::kBroken;
}

std::optional<Unwinder::Place> Unwinder::return_at(std::uint64_t address, const Place& place) const {
  const auto word = stack_.word(address);
  const CodeRange* range = word ? map_.at(*word - 1) : nullptr;
  if (range == nullptr || range->file == nullptr) return std::nullopt;
  const auto target = range->file->address_of(*word - range->begin + range->file_offset);
  if (!target || !range->file->follows_call(*target) || range->file->row(*target - 1) == nullptr) return std::nullopt;
  Place next{place.registers, false};
  next.registers[elf::kIp] = *word;
  next.registers[elf::kSp] = address + 8;
  // A function without tables pushes the caller's frame pointer first of all, if it uses the register.
  const auto below = stack_.word(address - 8);
  const bool is_frame_pointer = below && *below > address && *below < stack_.end() && (*below & 7) == 0;
  if (address > place.registers[elf::kSp] && is_frame_pointer) next.registers[elf::kBp] = *below;
  return next;
}

Unwinder::End Unwinder::scan(const Place& place, int scans, std::vector<NativeFrame>& frames) {
  const std::uint64_t begin = place.registers[elf::kSp];
  bool has_candidate = false;
  std::size_t i = 0;
  for (; i < kScannedWords && steps_ < kMaxSteps; ++i) {
    const std::uint64_t address = begin + 8 * i;
    if (!stack_.word(address)) break;
    const auto next = return_at(address, place);
    if (!next) continue;
    has_candidate = true;
    if (accept(*next, scans, frames)) return End::kOutermost;
  }
  const bool is_at_end = !stack_.word(begin + 8 * i).has_value() && begin + 8 * i >= stack_.begin && !stack_.is_cut;
  return is_at_end && !has_candidate ? End::kNothing : End::kBroken;
}

NativeStack Unwinder::unwind(const elf::Registers& registers) {
  steps_ = 0;
  believed_.reset();
  NativeStack stack;
  End end = walk({registers, true}, kMaxScans, stack.frames);
  if (end != End::kOutermost && believed_) {
    const auto [place, count] = *believed_;
    std::vector<NativeFrame> frames(stack.frames.begin(), stack.frames.begin() + static_cast<std::ptrdiff_t>(count));
    frames.back().method = 0;
    if (go_on_without(place, kMaxScans, frames) == End::kOutermost) {
      end = End::kOutermost;
      stack.frames = std::move(frames);
    }
  }
  stack.is_complete = end == End::kOutermost;
  return stack;
}

}  // namespace oomw::growth
