// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/symbolizer.h"

#include <algorithm>

#include "base/text.h"
#include "runtimes/go/module_data.h"

namespace oomw::go {

Symbolizer::Symbolizer(const ByteSource& file, Limits limits) : reader_(file, limits.bytes, elf::kFileBlockBytes) {}

Result<std::unique_ptr<Symbolizer>> Symbolizer::open(const ByteSource& file, Limits limits) {
  std::unique_ptr<Symbolizer> symbolizer(new Symbolizer(file, limits));
  ASSIGN_OR_RETURN(symbolizer->elf_, elf::File::open(symbolizer->reader_));
  ASSIGN_OR_RETURN(symbolizer->table_, Pclntab::find(*symbolizer->elf_));
  ASSIGN_OR_RETURN(symbolizer->text_start_, find_text_start(*symbolizer->elf_, *symbolizer->table_));
  symbolizer->table_->limit_steps(limits.steps);
  symbolizer->inline_tree_ = InlineTree::find(*symbolizer->elf_, *symbolizer->table_);
  return symbolizer;
}

std::optional<std::uint32_t> Symbolizer::function_name(std::uint32_t name_offset) {
  if (const auto it = names_.find(name_offset); it != names_.end()) return it->second;
  const auto name = table_->name_at(name_offset);
  if (!name.has_value()) return std::nullopt;
  const auto id = texts_.intern(to_valid_utf8(*name));
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
  if (file.has_value()) frame.file = texts_.intern(to_valid_utf8(*file)).value_or(0);
  const auto line = table_->line_at(function, code_offset);
  frame.line = line.has_value() && *line > 0 ? *line : 0;
  return frame;
}

Frame Symbolizer::frame(std::uint64_t pc) {
  // A return address may be the next function's first: the call is the instruction before.
  const std::uint64_t code_offset = pc - 1 - text_start_;
  const auto function = table_->function_at(code_offset);
  if (!function.has_value()) return Frame{.pc = pc};
  const auto call = inline_tree_ ? inline_tree_->call_at(*function, code_offset) : std::nullopt;
  return frame_in(*function, pc, code_offset, call ? call->name_offset : function->name_offset);
}

std::vector<Frame> Symbolizer::inlined_chain(std::uint64_t pc) {
  std::vector<Frame> chain = {frame(pc)};
  std::uint64_t code_offset = pc - 1 - text_start_;
  const auto function = table_->function_at(code_offset);
  if (!function.has_value() || !inline_tree_) return chain;
  while (chain.size() < NamedFrames::kMaxChain) {
    const auto call = inline_tree_->call_at(*function, code_offset);
    if (!call) break;
    code_offset = std::uint64_t{function->entry} + call->parent_pc;
    const auto outer = inline_tree_->call_at(*function, code_offset);
    chain.push_back(frame_in(*function, pc, code_offset, outer ? outer->name_offset : function->name_offset));
  }
  return chain;
}

std::optional<StackPlace> Symbolizer::stack_place(std::uint64_t address) const {
  const std::uint64_t code_offset = address - text_start_;
  const auto function = table_->function_at(code_offset);
  if (!function.has_value()) return std::nullopt;
  const auto bytes = table_->stack_bytes_at(*function, code_offset);
  if (!bytes.has_value()) return std::nullopt;
  return StackPlace{{text_start_ + function->entry, text_start_ + function->end},
                    *bytes,
                    function->is_outermost,
                    function->switches_stack};
}

std::uint64_t Symbolizer::own_bytes() const { return CachedReader::kBlocks * elf::kFileBlockBytes + texts_.bytes(); }

Result<NamedFrames> name_frames(const ByteSource& file, std::span<const WantedAddress> wanted) {
  ASSIGN_OR_RETURN(const auto symbolizer, Symbolizer::open(file));
  NamedFrames named;
  named.counts.reserve(wanted.size());
  for (const WantedAddress& address : wanted) {
    const std::size_t left = wanted.size() - named.counts.size();  // each of them has a frame
    const std::size_t room = NamedFrames::kMaxFrames - std::min(NamedFrames::kMaxFrames, named.frames.size() + left);
    std::vector<Frame> chain =
        address.ends_stack ? symbolizer->inlined_chain(address.pc) : std::vector{symbolizer->frame(address.pc)};
    if (chain.size() - 1 > room) chain.resize(1);
    named.frames.insert(named.frames.end(), chain.begin(), chain.end());
    named.counts.push_back(static_cast<std::uint32_t>(chain.size()));
  }
  named.texts = symbolizer->texts().all();
  return named;
}

}  // namespace oomw::go
