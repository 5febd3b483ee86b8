// SPDX-License-Identifier: Apache-2.0
#include "runtimes/jvm/java_reading.h"

#include <algorithm>

namespace oomw::jvm {
namespace {

// The tables and the flags take 2 MiB, 10,000 classes 40 MiB in small blocks.
constexpr std::uint64_t kMaxStructureBytes = 256u << 20;
constexpr std::size_t kBlockBytes = 4096;
constexpr int kAttempts = 2;                 // a collection that moves objects meanwhile is over soon
constexpr std::uint64_t kFewThreads = 4096;  // a list that is worth reading twice

std::uint64_t present_in(const AddressSpace& space, const std::optional<AddressSpan>& span) {
  return span ? space.present().bytes_in(span->begin, span->end) : 0;
}

// In order, and without overlap.
void merge(std::vector<AddressSpan>& spans) {
  std::erase_if(spans, [](const AddressSpan& span) { return span.begin >= span.end; });
  std::ranges::sort(spans, {}, &AddressSpan::begin);
  std::size_t kept = 0;
  for (std::size_t i = 1; i < spans.size(); ++i) {
    if (spans[i].begin <= spans[kept].end) {
      spans[kept].end = std::max(spans[kept].end, spans[i].end);
    } else {
      spans[++kept] = spans[i];
    }
  }
  if (!spans.empty()) spans.resize(kept + 1);
}

void read_used(const std::vector<HeapSpace>& spaces, JavaReading& reading) {
  GenerationBytes& used = reading.used.emplace();
  for (const HeapSpace& space : spaces) {
    (space.generation == Generation::kYoung ? used.young : used.old) += space.objects.size();
  }
}

void read_threads(const Jvm& jvm, const AddressSpace& space, JavaReading& reading, std::vector<AddressSpan>& gaps) {
  Result<JavaThreads> threads = jvm.threads();
  if (!threads.has_value()) {
    reading.notes.push_back("threads: " + threads.error().message);
    return;
  }
  reading.threads = threads->count;
  std::uint64_t bytes = 0;
  for (const AddressSpan& stack : threads->stacks) bytes += present_in(space, stack);
  reading.owned.insert(reading.owned.end(), threads->stacks.begin(), threads->stacks.end());
  reading.thread_stack_bytes = std::min(bytes, reading.anonymous_bytes);
  gaps = std::move(threads->gaps);
}

// Its own classes, for what they hold.
std::vector<std::uint64_t> read_classes(const Jvm& jvm, const AddressSpace& space, JavaReading& reading) {
  Result<LoadedClasses> classes = read_loaded_classes(jvm);
  if (!classes.has_value()) {
    reading.notes.push_back("classes: " + classes.error().message);
    return {};
  }
  reading.classes = classes->count;
  reading.class_loaders = classes->loaders;
  reading.direct_buffers = classes->direct_buffers;
  if (!classes->direct_buffers) reading.notes.emplace_back("direct buffers: their counters could not be verified");
  if (!classes->is_complete) reading.notes.emplace_back("classes: more than are counted");
  if (classes->metaspace_blocks.empty()) return std::move(classes->own);
  std::uint64_t bytes = 0;
  for (const std::uint64_t block : classes->metaspace_blocks) {
    bytes += space.present().bytes_in(block, block + LoadedClasses::kMetaspaceBlock);
    reading.owned.push_back({block, block + LoadedClasses::kMetaspaceBlock});
  }
  reading.metaspace_bytes = bytes;
  return std::move(classes->own);
}

// True: objects moved meanwhile.
bool read_histogram(const Jvm& jvm, const FreshMemory& process, const Result<std::vector<HeapSpace>>& spaces,
                    const std::vector<AddressSpan>& gaps, const JavaLimits& limits, JavaReading& reading) {
  Result<ClassHistogram> found = fail(ErrorCode::kInternal, "");
  if (spaces.has_value()) {
    found = read_class_histogram(jvm, process, *spaces, gaps, limits.histogram);
  } else {
    found = tl::make_unexpected(spaces.error());
  }
  if (found.has_value()) {
    reading.histogram = std::move(*found);
  } else {
    reading.notes.push_back("what fills the heap: " + found.error().message);
  }
  return !found.has_value() && found.error().code == ErrorCode::kInvalid;
}

// What a program changes while it runs, with a reader of its own: those pages have changed since the tables were read.
bool read_changing(const Jvm& jvm, const FreshMemory& process, const std::vector<std::uint64_t>& own_classes,
                   const JavaLimits& limits, JavaReading& reading) {
  CachedReader later(process, kMaxStructureBytes, kBlockBytes), again(process, kMaxStructureBytes, kBlockBytes);
  const Jvm jvm_later = jvm.with(later);
  const Result<std::vector<HeapSpace>> spaces = read_heap_spaces(jvm_later);
  if (spaces.has_value()) read_used(*spaces, reading);
  auto holders = read_static_holders(jvm_later, jvm.with(again), own_classes);
  if (holders.has_value()) reading.holders = std::move(*holders);
  std::vector<AddressSpan> gaps;
  read_threads(jvm_later, process.space(), reading, gaps);
  return limits.wants_histogram && read_histogram(jvm_later, process, spaces, gaps, limits, reading);
}

}  // namespace

Result<JavaReading> read_java(const FreshMemory& process, const VmSymbols& symbols, const JavaLimits& limits) {
  const AddressSpace& space = process.space();
  CachedReader memory(process, kMaxStructureBytes, kBlockBytes);
  ASSIGN_OR_RETURN(const Jvm jvm, Jvm::open(memory, symbols));
  JavaReading reading;
  reading.version = jvm.version();
  reading.flags = jvm.flags();
  reading.anonymous_bytes = space.present().bytes();
  reading.heap_bytes = present_in(space, jvm.heap_span());
  reading.code_cache_bytes = present_in(space, jvm.code_cache());
  reading.archive_bytes = present_in(space, jvm.class_archive());
  reading.owned.push_back(jvm.heap_span());
  if (const auto span = jvm.code_cache()) reading.owned.push_back(*span);
  if (const auto span = jvm.class_archive()) reading.owned.push_back(*span);
  const std::vector<std::uint64_t> own_classes = read_classes(jvm, space, reading);
  const JavaReading fixed = reading;
  const int attempts = limits.histogram.rate.is_whole() ? kAttempts : 1;  // a sample is taken because time is short
  for (int attempt = 0; attempt < attempts; ++attempt) {
    reading = fixed;
    const bool has_moved = read_changing(jvm, process, own_classes, limits, reading);
    if (!has_moved || reading.threads.value_or(0) > kFewThreads) break;
  }
  merge(reading.owned);
  reading.bytes_read = process.bytes_read();
  return reading;
}

}  // namespace oomw::jvm
