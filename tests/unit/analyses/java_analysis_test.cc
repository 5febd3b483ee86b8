// SPDX-License-Identifier: Apache-2.0
#include "analyses/java_analysis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "events/memory_part.h"
#include "support/mib.h"

namespace oomw {
namespace {

using test::kMiB;
using testing::HasSubstr;

jvm::JavaReading reading_of_service() {
  jvm::JavaReading reading;
  reading.version = 17;
  reading.flags.max_heap_bytes = 512 * kMiB;
  reading.flags.is_max_heap_set = true;
  reading.flags.collector = jvm::Collector::kG1;
  reading.anonymous_bytes = 300 * kMiB;
  reading.heap_bytes = 100 * kMiB;
  reading.code_cache_bytes = 4 * kMiB;
  reading.metaspace_bytes = 10 * kMiB;
  reading.threads = 40;
  reading.thread_stack_bytes = 2 * kMiB;
  reading.direct_buffers = jvm::DirectBuffers{120 * kMiB, 120 * kMiB, 120};
  return reading;
}

MemoryContents malloc_of(std::uint64_t large, std::uint64_t in_use, std::uint64_t free) {
  MemoryContents contents;
  contents.parts = {{"malloc: large blocks", "native", large * kMiB, "heads"},
                    {"malloc: in use", "native", in_use * kMiB, "chunks"},
                    {"malloc: free", "native", free * kMiB, "chunks"}};
  return contents;
}

std::uint64_t part(const HeapAnalysed& heap, std::string_view name) {
  const auto found = std::ranges::find(heap.parts, name, &MemoryShare::name);
  return found == heap.parts.end() ? 0 : found->bytes / kMiB;
}

TEST(JavaAnalysis, direct_buffers_are_taken_out_of_what_malloc_holds) {
  HeapAnalysed heap;
  put_java_reading(reading_of_service(), malloc_of(110, 40, 5), heap);
  EXPECT_EQ(part(heap, memory_part::kDirectBuffers), 120u);
  EXPECT_EQ(part(heap, "malloc: large blocks"), 0u);
  EXPECT_EQ(part(heap, "malloc: in use"), 30u);
  EXPECT_EQ(part(heap, "malloc: free"), 5u);
  EXPECT_EQ(part(heap, memory_part::kUnexplained), 300u - 100 - 4 - 10 - 2 - 120 - 30 - 5);
  EXPECT_EQ(heap.max_heap_bytes, 512 * kMiB);
}

TEST(JavaAnalysis, parts_are_never_more_than_the_whole) {
  HeapAnalysed heap;
  put_java_reading(reading_of_service(), malloc_of(1000, 1000, 1000), heap);
  const std::uint64_t sum = std::accumulate(heap.parts.begin(), heap.parts.end(), std::uint64_t{0},
                                            [](std::uint64_t all, const MemoryShare& one) { return all + one.bytes; });
  EXPECT_EQ(sum, 300 * kMiB);
  EXPECT_TRUE(std::ranges::is_sorted(heap.parts, std::greater<>(), &MemoryShare::bytes));
}

TEST(JavaAnalysis, classes_of_a_sample_are_scaled_to_the_heap) {
  jvm::JavaReading reading = reading_of_service();
  reading.histogram.emplace();
  reading.histogram->used_bytes = 90 * kMiB;
  reading.histogram->walked_bytes = 30 * kMiB;
  reading.histogram->classes = {{"byte[]", 20 * kMiB, 1000}};
  HeapAnalysed heap;
  put_java_reading(reading, {}, heap);
  ASSERT_EQ(heap.fillers.size(), 1u);
  EXPECT_EQ(heap.fillers[0].bytes, 60 * kMiB);
  EXPECT_EQ(heap.fillers[0].count, 3000u);
  EXPECT_DOUBLE_EQ(heap.fillers[0].share, 0.2);
  EXPECT_THAT(heap.notes, testing::Contains(HasSubstr("estimated from 33 % of the heap")));
}

TEST(JavaAnalysis, a_collection_has_its_entries_and_no_bytes) {
  jvm::JavaReading reading = reading_of_service();
  reading.holders = {{"`Outbox.PENDING`", "java.util.ArrayDeque", 172'092}};
  HeapAnalysed heap;
  put_java_reading(reading, {}, heap);
  ASSERT_EQ(heap.fillers.size(), 1u);
  EXPECT_EQ(heap.fillers[0].kind, "holder");
  EXPECT_EQ(heap.fillers[0].held_as, "`Outbox.PENDING`");
  EXPECT_EQ(heap.fillers[0].count, 172'092u);
  EXPECT_EQ(heap.fillers[0].bytes, 0u);
}

TEST(JavaAnalysis, figures_are_those_of_the_reading_and_its_settings) {
  jvm::JavaReading reading = reading_of_service();
  reading.used = jvm::GenerationBytes{30 * kMiB, 50 * kMiB};
  reading.flags.max_metaspace_bytes = ~std::uint64_t{0};
  reading.classes = 9'000;
  HeapAnalysed heap;
  put_java_reading(reading, {}, heap);
  ASSERT_EQ(heap.jvm.size(), 1u);
  const JvmFigures& figures = heap.jvm[0];
  EXPECT_EQ(figures.heap_used_bytes, 80 * kMiB);
  EXPECT_EQ(figures.heap_resident_bytes, 100 * kMiB);
  EXPECT_EQ(figures.heap_max_bytes, 512 * kMiB);
  EXPECT_EQ(figures.heap_committed_bytes, std::nullopt);
  EXPECT_EQ(figures.metaspace_resident_bytes, 10 * kMiB);
  EXPECT_EQ(figures.metaspace_max_bytes, std::nullopt) << "none is set";
  EXPECT_EQ(figures.code_cache_resident_bytes, 4 * kMiB);
  EXPECT_EQ(figures.direct_bytes, 120 * kMiB);
  EXPECT_EQ(figures.direct_buffers, 120u);
  EXPECT_EQ(figures.threads, 40u);
  EXPECT_EQ(figures.loaded_classes, 9'000u);
}

TEST(JavaAnalysis, settings_are_noted_and_what_is_not_known_too) {
  jvm::JavaReading reading = reading_of_service();
  reading.flags.max_metaspace_bytes = ~std::uint64_t{0};
  reading.flags.max_direct_bytes = 64 * kMiB;
  reading.notes = {"threads: none"};
  HeapAnalysed heap;
  put_java_reading(reading, {}, heap);
  EXPECT_THAT(heap.notes, testing::ElementsAre("HotSpot 17, G1 collector, maximum heap 512 MiB (set), "
                                               "-XX:MaxDirectMemorySize=64.0 MiB",
                                               "not known: threads: none"));
}

}  // namespace
}  // namespace oomw
