// SPDX-License-Identifier: Apache-2.0
// A heap of V8 that somebody has changed anywhere, and a program's file of any shape: reading them ends within bounds,
// and whatever is named has an identifier's name and no more bytes than there are.
#include <algorithm>
#include <cctype>
#include <cstring>

#include "fuzz/cost_oracle.h"
#include "runtimes/v8/v8_contents.h"
#include "unit/runtimes/v8/fake_heap.h"

namespace {

using namespace oomw;

test::FakeHeap small_heap() {
  test::FakeHeap heap;
  const std::uint64_t locals[] = {heap.string("request"), heap.string("answer")};
  const std::uint64_t session = heap.class_named(heap.string("Session"));
  const std::uint64_t handler = heap.class_named(heap.scope(locals, heap.string("Handler")));
  (void)heap.buffer(test::FakeHeap::kBase + 0x10000, 0x1000);
  for (int i = 0; i < 1500; ++i) {
    const std::uint64_t elements[] = {heap.string("text of one object"), session};
    heap.set(heap.object(i % 2 == 0 ? session : handler, 32), 24, heap.array(elements));
  }
  const std::vector<std::uint64_t> entries(100, heap.object(session, 32));
  const std::uint64_t kept[] = {heap.string("kept")}, values[] = {heap.list(heap.array(entries), entries.size())};
  (void)heap.context(heap.scope(kept, heap.string("keep")), values);
  (void)heap.free_space(4096);
  heap.fill(session, 32, heap.left() / 32);
  heap.set(test::FakeHeap::kBase + 1, 24, test::FakeHeap::kBase + test::FakeHeap::kHead);
  heap.set(test::FakeHeap::kBase + 1, 32, test::FakeHeap::kBase + v8::kBlockBytes);
  return heap;
}

bool consists_of(const std::string& name, std::string_view others) {
  return std::ranges::all_of(name, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || others.find(c) != std::string_view::npos;
  });
}

bool is_name(const ContentFiller& filler) {
  if (filler.held_as.empty()) return filler.name.starts_with('(') || consists_of(filler.name, "_$:# {},.-`()");
  return consists_of(filler.name, "_$# {},.`") && consists_of(filler.held_as, "_$# `,.-:()");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Tables for a heap of any size, and samples of each shape.
  const fuzz::CostOracle oracle(size, {.fixed_bytes = 64U << 20, .fixed_us = 3'000'000});
  static const v8::Constants kConstants = v8::constants_of(test::exported_by_v8()).value();
  static const test::FakeHeap kWhole = small_heap();
  (void)v8::read_constants(SpanSource(std::as_bytes(std::span(data, size))));
  test::FakeHeap heap = kWhole;
  // Each patch: 4 bytes of where, 8 bytes of what.
  constexpr std::size_t kPatch = 12, kMaxPatches = 4096;
  for (std::size_t i = 0; i < std::min(size / kPatch, kMaxPatches); ++i) {
    std::uint32_t where = 0;
    std::memcpy(&where, data + i * kPatch, sizeof where);
    std::memcpy(heap.bytes().data() + where % (v8::kBlockBytes / 8) * 8, data + i * kPatch + 4, 8);
  }
  const SpanSource memory(heap.bytes(), test::FakeHeap::kBase);
  (void)v8::read_contents(heap.space(memory), kConstants, {2, size});
  const auto contents = v8::read_contents(heap.space(memory), kConstants);
  if (!contents.has_value()) return 0;
  for (const ContentFiller& filler : contents->fillers) {
    if (filler.kind != ContentKind::kSize && !is_name(filler)) __builtin_trap();
    if (filler.kind == ContentKind::kHolder && filler.bytes > 4 * v8::kBlockBytes) __builtin_trap();
  }
  return 0;
}
