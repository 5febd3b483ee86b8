// SPDX-License-Identifier: Apache-2.0
#include "growth/v8_stack.h"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "base/text.h"

namespace oomw::growth {
namespace {

// A frame of JavaScript's on x86-64, from its frame pointer: frame-constants.h. Frames of V8's own have a small number
// in the place of the context.
constexpr std::uint64_t kContext = 8, kFunction = 16;
constexpr std::size_t kMaxFunctionName = 160;

bool is_object(std::uint64_t word) { return (word & 3) == 1; }

}  // namespace

CodeFile* find_v8(const std::vector<CodeRange>& code) {
  for (const CodeRange& range : code) {
    const bool may_be = range.name == "node" || range.name == "nodejs" || range.name.starts_with("libnode.so");
    if (may_be && range.file != nullptr && range.file->v8() != nullptr) return range.file;
  }
  return nullptr;
}

V8Stack::V8Stack(KnownV8& known, const CodeMap& map, CodeFile& binary, const ByteSource& memory)
    : known_(known),
      map_(map),
      binary_(binary),
      reader_(memory, kMaxRead, CachedReader::kLeastCost),
      names_(reader_, *binary.v8(), known.shapes) {
  const auto first = std::ranges::find(map.ranges(), &binary, &CodeRange::file);
  const std::uint64_t begin = first == map.ranges().end() ? 0 : first->begin - first->file_offset;
  if (std::exchange(known_.begin, begin) != begin) {  // another program by now
    known_ = KnownV8();
    known_.begin = begin;
  }
  is_gone_ = known_.fixed != 0 && !reader_.get<std::uint64_t>(known_.fixed - 1).has_value();
}

std::optional<RunTimeCode::Step> V8Stack::step(const elf::Registers& registers, bool is_exact,
                                               const elf::StackCopy& stack) {
  const CodeRange* range = map_.at(registers[elf::kIp] - (is_exact ? 0 : 1));
  // Its interpreter and what it is built with have no tables, either; the kernel's code has.
  const bool may_be = range != nullptr && (range->has_file ? range->file == &binary_ : range->name != "[vdso]");
  if (!may_be) return std::nullopt;
  const auto caller = caller_by_frame_pointer(registers, stack);
  if (!caller) return std::nullopt;
  const auto context = stack.word(registers[elf::kBp] - kContext),
             function = stack.word(registers[elf::kBp] - kFunction);
  const bool is_scripts = context && function && is_object(*context) && is_object(*function);
  return Step{*caller, is_scripts ? *function : 0};
}

void V8Stack::learn(std::uint64_t object) {
  const auto map = names_.word(object, 0);
  const auto meta = map ? names_.word(*map, 0) : std::nullopt;
  if (!meta || known_.shapes.is_meta(*meta) || names_.word(*meta, 0) != meta) return;
  if (++known_.tries > KnownV8::kMaxTries) return;
  std::vector<std::uint64_t> words(v8::words_of_shape(*binary_.v8()));
  if (!reader_.read(*meta - 1, std::as_writable_bytes(std::span(words))).has_value()) return;
  known_.shapes.take_meta(*meta, words, *binary_.v8());
  if (known_.fixed == 0 && known_.shapes.is_meta(*meta)) known_.fixed = *meta;
}

std::optional<GrowthFrame> V8Stack::read_frame(std::uint64_t function) {
  learn(function);
  learn(names_.word(function, binary_.v8()->function_shared).value_or(0));
  const std::string path = names_.path_of(function);
  if (path.empty()) return std::nullopt;
  GrowthFrame frame;
  frame.is_managed = true;
  frame.function = printable(names_.function_name(function), kMaxFunctionName);
  if (frame.function.empty()) frame.function = "<anonymous>";
  frame.file = printable(names_.file_of(function), kMaxFunctionName);
  frame.is_library = path.starts_with("node:") || path.find("/node_modules/") != std::string::npos;
  return frame;
}

// The collector reuses addresses: one that two functions had names neither.
void V8Stack::keep(std::uint64_t function, const GrowthFrame& frame) {
  if (known_.functions.size() >= KnownV8::kMaxFunctions) known_.functions.clear();
  const auto [known, is_new] = known_.functions.try_emplace(function, frame);
  if (!is_new && !(known->second == frame)) known->second = GrowthFrame();
}

std::vector<GrowthFrame> V8Stack::frames_at(std::uint64_t /*pc*/, bool /*is_exact*/, std::uint64_t method) {
  if (method == 0) return {};
  const auto [read, is_new] = read_.try_emplace(method);
  if (!is_new) return read->second;
  if (is_gone_) {
    const auto known = known_.functions.find(method);
    if (known != known_.functions.end() && !known->second.function.empty()) read->second.push_back(known->second);
  } else if (auto frame = read_frame(method)) {
    keep(method, *frame);
    read->second.push_back(std::move(*frame));
  }
  return read->second;
}

}  // namespace oomw::growth
