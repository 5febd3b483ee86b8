// SPDX-License-Identifier: Apache-2.0
#include "growth/growth_job.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/text.h"
#include "base/thread_cpu.h"
#include "growth/code_names.h"
#include "growth/growth_wire.h"
#include "growth/java_stack.h"
#include "growth/known_processes.h"
#include "growth/perf_map.h"
#include "growth/python_stack.h"
#include "growth/unwinder.h"
#include "growth/v8_stack.h"
#include "memory/byte_source.h"

namespace oomw {
namespace growth {
namespace {

// A deep stack keeps its ends: who allocates, and what the work was begun for.
constexpr std::size_t kInnermost = 44;
// CPU time, once for the frames and once for what a runtime calls them. A batch takes under 5 ms; tables that are made
// to be slow must not end the reader, which others use, too.
constexpr Nanoseconds kMaxUnwinding = std::chrono::seconds(1);

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "%llx", static_cast<unsigned long long>(value));
  return text;
}

// The answer, each frame once.
class FrameTable {
 public:
  std::uint32_t add(GrowthFrame frame) {
    auto key = std::make_tuple(frame.function, frame.module, frame.file, frame.line, frame.is_managed);
    const auto known = numbers_.find(key);
    if (known != numbers_.end()) return known->second;
    if (frames.size() == kMaxFrames - 1) frame = unnamed("[too many different frames]");
    if (frames.size() >= kMaxFrames) return static_cast<std::uint32_t>(kMaxFrames - 1);
    frames.push_back(std::move(frame));
    return numbers_[std::move(key)] = static_cast<std::uint32_t>(frames.size() - 1);
  }
  static GrowthFrame unnamed(std::string text) {
    GrowthFrame frame;
    frame.function = std::move(text);
    return frame;
  }

  std::vector<GrowthFrame> frames;

 private:
  std::map<std::tuple<std::string, std::string, std::string, std::uint64_t, bool>, std::uint32_t> numbers_;
};

using CodeNames = std::map<std::uint64_t, std::string>;

GrowthFrame run_time_frame(const NativeFrame& native, const CodeNames& names) {
  GrowthFrame frame;
  const auto name = names.find(native.pc);
  if (name != names.end()) {
    frame.function = printable(name->second, kMaxText);
    frame.is_managed = true;
  }
  if (frame.function.empty()) {
    const std::string& range = native.range == nullptr ? "" : native.range->name;
    frame.function = native.range == nullptr ? "[unknown]" : range.empty() ? "[jit]" : printable(range, kMaxText);
  }
  return frame;
}

GrowthFrame frame_of(const NativeFrame& native, const CodeNames& names) {
  if (native.range == nullptr || !native.range->has_file) return run_time_frame(native, names);
  GrowthFrame frame;
  frame.module = printable(native.range->name, kMaxText);
  if (native.range->file != nullptr && native.address != 0) {
    frame.function = printable(native.range->file->name_of(native.address, native.function), kMaxText);
    frame.is_allocator = is_allocator(frame.function, frame.module);
    if (frame.function.empty()) {
      const bool is_known = native.function != 0;
      frame.function = frame.module + (is_known ? "!fn_" + hex(native.function) : "+0x" + hex(native.address));
      if (is_known) frame.uses = native.range->file->texts_of(native.function);
    }
  } else {
    frame.function = frame.module + "+0x" + hex(native.pc - native.range->begin + native.range->file_offset);
  }
  return frame;
}

// One for each function that was inlined there, too.
void add_frames(const NativeFrame& native, const CodeNames& names, RunTimeCode* run_time,
                std::vector<GrowthFrame>& frames) {
  const bool is_made = native.range != nullptr && (!native.range->has_file || native.method != 0);
  if (run_time != nullptr && is_made) {
    std::vector<GrowthFrame> made = run_time->frames_at(native.pc, native.is_exact, native.method);
    std::ranges::move(made, std::back_inserter(frames));
    if (!made.empty()) return;
  }
  std::vector<GoLine> lines;
  if (native.range != nullptr && native.range->file != nullptr && native.address != 0) {
    lines = native.range->file->go_lines(native.address);
  }
  if (lines.empty()) frames.push_back(frame_of(native, names));
  for (GoLine& line : lines) {
    GrowthFrame& frame = frames.emplace_back();
    frame.function = std::move(line.function);
    frame.file = std::move(line.file);
    frame.line = line.line;
    frame.module = printable(native.range->name, kMaxText);
  }
}

ModuleBuilds builds_of(const std::vector<CodeRange>& code) {
  ModuleBuilds builds;
  for (const CodeRange& range : code) {
    if (range.file == nullptr) continue;
    const auto [known, is_new] = builds.emplace(printable(range.name, kMaxText), range.file->build_id());
    if (!is_new && known->second != range.file->build_id()) known->second.clear();
  }
  return builds;
}

UnwoundStack stack_of(std::vector<GrowthFrame> frames, bool is_complete, FrameTable& table) {
  UnwoundStack stack;
  stack.is_complete = is_complete;
  const std::size_t count = frames.size();
  const bool is_deep = count > kMaxFramesOfStack;
  const std::size_t left_out = is_deep ? count - (kMaxFramesOfStack - 1) : 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (is_deep && i == kInnermost) {
      stack.frames.push_back(table.add(FrameTable::unnamed("[frames that are not shown]")));
      i += left_out;
    }
    stack.frames.push_back(table.add(std::move(frames[i])));
  }
  return stack;
}

std::vector<CodeRange> code_ranges(const std::vector<JobRange>& ranges, std::span<const UniqueFd> files,
                                   CodeFiles& cache) {
  std::vector<CodeRange> code;
  for (const JobRange& range : ranges) {
    if (range.is_data) continue;
    CodeRange one{range.begin, range.end, range.file_offset, range.name, nullptr, false};
    one.has_file = range.file != JobRange::kNoFile;
    if (range.file >= JobRange::kFirstFile) {
      one.file = cache.get(files[kFirstCodeFile + range.file - JobRange::kFirstFile].get());
    }
    code.push_back(std::move(one));
  }
  return code;
}

std::vector<MappedBytes> data_ranges(const std::vector<JobRange>& ranges, std::span<const UniqueFd> files) {
  std::vector<MappedBytes> data;
  for (const JobRange& range : ranges) {
    if (!range.is_data || range.file < JobRange::kFirstFile) continue;
    const int file = files[kFirstCodeFile + range.file - JobRange::kFirstFile].get();
    data.push_back({range.begin, range.end, range.file_offset, file});
  }
  return data;
}

std::vector<NativeStack> unwind_all(const std::vector<Sample>& samples, const CodeMap& map, RunTimeCode* run_time) {
  std::vector<NativeStack> stacks;
  const auto begin = thread_cpu();
  for (const Sample& sample : samples) {
    if (!sample.has_stack()) continue;
    if (thread_cpu() - begin > kMaxUnwinding) {
      stacks.emplace_back();
      continue;
    }
    elf::Registers registers;
    std::copy_n(sample.head.registers, elf::kRegisters, registers.begin());
    const elf::StackCopy copy{registers[elf::kSp], sample.stack, (sample.head.flags & OOMW_GROWTH_STACK_CUT) != 0};
    stacks.push_back(Unwinder(map, copy, run_time).unwind(registers));
  }
  return stacks;
}

CodeNames run_time_names(const std::vector<NativeStack>& stacks, int perf_map) {
  std::vector<std::uint64_t> wanted;
  for (const NativeStack& stack : stacks) {
    for (const NativeFrame& frame : stack.frames) {
      if (frame.range != nullptr && !frame.range->has_file) wanted.push_back(frame.pc);
    }
  }
  std::ranges::sort(wanted);
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  if (wanted.empty()) return {};
  return names_in_perf_map(FdSource(perf_map), std::move(wanted));
}

constexpr std::size_t kMaxKnown = 4;  // processes, of each runtime

// These for the life of the reader process, which does one job after the other on one thread.
PythonCodes& kept_codes() {
  static PythonCodes codes;
  return codes;
}
KnownProcesses<KnownJava, kMaxKnown>& kept_java() {
  static KnownProcesses<KnownJava, kMaxKnown> processes;
  return processes;
}
KnownProcesses<KnownV8, kMaxKnown>& kept_v8() {
  static KnownProcesses<KnownV8, kMaxKnown> processes;
  return processes;
}
CodeFiles& kept_files() {
  static CodeFiles files;
  return files;
}

// Null: no runtime whose frames are known. Borrows the memory and the code.
std::unique_ptr<RunTimeCode> run_time_of(const Sample& sample, const CodeMap& map, const JavaImage& java,
                                         const ByteSource& java_memory, const PresentMemory& memory) {
  const std::pair process{sample.head.tgid, sample.head.start_boottime_ns};
  if (!java.symbols.empty()) {
    return std::make_unique<JavaStack>(kept_java().get(process), java.symbols, java_memory, memory);
  }
  CodeFile* node = find_v8(map.ranges());
  return node == nullptr ? nullptr : std::make_unique<V8Stack>(kept_v8().get(process), map, *node, memory);
}

Result<UnwoundSamples> unwind(const std::vector<JobRange>& ranges, std::span<const std::byte> records,
                              std::span<const UniqueFd> files) {
  ASSIGN_OR_RETURN(const std::vector<Sample> samples, parse_samples(records));
  std::vector<CodeRange> code = code_ranges(ranges, files, kept_files());
  const PresentMemory memory(files[kMemoryFile].get(), files[kPageMapFile].get());
  const JavaImage image = find_java(code, data_ranges(ranges, files));
  const ImageMemory image_memory(memory, image.files);
  const PythonSymbols symbols = find_python(code);
  PythonReader python(symbols, memory);
  UnwoundSamples unwound;
  unwound.python_version = symbols.version;
  unwound.builds = builds_of(code);
  const CodeMap map(std::move(code));
  const auto run_time = samples.empty() ? nullptr : run_time_of(samples.front(), map, image, image_memory, memory);
  const std::vector<NativeStack> stacks = unwind_all(samples, map, run_time.get());
  const CodeNames names = run_time_names(stacks, files[kPerfMapFile].get());
  FrameTable table;
  unwound.python = python.layout().value_or(PythonLayout{});
  auto stack = stacks.begin();
  const auto begin = thread_cpu();
  for (const Sample& sample : samples) {
    if (!sample.has_stack()) continue;
    const bool is_in_time = thread_cpu() - begin <= kMaxUnwinding;
    std::vector<GrowthFrame> frames;
    for (const NativeFrame& native : stack->frames) {
      add_frames(native, names, is_in_time ? run_time.get() : nullptr, frames);
    }
    frames = merge_python(std::move(frames), python_frames(sample, kept_codes(), &python));
    unwound.stacks.push_back(stack_of(std::move(frames), stack->is_complete, table));
    ++stack;
  }
  unwound.frames = std::move(table.frames);
  return unwound;
}

}  // namespace
}  // namespace growth

Result<std::string> unwind_samples_job(std::string_view parameters, std::span<const UniqueFd> files) {
  using namespace growth;
  if (files.size() < kFirstCodeFile) return fail(ErrorCode::kInternal, "not the files it needs");
  ASSIGN_OR_RETURN(const auto ranges, decode_ranges(parameters, files.size() - kFirstCodeFile));
  const off_t end = ::lseek(files[kRecordsFile].get(), 0, SEEK_END);
  if (end < 0 || static_cast<std::size_t>(end) > kMaxRecordBytes) {
    return fail(ErrorCode::kLimit, "too many growth samples for one job");
  }
  std::vector<std::byte> records(static_cast<std::size_t>(end));
  ASSIGN_OR_RETURN(const std::size_t size, FdSource(files[kRecordsFile].get()).read_some(0, records));
  records.resize(size);
  const auto unwound = growth::unwind(ranges, records, files);
  kept_files().trim();
  if (!unwound) return tl::make_unexpected(unwound.error());
  const std::string answer = encode_unwound(*unwound);
  if (answer.size() > kMaxAnswerBytes) return fail(ErrorCode::kLimit, "the frames of the samples are too many");
  RETURN_IF_ERROR(write_all(files[kAnswerFile].get(), answer));
  return std::string();
}

}  // namespace oomw
