// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/inline_tree.h"

#include <algorithm>

#include "runtimes/go/module_data.h"

namespace oomw::go {

namespace {

constexpr std::uint32_t kInlTreeIndex = 2;  // pcdata table
constexpr std::uint32_t kInlTree = 3;       // funcdata table
constexpr std::size_t kSampleFunctions = 64;
constexpr std::uint32_t kMaxFunctionsLookedAt = 8192;
// Words where gofunc has been: 38 in 1.18 and 1.19, 40 in 1.20 to 1.26, 43 in 1.27. Room for more.
constexpr std::size_t kFirstWord = 34, kLastWord = 52;

struct Record20 {
  std::int16_t parent;
  std::uint8_t function_id, padding;
  std::int32_t file, line, name, parent_pc;
};
struct Record16 {
  std::uint8_t function_id, padding[3];
  std::int32_t name, parent_pc, start_line;
};
static_assert(sizeof(Record20) == 20 && sizeof(Record16) == 16);

std::vector<FunctionRecord> sample_with_trees(const Pclntab& table) {
  std::vector<FunctionRecord> sample;
  const std::uint32_t count = std::min(table.function_count(), kMaxFunctionsLookedAt);
  for (std::uint32_t i = 0; i < count && sample.size() < kSampleFunctions; ++i) {
    const auto function = table.function(i);
    if (function.has_value() && table.funcdata(*function, kInlTree)) sample.push_back(*function);
  }
  return sample;
}

std::vector<std::uint64_t> candidate_bases(const elf::File& elf, const Pclntab& table) {
  std::vector<std::uint64_t> bases;
  for (const char* name : {".go.func", ".data.rel.ro.go.func"}) {
    if (const elf::Section* section = elf.find_section(name)) bases.push_back(section->address);
  }
  if (const auto module = ModuleData::find(elf, table); module.has_value()) {
    for (std::size_t i = kFirstWord; i < kLastWord; ++i) {
      const std::uint64_t word = module->word(i);
      if (word != 0 && elf.offset_of(word)) bases.push_back(word);
    }
  }
  return bases;
}

}  // namespace

std::optional<InlineTree::Call> InlineTree::record(const FunctionRecord& function, std::uint32_t index) const {
  const auto offset = table_->funcdata(function, kInlTree);
  if (!offset) return std::nullopt;
  const std::uint64_t tree = base_ + *offset;
  Call call;
  if (shape_ == Shape::k16) {
    const auto raw = elf_->get_at<Record16>(tree + std::uint64_t{index} * sizeof(Record16));
    if (!raw.has_value()) return std::nullopt;
    call = {static_cast<std::uint32_t>(raw->name), static_cast<std::uint32_t>(raw->parent_pc)};
  } else {
    const auto raw = elf_->get_at<Record20>(tree + std::uint64_t{index} * sizeof(Record20));
    if (!raw.has_value() || raw->line <= 0) return std::nullopt;
    call = {static_cast<std::uint32_t>(raw->name), static_cast<std::uint32_t>(raw->parent_pc)};
  }
  const bool is_sensible = table_->is_name_start(call.name_offset) && call.parent_pc < function.end - function.entry;
  return is_sensible ? std::optional(call) : std::nullopt;
}

std::size_t InlineTree::count_sensible(const std::vector<FunctionRecord>& sample) const {
  return static_cast<std::size_t>(
      std::count_if(sample.begin(), sample.end(), [&](const FunctionRecord& f) { return !!record(f, 0); }));
}

std::optional<InlineTree> InlineTree::find(const elf::File& elf, const Pclntab& table) {
  const auto sample = sample_with_trees(table);
  std::optional<InlineTree> best;
  std::size_t best_count = 0;
  for (const std::uint64_t base : candidate_bases(elf, table)) {
    for (const Shape shape : {Shape::k16, Shape::k20}) {
      const InlineTree candidate(elf, table, base, shape);
      const std::size_t count = candidate.count_sensible(sample);
      if (count > best_count) best = candidate;
      best_count = std::max(best_count, count);
    }
  }
  // By chance few records make sense; with the right choice nearly all do.
  return best_count * 10 >= sample.size() * 9 ? best : std::nullopt;
}

std::optional<InlineTree::Call> InlineTree::call_at(const FunctionRecord& function, std::uint64_t code_offset) const {
  if (!table_->funcdata(function, kInlTree)) return std::nullopt;
  const auto index = table_->pcdata_at(function, kInlTreeIndex, code_offset);
  if (!index.has_value() || *index < 0) return std::nullopt;
  return record(function, static_cast<std::uint32_t>(*index));
}

}  // namespace oomw::go
