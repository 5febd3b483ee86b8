// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/symbolizer.h"

#include "base/text.h"
#include "runtimes/go/module_data.h"

namespace oomw::go {

namespace {

constexpr std::size_t kFileBlockBytes = 32U << 10;
constexpr std::uint64_t kMaxFileBytes = std::uint64_t{4} << 30;  // over the symbolizer's life
constexpr int kMaxInlineDepth = 100;

// "main.(*box[go.shape.uint8]).fill" -> "main.(*box[...]).fill"
std::string shortened(std::string name) {
  const std::size_t open = name.find('['), close = name.rfind(']');
  if (open == std::string::npos || close == std::string::npos || close <= open) return name;
  return name.replace(open, close - open + 1, "[...]");
}

bool starts_with(std::string_view text, std::string_view prefix) { return text.substr(0, prefix.size()) == prefix; }

}  // namespace

Symbolizer::Symbolizer(const ByteSource& file, TypeArguments type_arguments)
    : type_arguments_(type_arguments), reader_(file, kMaxFileBytes, kFileBlockBytes) {
  (void)intern("");  // id 0
}

Result<std::unique_ptr<Symbolizer>> Symbolizer::open(const ByteSource& file, TypeArguments type_arguments) {
  std::unique_ptr<Symbolizer> symbolizer(new Symbolizer(file, type_arguments));
  ASSIGN_OR_RETURN(symbolizer->elf_, ElfFile::open(symbolizer->reader_));
  ASSIGN_OR_RETURN(symbolizer->table_, Pclntab::find(*symbolizer->elf_));
  ASSIGN_OR_RETURN(symbolizer->text_start_, find_text_start(*symbolizer->elf_, *symbolizer->table_));
  symbolizer->inline_tree_ = InlineTree::find(*symbolizer->elf_, *symbolizer->table_);
  return symbolizer;
}

std::optional<std::uint32_t> Symbolizer::intern(const std::string& text) {
  if (const auto it = ids_.find(text); it != ids_.end()) return it->second;
  if (text_bytes_ + text.size() > kMaxTextBytes) return std::nullopt;
  text_bytes_ += text.size();
  const auto id = static_cast<std::uint32_t>(texts_.size());
  const auto it = ids_.emplace(text, id).first;
  texts_.push_back(&it->first);
  return id;
}

std::optional<std::uint32_t> Symbolizer::function_name(std::uint32_t name_offset) {
  if (const auto it = names_.find(name_offset); it != names_.end()) return it->second;
  auto name = table_->name_at(name_offset);
  if (!name.has_value()) return std::nullopt;
  if (type_arguments_ == TypeArguments::kShortened) *name = shortened(std::move(*name));
  const auto id = intern(to_valid_utf8(*name));
  if (id) names_.emplace(name_offset, *id);
  return id;
}

Frame Symbolizer::frame_in(const FunctionRecord& function, std::uint64_t pc, std::uint64_t code_offset,
                           std::uint32_t name_offset) {
  Frame frame;
  frame.pc = pc;
  const auto name = function_name(name_offset);
  if (!name) return frame;
  frame.function = *name;
  frame.is_known = true;
  const auto file = table_->file_at(function, code_offset);
  if (file.has_value()) frame.file = intern(to_valid_utf8(*file)).value_or(0);
  const auto line = table_->line_at(function, code_offset);
  frame.line = line.has_value() && *line > 0 ? *line : 0;
  return frame;
}

Frame Symbolizer::resolve(std::uint64_t pc, std::uint64_t code_offset) {
  const auto function = table_->function_at(code_offset);
  if (!function.has_value()) {
    Frame unknown;
    unknown.pc = pc;
    return unknown;
  }
  const auto call = inline_tree_ ? inline_tree_->call_at(*function, code_offset) : std::nullopt;
  return frame_in(*function, pc, code_offset, call ? call->name_offset : function->name_offset);
}

Frame Symbolizer::frame(std::uint64_t pc, std::uint64_t load_bias) {
  // A return address may be the next function's first: the call is the instruction before.
  const std::uint64_t code_offset = pc - 1 - load_bias - text_start_;
  if (const auto it = frames_.find(code_offset); it != frames_.end()) {
    Frame frame = it->second;
    frame.pc = pc;
    return frame;
  }
  const Frame frame = resolve(pc, code_offset);
  if (!frame.is_known) ++unknown_frames_;
  if (frames_.size() < kMaxCachedFrames) frames_.emplace(code_offset, frame);
  return frame;
}

std::vector<Frame> Symbolizer::inlined_chain(std::uint64_t pc, std::uint64_t load_bias) {
  std::vector<Frame> chain = {frame(pc, load_bias)};
  std::uint64_t code_offset = pc - 1 - load_bias - text_start_;
  const auto function = table_->function_at(code_offset);
  if (!function.has_value() || !inline_tree_) return chain;
  for (int depth = 0; depth < kMaxInlineDepth; ++depth) {
    const auto call = inline_tree_->call_at(*function, code_offset);
    if (!call) break;
    code_offset = std::uint64_t{function->entry} + call->parent_pc;
    const auto outer = inline_tree_->call_at(*function, code_offset);
    chain.push_back(frame_in(*function, pc, code_offset, outer ? outer->name_offset : function->name_offset));
  }
  return chain;
}

bool Symbolizer::is_runtime(const Frame& frame) const {
  const std::string& name = text(frame.function);
  return starts_with(name, "runtime.") || starts_with(name, "internal/runtime/");
}

std::vector<Frame> Symbolizer::stack(std::span<const std::uint64_t> pcs, std::uint64_t load_bias) {
  std::vector<Frame> frames;
  for (const std::uint64_t pc : pcs.first(pcs.empty() ? 0 : pcs.size() - 1)) frames.push_back(frame(pc, load_bias));
  if (!pcs.empty()) {
    for (const Frame& last : inlined_chain(pcs.back(), load_bias)) frames.push_back(last);
  }
  if (!frames.empty() && text(frames.back().function) == "runtime.goexit") frames.pop_back();
  std::size_t leading = 0;
  while (leading < frames.size() && is_runtime(frames[leading])) ++leading;
  if (leading < frames.size()) frames.erase(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(leading));
  return frames;
}

}  // namespace oomw::go
