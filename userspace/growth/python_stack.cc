// SPDX-License-Identifier: Apache-2.0
#include "growth/python_stack.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace oomw::growth {
namespace {

// The compiler's name for a part that it moved elsewhere has a suffix.
bool is_evaluation(const GrowthFrame& frame) {
  constexpr std::string_view kMovedElsewhere = ".cold";
  std::string_view name = frame.function;
  if (name.ends_with(kMovedElsewhere)) name.remove_suffix(kMovedElsewhere.size());
  return name == kPythonEvaluation;
}

}  // namespace

PythonSymbols find_python(const std::vector<CodeRange>& code) {
  for (const CodeRange& range : code) {
    if (range.file == nullptr) continue;
    PythonSymbols symbols = range.file->python();
    const auto address = range.file->address_of(range.file_offset);
    if (symbols.version == 0 || !address) continue;
    const std::uint64_t bias = range.begin - *address;
    for (std::uint64_t* one :
         {&symbols.runtime, &symbols.code_type, &symbols.text_type, &symbols.bytes_type, &symbols.none}) {
      *one += bias;
    }
    return symbols;
  }
  return {};
}

std::vector<GrowthFrame> python_frames(const Sample& sample, PythonCodes& codes, PythonReader* reader) {
  std::vector<GrowthFrame> frames;
  const std::uint32_t count = std::min<std::uint32_t>(sample.head.python_frames, OOMW_GROWTH_PYTHON_MAX);
  for (std::uint32_t i = 0; i < count; ++i) {
    const oomw_python_frame& at = sample.head.python[i];
    const std::uint64_t address = PythonReader::address_of(at.code);
    if (reader != nullptr && reader->is_none(address)) continue;
    const PythonCode* code = codes.get({sample.head.tgid, sample.head.start_boottime_ns}, address, reader);
    if (code != nullptr && code->is_interpreters) continue;
    GrowthFrame frame;
    frame.is_managed = true;
    frame.function = "[python]";
    if (code != nullptr) {
      frame.function = code->function;
      frame.file = code->file;
      frame.is_library = code->is_library;
      frame.uses = code->uses;
      frame.line = line_of(*code, at.instruction);
    }
    frames.push_back(std::move(frame));
  }
  return frames;
}

std::vector<GrowthFrame> merge_python(std::vector<GrowthFrame> native, std::vector<GrowthFrame> python) {
  const auto first = std::ranges::find_if(native, is_evaluation);
  if (python.empty() || first == native.end()) return native;
  const auto last = std::find_if(native.rbegin(), native.rend(), is_evaluation).base();
  std::vector<GrowthFrame> merged(std::make_move_iterator(native.begin()), std::make_move_iterator(first));
  std::ranges::move(python, std::back_inserter(merged));
  std::move(last, native.end(), std::back_inserter(merged));
  return merged;
}

}  // namespace oomw::growth
