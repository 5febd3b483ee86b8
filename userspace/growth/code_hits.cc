// SPDX-License-Identifier: Apache-2.0
#include "growth/code_hits.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace oomw::growth {
namespace {

// An instruction pointer, which is certain, is worth more than all words of one stack.
constexpr std::uint64_t kInstructionPointer = OOMW_GROWTH_STACK_MAX;

void count(std::vector<CodeHits>& code, std::uint64_t address, std::uint64_t weight) {
  const auto after =
      std::ranges::upper_bound(code, address, {}, [](const CodeHits& one) { return one.mapping->begin; });
  if (after == code.begin()) return;
  CodeHits& found = *std::prev(after);
  // A return address may stand right behind the last instruction.
  if (address <= found.mapping->end) found.hits += weight;
}

void count_words(std::vector<CodeHits>& code, const Sample& sample, std::uint64_t lowest, std::uint64_t highest) {
  const std::uint64_t misaligned = sample.head.registers[OOMW_GROWTH_REG_SP] % 8;
  for (std::size_t at = misaligned == 0 ? 0 : 8 - misaligned; at + 8 <= sample.stack.size(); at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, sample.stack.data() + at, sizeof word);
    if (word >= lowest && word <= highest) count(code, word, 1);
  }
}

}  // namespace

std::vector<CodeHits> code_hits(const MemoryMap& map, const std::vector<Sample>& samples) {
  std::vector<CodeHits> code;
  for (const Mapping& mapping : map.mappings()) {
    if (mapping.is_executable) code.push_back({&mapping, 0});
  }
  if (code.empty()) return code;
  const std::uint64_t lowest = code.front().mapping->begin, highest = code.back().mapping->end;
  for (const Sample& sample : samples) {
    if (!sample.has_stack()) continue;
    count(code, sample.head.registers[OOMW_GROWTH_REG_IP], kInstructionPointer);
    count_words(code, sample, lowest, highest);
  }
  std::erase_if(code, [](const CodeHits& one) { return one.hits == 0; });
  return code;
}

}  // namespace oomw::growth
