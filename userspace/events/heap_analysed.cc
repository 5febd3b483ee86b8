// SPDX-License-Identifier: Apache-2.0
#include "events/heap_analysed.h"

namespace oomw {
namespace {

std::uint64_t size_of(const std::vector<std::string>& texts) {
  std::uint64_t bytes = texts.size() * sizeof(std::string);
  for (const std::string& text : texts) bytes += text.size();
  return bytes;
}

}  // namespace

std::uint64_t size_of(const HeapAnalysed& analysed) {
  std::uint64_t bytes = sizeof analysed + analysed.detail.size() + analysed.why_no_owner.size();
  for (const HeapHolder& holder : analysed.holders) {
    bytes += sizeof holder + holder.component.size() + size_of(holder.chain);
  }
  for (const GoroutineStack& stack : analysed.goroutines) bytes += sizeof stack + size_of(stack.stack);
  for (const GoroutineList& list : analysed.goroutine_list) bytes += sizeof list + size_of(list.wait_reasons);
  for (const PoolTable& table : analysed.pool_table) {
    bytes += sizeof table + table.types.size() * sizeof(PoolTable::Type);
    for (const PoolTable::Type& type : table.types) bytes += type.name.size();
  }
  for (const PoolsAtKill& pools : analysed.pools) {
    bytes += sizeof pools + pools.types.size() * sizeof(PoolsAtKill::Type);
    for (const PoolsAtKill::Type& type : pools.types) bytes += type.name.size();
  }
  for (const HeapFiller& filler : analysed.fillers) {
    bytes += sizeof filler + filler.name.size() + filler.held_as.size();
  }
  for (const MemoryShare& part : analysed.parts) bytes += sizeof part + part.name.size() + part.source.size();
  bytes += analysed.jvm.size() * sizeof(JvmFigures);
  return bytes + size_of(analysed.notes) + analysed.files.size() * sizeof(HeapAnalysed::File);
}

}  // namespace oomw
