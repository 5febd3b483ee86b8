// SPDX-License-Identifier: Apache-2.0
#include "growth/growth_wire.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/text.h"
#include "events/json_fields.h"
#include "reader/wire_fields.h"

namespace oomw::growth {
namespace {

// Only the place of its describe() functions: no file has these.
struct Wire {};

struct Ranges {
  std::vector<JobRange> all;
};

void describe(auto& v, Of<JobRange> auto& range) {
  v("begin", range.begin);
  v("end", range.end);
  v("file_offset", range.file_offset);
  v("file", range.file);
  v("name", range.name, Chars{kMaxRangeName});
  v("is_data", range.is_data);
}

void describe(auto& v, Of<Ranges> auto& ranges) { v("ranges", ranges.all, Items{kMaxRanges}); }

void describe(auto& v, Of<GrowthFrame> auto& frame) {
  v("function", frame.function, Chars{kMaxText});
  v("file", frame.file, Chars{kMaxText});
  v("module", frame.module, Chars{kMaxText});
  v("line", frame.line);
  v("is_managed", frame.is_managed);
  v("is_allocator", frame.is_allocator);
  v("is_library", frame.is_library);
  v("uses", frame.uses, Items{GrowthFrame::kMaxUses, GrowthFrame::kMaxUse});
}

void describe(auto& v, Of<UnwoundStack> auto& stack) {
  v("is_complete", stack.is_complete);
  v("frames", stack.frames, Items{kMaxFramesOfStack});
}

void describe(auto& v, Of<PythonLayout> auto& python) {
  v("thread_state", python.thread_state);
  v("id_of_thread", python.id_of_thread);
  v("frame_of_thread", python.frame_of_thread);
  v("frame_of_cframe", python.frame_of_cframe);
  v("code_of_frame", python.code_of_frame);
  v("previous_of_frame", python.previous_of_frame);
  v("instruction_of_frame", python.instruction_of_frame);
  v("has_cframe", python.has_cframe);
}

using ModuleBuild = std::pair<std::string, std::string>;

void describe(auto& v, Of<ModuleBuild> auto& build) {
  v("module", build.first, Chars{kMaxText});
  v("build_id", build.second, Chars{kMaxText});
}

void describe(auto& v, Of<UnwoundSamples> auto& unwound) {
  v("frames", unwound.frames, Items{kMaxFrames});
  v("stacks", unwound.stacks, Items{kMaxSamples});
  v("python", unwound.python);
  v("python_version", unwound.python_version);
  std::vector<ModuleBuild> builds;
  if constexpr (!kReads<decltype(v)>) builds.assign(unwound.builds.begin(), unwound.builds.end());
  v("builds", builds, Items{kMaxCodeFiles});
  if constexpr (kReads<decltype(v)>) unwound.builds.insert(builds.begin(), builds.end());
}

// What no bound of a member says.
Result<> check(UnwoundSamples& unwound, std::size_t stacks) {
  if (unwound.stacks.size() != stacks) {
    return fail(ErrorCode::kInvalid, "the reader answered another number of stacks");
  }
  for (const UnwoundStack& stack : unwound.stacks) {
    const bool is_sound = std::ranges::all_of(stack.frames, [&](auto frame) { return frame < unwound.frames.size(); });
    if (!is_sound) return fail(ErrorCode::kInvalid, "a stack of the reader has no such frame");
  }
  for (GrowthFrame& frame : unwound.frames) {
    if (frame.function.empty()) frame.function = "[unknown]";
  }
  std::erase_if(unwound.builds,
                [](const auto& one) { return one.second.size() > kMaxBuildId || !is_lower_hex(one.second); });
  return {};
}

}  // namespace

std::string encode_ranges(std::span<const JobRange> ranges) {
  return reader::to_wire<Wire>(Ranges{{ranges.begin(), ranges.end()}});
}

Result<std::vector<JobRange>> decode_ranges(std::string_view bytes, std::size_t code_files) {
  ASSIGN_OR_RETURN(Ranges ranges, (reader::from_wire<Wire, Ranges>(bytes)));
  std::uint64_t end = 0;
  for (const JobRange& range : ranges.all) {
    if (range.begin < end || range.begin >= range.end || range.file >= JobRange::kFirstFile + code_files) {
      return fail(ErrorCode::kInvalid, "the ranges of a job are not sound");
    }
    end = range.end;
  }
  return std::move(ranges.all);
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

std::string encode_unwound(const UnwoundSamples& unwound) { return reader::to_wire<Wire>(unwound); }

Result<UnwoundSamples> decode_unwound(std::string_view bytes, std::size_t stacks) {
  ASSIGN_OR_RETURN(UnwoundSamples unwound, (reader::from_wire<Wire, UnwoundSamples>(bytes)));
  RETURN_IF_ERROR(check(unwound, stacks));
  return unwound;
}

}  // namespace oomw::growth
