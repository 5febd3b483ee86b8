// SPDX-License-Identifier: Apache-2.0
#include "kernel/go_heap.h"

namespace oomw {

struct GoHeap::Impl {};

GoHeap::GoHeap() = default;
GoHeap::~GoHeap() = default;

Result<std::unique_ptr<GoHeap>> GoHeap::make(const SharedMaps&, std::uint32_t) {
  return fail(ErrorCode::kUnsupported, "no walk at the kill");
}
Result<> GoHeap::watch(ProcessKey, const GoHeapAddresses&) { return fail(ErrorCode::kUnsupported, "not served"); }
void GoHeap::unwatch(ProcessKey) {}
Result<> GoHeap::take_chunks(const HeapWalked&, const std::function<void(std::span<const std::byte>)>&) {
  return fail(ErrorCode::kUnsupported, "not served");
}
std::vector<HeapWalked> GoHeap::unreported(MonotonicTime) { return {}; }
std::uint64_t GoHeap::watched() const { return 0; }
std::uint64_t GoHeap::targets_lost() const { return 0; }

}  // namespace oomw
