// SPDX-License-Identifier: Apache-2.0
#include "growth/growth_wire.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "reader/wire.h"

namespace oomw::growth {
namespace {

constexpr std::uint64_t kManaged = 1, kAllocator = 2, kLibrary = 4;

GrowthFrame read_frame(reader::WireReader& in) {
  GrowthFrame frame;
  frame.function = printable(in.text(), kMaxText);
  frame.file = printable(in.text(), kMaxText);
  frame.module = printable(in.text(), kMaxText);
  frame.line = in.number();
  const std::uint64_t flags = in.number();
  frame.is_managed = (flags & kManaged) != 0;
  frame.is_allocator = (flags & kAllocator) != 0;
  frame.is_library = (flags & kLibrary) != 0;
  const std::uint64_t uses = in.number();
  for (std::uint64_t i = 0; i < uses && in.is_good(); ++i) {
    std::string name = printable(in.text(), GrowthFrame::kMaxUse);
    if (i < GrowthFrame::kMaxUses) frame.uses.push_back(std::move(name));
  }
  if (frame.function.empty()) frame.function = "[unknown]";
  return frame;
}

Result<UnwoundStack> read_stack(reader::WireReader& in, std::size_t frames) {
  UnwoundStack stack;
  stack.is_complete = in.number() != 0;
  const std::uint64_t count = in.number();
  if (count > kMaxFramesOfStack) return fail(ErrorCode::kInvalid, "a stack of the reader has too many frames");
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t frame = in.number();
    if (!in.is_good() || frame >= frames) return fail(ErrorCode::kInvalid, "a stack of the reader has no such frame");
    stack.frames.push_back(static_cast<std::uint32_t>(frame));
  }
  return stack;
}

PythonLayout read_layout(reader::WireReader& in) {
  PythonLayout layout;
  layout.thread_state = in.number();
  for (std::uint32_t* offset : {&layout.id_of_thread, &layout.frame_of_thread, &layout.frame_of_cframe,
                                &layout.code_of_frame, &layout.previous_of_frame, &layout.instruction_of_frame}) {
    *offset = static_cast<std::uint32_t>(in.number());
  }
  layout.has_cframe = in.number() != 0;
  return layout;
}

// A build id that is none is left out.
ModuleBuilds read_builds(reader::WireReader& in) {
  ModuleBuilds builds;
  const std::uint64_t count = in.number();
  for (std::uint64_t i = 0; i < count && in.is_good(); ++i) {
    std::string module = printable(in.text(), kMaxText);
    const std::string_view build_id = in.text();
    const bool is_sound = build_id.size() <= kMaxBuildId && is_lower_hex(build_id) && builds.size() < kMaxCodeFiles;
    if (is_sound) builds.emplace(std::move(module), build_id);
  }
  return builds;
}

}  // namespace

std::string encode_ranges(std::span<const JobRange> ranges) {
  reader::WireWriter out;
  ranges = ranges.first(std::min(ranges.size(), kMaxRanges));
  out.number(ranges.size());
  for (const JobRange& range : ranges) {
    out.number(range.begin).number(range.end).number(range.file_offset).number(range.file);
    out.text(std::string_view(range.name).substr(0, kMaxRangeName)).number(range.is_data ? 1 : 0);
  }
  return out.take();
}

Result<std::vector<JobRange>> decode_ranges(std::string_view bytes, std::size_t code_files) {
  reader::WireReader in(bytes);
  const std::uint64_t count = in.number();
  if (count > kMaxRanges) return fail(ErrorCode::kInvalid, "more ranges than a job may have");
  std::vector<JobRange> ranges;
  for (std::uint64_t i = 0; i < count && in.is_good(); ++i) {
    JobRange range;
    range.begin = in.number();
    range.end = in.number();
    range.file_offset = in.number();
    range.file = in.number();
    range.name = in.text();
    range.is_data = in.number() != 0;
    const bool is_in_order = range.begin < range.end && (ranges.empty() || ranges.back().end <= range.begin);
    if (!is_in_order || range.file >= JobRange::kFirstFile + code_files) {
      return fail(ErrorCode::kInvalid, "the ranges of a job are not sound");
    }
    ranges.push_back(std::move(range));
  }
  if (!in.is_complete()) return fail(ErrorCode::kInvalid, "not the parameters of a job for growth samples");
  return ranges;
}

Result<std::vector<Sample>> parse_samples(std::span<const std::byte> records) {
  std::vector<Sample> samples;
  while (!records.empty()) {
    Sample sample;
    if (samples.size() == kMaxSamples) return fail(ErrorCode::kLimit, "too many growth samples for one job");
    if (records.size() < sizeof sample.head) return fail(ErrorCode::kInvalid, "a growth sample is cut");
    std::memcpy(&sample.head, records.data(), sizeof sample.head);
    const std::size_t size = sample.head.size;
    const bool is_sound = size >= sizeof sample.head && size <= records.size() &&
                          sample.head.stack_bytes <= OOMW_GROWTH_STACK_MAX &&
                          sample.head.stack_bytes <= size - sizeof sample.head;
    if (!is_sound) return fail(ErrorCode::kInvalid, "a growth sample is not sound");
    sample.stack = records.subspan(sizeof sample.head, sample.head.stack_bytes);
    samples.push_back(sample);
    records = records.subspan(size);
  }
  return samples;
}

std::string encode_unwound(const UnwoundSamples& unwound) {
  reader::WireWriter out;
  out.number(unwound.frames.size());
  for (const GrowthFrame& frame : unwound.frames) {
    out.text(frame.function).text(frame.file).text(frame.module).number(frame.line);
    out.number((frame.is_managed ? kManaged : 0) | (frame.is_allocator ? kAllocator : 0) |
               (frame.is_library ? kLibrary : 0));
    out.number(frame.uses.size());
    for (const std::string& name : frame.uses) out.text(name);
  }
  out.number(unwound.stacks.size());
  for (const UnwoundStack& stack : unwound.stacks) {
    out.number(stack.is_complete ? 1 : 0).number(stack.frames.size());
    for (const std::uint32_t frame : stack.frames) out.number(frame);
  }
  const PythonLayout& python = unwound.python;
  out.number(python.thread_state).number(python.id_of_thread).number(python.frame_of_thread);
  out.number(python.frame_of_cframe).number(python.code_of_frame).number(python.previous_of_frame);
  out.number(python.instruction_of_frame).number(python.has_cframe ? 1 : 0).number(unwound.python_version);
  out.number(unwound.builds.size());
  for (const auto& [module, build_id] : unwound.builds) out.text(module).text(build_id);
  return out.take();
}

Result<UnwoundSamples> decode_unwound(std::string_view bytes, std::size_t stacks) {
  reader::WireReader in(bytes);
  UnwoundSamples unwound;
  const std::uint64_t frames = in.number();
  if (frames > kMaxFrames) return fail(ErrorCode::kInvalid, "the reader answered too many frames");
  for (std::uint64_t i = 0; i < frames && in.is_good(); ++i) unwound.frames.push_back(read_frame(in));
  if (in.number() != stacks || !in.is_good()) {
    return fail(ErrorCode::kInvalid, "the reader answered another number of stacks");
  }
  for (std::size_t i = 0; i < stacks; ++i) {
    ASSIGN_OR_RETURN(UnwoundStack stack, read_stack(in, unwound.frames.size()));
    unwound.stacks.push_back(std::move(stack));
  }
  unwound.python = read_layout(in);
  unwound.python_version = static_cast<std::uint32_t>(in.number());
  unwound.builds = read_builds(in);
  if (!in.is_complete()) return fail(ErrorCode::kInvalid, "the reader answered something else");
  return unwound;
}

}  // namespace oomw::growth
