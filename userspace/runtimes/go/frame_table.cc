// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/frame_table.h"

#include <algorithm>
#include <string_view>

#include "base/result.h"

namespace oomw::go {

std::optional<std::uint32_t> TextPool::intern(const std::string& text) {
  if (const auto it = numbers_.find(text); it != numbers_.end()) return it->second;
  if (texts_.size() == kMaxTexts || bytes_ + text.size() > kMaxBytes) return std::nullopt;
  bytes_ += text.size();
  const auto number = static_cast<std::uint32_t>(texts_.size());
  texts_.push_back(&numbers_.emplace(text, number).first->first);
  return number;
}

std::vector<std::string> TextPool::all() const {
  std::vector<std::string> all;
  all.reserve(texts_.size());
  for (const std::string* text : texts_) all.push_back(*text);
  return all;
}

void FrameTable::want(std::span<const std::uint64_t> pcs, std::uint64_t load_bias) {
  for (std::size_t i = 0; i < pcs.size(); ++i) want(pcs[i] - load_bias, i + 1 == pcs.size());
}

void FrameTable::want(std::uint64_t pc, bool ends_stack) {
  const auto known = places_.find(pc);
  if (known != places_.end() && (known->second.has_callers || !ends_stack)) return;
  if (known == places_.end() && places_.size() == NamedFrames::kMaxAddresses) {
    ++unknown_frames_;
    return;
  }
  Place& place = known != places_.end() ? known->second : places_[pc];
  place.has_callers = ends_stack;
  if (place.wanted_at) {
    wanted_[*place.wanted_at].ends_stack = true;
  } else {
    place.wanted_at = static_cast<std::uint32_t>(wanted_.size());
    wanted_.push_back({pc, ends_stack});
  }
}

void FrameTable::add(const NamedFrames& named) {
  OOMW_CHECK(named.counts.size() == wanted_.size());
  std::vector<std::optional<std::uint32_t>> numbers;
  numbers.reserve(named.texts.size());
  for (const std::string& text : named.texts) numbers.push_back(texts_.intern(text));
  std::size_t next = 0;
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    Place& place = places_.at(wanted_[i].pc);
    const bool is_new = place.count == 0;
    const bool is_full = frames_.size() >= NamedFrames::kMaxFrames;
    place.first = static_cast<std::uint32_t>(frames_.size());
    place.count = is_full ? 1 : named.counts[i];
    place.wanted_at.reset();
    for (std::size_t k = 0; k < place.count; ++k) {
      Frame& frame = frames_.emplace_back(named.frames.at(next + k));
      const auto function = numbers.at(frame.function), file = numbers.at(frame.file);
      if (!frame.is_known || !function) frame = Frame{.pc = frame.pc};
      if (frame.is_known) {
        frame.function = *function;
        frame.file = file.value_or(0);
      }
    }
    if (is_new && !frames_[place.first].is_known) ++unknown_frames_;
    next += named.counts[i];
  }
  wanted_.clear();
}

std::span<const Frame> FrameTable::frames_of(std::uint64_t pc) const {
  const auto known = places_.find(pc);
  if (known == places_.end()) return {};
  return std::span(frames_).subspan(known->second.first, known->second.count);
}

bool FrameTable::is_runtime(const Frame& frame) const {
  const std::string_view name = text(frame.function);
  return name.starts_with("runtime.") || name.starts_with("internal/runtime/");
}

std::vector<Frame> FrameTable::stack(std::span<const std::uint64_t> pcs, std::uint64_t load_bias) const {
  std::vector<Frame> frames;
  frames.reserve(pcs.size());
  for (std::size_t i = 0; i < pcs.size(); ++i) {
    const std::span<const Frame> named = frames_of(pcs[i] - load_bias);
    const std::size_t shown = i + 1 == pcs.size() ? named.size() : std::min<std::size_t>(named.size(), 1);
    if (shown == 0) frames.emplace_back();
    frames.insert(frames.end(), named.begin(), named.begin() + static_cast<std::ptrdiff_t>(shown));
    // As the process has it: the table's are those of its file.
    for (std::size_t k = std::max<std::size_t>(shown, 1); k > 0; --k) frames[frames.size() - k].pc = pcs[i];
  }
  if (!frames.empty() && text(frames.back().function) == "runtime.goexit") frames.pop_back();
  const auto own = std::ranges::find_if_not(frames, [this](const Frame& frame) { return is_runtime(frame); });
  if (own != frames.end()) frames.erase(frames.begin(), own);
  return frames;
}

}  // namespace oomw::go
