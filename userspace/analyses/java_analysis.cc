// SPDX-License-Identifier: Apache-2.0
#include "analyses/java_analysis.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "events/memory_part.h"
#include "memory/deadline_source.h"
#include "memory/fresh_memory.h"
#include "runtimes/jvm/libjvm.h"
#include "runtimes/native/native_contents.h"

namespace oomw {
namespace {

// 0.3 to 0.4 ms of CPU time for each MiB: 0.4 s.
constexpr std::uint64_t kMaxWalked = 1u << 30, kMaxJavaBytes = 3ull << 30;
constexpr std::uint64_t kNoMaximum = 1ull << 40;  // the JVM's default of a maximum is 2^64 or so
constexpr std::string_view kLibrary = "libjvm.so";

const SubjectLibrary* library_of(const AnalysisSubject& subject) {
  const auto found = std::ranges::find_if(
      subject.libraries, [](const SubjectLibrary& one) { return one.name == kLibrary && one.file_offset == 0; });
  return found == subject.libraries.end() ? nullptr : &*found;
}

// Pages that the JVM has not changed come from the files that it maps: its library, and the archive of classes.
std::vector<FileImage> mapped_files(const AnalysisSubject& subject, const MemoryMap& map) {
  std::vector<FileImage> files;
  for (const SubjectLibrary& library : subject.libraries) {
    const Mapping* mapping = map.at(library.start);
    if (mapping != nullptr && mapping->has_file()) files.push_back({library.file, mapping->device, mapping->inode});
  }
  return files;
}

// What the JVM's own tables place: malloc's blocks are not searched for there.
class JavaRanges final : public native::RangeOwner {
 public:
  explicit JavaRanges(const std::vector<jvm::AddressSpan>& owned) : owned_(owned) {}

  [[nodiscard]] std::uint64_t claim(std::uint64_t begin, std::uint64_t end) const override {
    const auto after = std::ranges::upper_bound(owned_, begin, {}, &jvm::AddressSpan::begin);
    if (after == owned_.begin()) return begin;
    const jvm::AddressSpan& span = *std::prev(after);
    return span.contains(begin) ? std::min(span.end, end) : begin;
  }
  [[nodiscard]] std::uint64_t next(std::uint64_t begin, std::uint64_t end) const override {
    const auto after = std::ranges::upper_bound(owned_, begin, {}, &jvm::AddressSpan::begin);
    return after == owned_.end() ? end : std::min(after->begin, end);
  }

 private:
  const std::vector<jvm::AddressSpan>& owned_;
};

class PartList {
 public:
  PartList(HeapAnalysed& heap, std::uint64_t whole) : heap_(heap), rest_(whole) {}

  // No part is larger than what is left: they were counted one after the other.
  void add(std::string_view name, const char* runtime, std::uint64_t bytes, std::string source) {
    bytes = std::min(bytes, rest_);
    if (bytes == 0) return;
    rest_ -= bytes;
    heap_.parts.push_back({std::string(name), runtime, bytes, std::move(source)});
  }
  [[nodiscard]] std::uint64_t rest() const { return rest_; }

 private:
  HeapAnalysed& heap_;
  std::uint64_t rest_;
};

std::string heap_source(const jvm::JavaReading& reading) {
  std::string text = fmt::format("the range of the {} collector", to_string(reading.flags.collector));
  if (!reading.used) return text;
  return text +
         fmt::format("; objects: {} young, {} old", human_bytes(reading.used->young), human_bytes(reading.used->old));
}

std::uint64_t less(std::uint64_t bytes, std::uint64_t taken) { return bytes - std::min(bytes, taken); }

// The direct buffers of the JDK lie in malloc: large ones in mappings of their own, the others in arenas.
void put_malloc(const MemoryContents& contents, const jvm::JavaReading& reading, PartList& parts) {
  std::uint64_t direct = reading.direct_buffers ? reading.direct_buffers->reserved_bytes : 0;
  for (const char* name : {"malloc: large blocks", "malloc: in use", "malloc: free", "malloc: not used yet"}) {
    const auto part = std::ranges::find(contents.parts, name, &ContentPart::name);
    if (part == contents.parts.end()) continue;
    const std::uint64_t bytes = less(part->bytes, direct);
    direct -= part->bytes - bytes;
    parts.add(part->name, "native", bytes, part->source);
  }
}

void put_parts(const jvm::JavaReading& reading, const MemoryContents& contents, HeapAnalysed& heap) {
  const auto native = [&](std::string_view name) {
    const auto part = std::ranges::find(contents.parts, name, &ContentPart::name);
    return part == contents.parts.end() ? 0 : part->bytes;
  };
  PartList parts(heap, reading.anonymous_bytes);
  parts.add(memory_part::kJavaHeap, "jvm", reading.heap_bytes, heap_source(reading));
  parts.add("code cache", "jvm", reading.code_cache_bytes, "its range");
  parts.add("class archive", "jvm", reading.archive_bytes, "its range");
  // Threads of the JVM itself (collector, compilers) have stacks, too.
  parts.add(memory_part::kThreadStacks, "jvm",
            std::max(reading.thread_stack_bytes.value_or(0), native(memory_part::kThreadStacks)),
            fmt::format("stacks of {} Java threads and of the JVM's own", reading.threads.value_or(0)));
  parts.add(
      memory_part::kMetaspace, "jvm", reading.metaspace_bytes.value_or(0),
      fmt::format("data of {} classes of {} loaders", reading.classes.value_or(0), reading.class_loaders.value_or(0)));
  if (reading.direct_buffers) {
    parts.add(memory_part::kDirectBuffers, "jvm", reading.direct_buffers->reserved_bytes,
              fmt::format("java.nio.Bits counts {} of them", reading.direct_buffers->count));
  }
  put_malloc(contents, reading, parts);
  parts.add("program and library data", "native", less(native("program and library data"), reading.archive_bytes),
            "changed pages of mapped files");
  const std::uint64_t rest = parts.rest();
  parts.add(memory_part::kUnexplained, "", rest, "the collector's tables, and what nothing shows the use of");
  std::ranges::stable_sort(heap.parts, std::greater<>(), &MemoryShare::bytes);
  if (reading.anonymous_bytes == 0) return;
  heap.named_ratio = 1 - static_cast<double>(rest) / static_cast<double>(reading.anonymous_bytes);
}

void put_classes(const jvm::JavaReading& reading, HeapAnalysed& heap) {
  if (!reading.histogram || reading.histogram->walked_bytes == 0 || reading.anonymous_bytes == 0) return;
  const jvm::ClassHistogram& found = *reading.histogram;
  const double factor = static_cast<double>(found.used_bytes) / static_cast<double>(found.walked_bytes);
  for (const jvm::ClassShare& one : found.classes) {
    HeapFiller filler;
    filler.kind = "type";
    filler.name = one.name;
    if (one.error_bytes && *one.error_bytes >= one.bytes) continue;  // says nothing
    const double scale = one.error_bytes ? 1 : factor;
    filler.bytes = static_cast<std::uint64_t>(static_cast<double>(one.bytes) * scale);
    filler.count = static_cast<std::uint64_t>(static_cast<double>(one.count) * scale);
    filler.error_bytes = one.error_bytes;
    filler.share = std::min(1.0, static_cast<double>(filler.bytes) / static_cast<double>(reading.anonymous_bytes));
    heap.fillers.push_back(std::move(filler));
  }
  heap.notes.emplace_back("objects that are dead and not collected yet are counted among their classes");
  if (found.is_sample()) {
    heap.sampled_ratio = 1 / factor;
    heap.notes.push_back(fmt::format("classes are estimated from {:.0f} % of the heap", 100 / factor));
  }
}

// How much memory a collection's entries are is not known, so it has no bytes.
void put_holders(const jvm::JavaReading& reading, HeapAnalysed& heap) {
  for (const jvm::StaticHolder& one : reading.holders) {
    HeapFiller filler;
    filler.kind = "holder";
    filler.name = one.type;
    filler.held_as = one.held_as;
    filler.count = one.entries;
    heap.fillers.push_back(std::move(filler));
  }
}

// Values of the JVM's own settings; its command line may hold passwords and is not read.
std::string settings_of(const jvm::JavaReading& reading) {
  const jvm::JvmFlags& flags = reading.flags;
  std::string text = fmt::format("HotSpot {}, {} collector, maximum heap {} ({})",
                                 reading.version ? std::to_string(*reading.version) : "of unknown version",
                                 to_string(flags.collector), human_bytes(flags.max_heap_bytes.value_or(0)),
                                 flags.is_max_heap_set ? "set" : "the JVM's own choice");
  if (flags.max_direct_bytes.value_or(0) > 0) {
    text += ", -XX:MaxDirectMemorySize=" + human_bytes(*flags.max_direct_bytes);
  }
  if (flags.max_metaspace_bytes.value_or(kNoMaximum) < kNoMaximum) {
    text += ", -XX:MaxMetaspaceSize=" + human_bytes(*flags.max_metaspace_bytes);
  }
  if (flags.thread_stack_bytes) {
    text += fmt::format(", -XX:ThreadStackSize={} KiB", *flags.thread_stack_bytes);
  }
  return text;
}

JvmFigures figures_of(const jvm::JavaReading& reading) {
  const jvm::JvmFlags& flags = reading.flags;
  const auto maximum = [](std::optional<std::uint64_t> bytes) {
    return bytes.value_or(0) > 0 && *bytes < kNoMaximum ? bytes : std::nullopt;
  };
  JvmFigures figures;
  if (reading.used) figures.heap_used_bytes = reading.used->young + reading.used->old;
  figures.heap_resident_bytes = reading.heap_bytes;
  figures.heap_max_bytes = maximum(flags.max_heap_bytes);
  figures.metaspace_resident_bytes = reading.metaspace_bytes;
  figures.metaspace_max_bytes = maximum(flags.max_metaspace_bytes);
  if (reading.code_cache_bytes > 0) figures.code_cache_resident_bytes = reading.code_cache_bytes;
  figures.code_cache_max_bytes = maximum(flags.code_cache_bytes);
  if (reading.direct_buffers) {
    figures.direct_bytes = reading.direct_buffers->reserved_bytes;
    figures.direct_buffers = reading.direct_buffers->count;
  }
  figures.direct_max_bytes = maximum(flags.max_direct_bytes);
  figures.threads = reading.threads;
  figures.thread_stack_bytes = reading.thread_stack_bytes;
  figures.loaded_classes = reading.classes;
  figures.class_loaders = reading.class_loaders;
  return figures;
}

// with_malloc: its blocks are walked, which is most of the time that is not the heap's.
MemoryContents read_native(const AddressSpace& space, const jvm::JavaReading& reading, bool with_malloc) {
  MemoryContents contents;
  native::Composition parts(space);
  JavaRanges ranges(reading.owned);
  const Result<> added =
      with_malloc ? native::add_native(space, parts, contents, &ranges, nullptr) : parts.run(nullptr, &ranges, nullptr);
  if (!added.has_value()) contents.notes.push_back("malloc: " + added.error().message);
  parts.put_into(contents);
  return contents;
}

}  // namespace

bool is_java_process(const AnalysisSubject& subject) { return library_of(subject) != nullptr; }

void put_java_reading(const jvm::JavaReading& reading, const MemoryContents& contents, HeapAnalysed& heap) {
  put_parts(reading, contents, heap);
  put_classes(reading, heap);
  put_holders(reading, heap);
  heap.max_heap_bytes = reading.flags.max_heap_bytes;
  heap.jvm = {figures_of(reading)};
  heap.notes.push_back(settings_of(reading));
  for (const std::string& note : reading.notes) heap.notes.push_back("not known: " + note);
  for (const std::string& note : contents.notes) heap.notes.push_back(note);
}

Result<> analyse_java(const AnalysisSubject& subject, AnalysisResult& result) {
  const SubjectLibrary* library = library_of(subject);
  if (library == nullptr) return fail(ErrorCode::kUnsupported, "not a JVM");
  ASSIGN_OR_RETURN(MemoryMap map, MemoryMap::read(subject.maps));
  const Mapping* mapping = jvm::find_libjvm(map);
  if (mapping == nullptr) return fail(ErrorCode::kUnsupported, "no JVM any more");
  ASSIGN_OR_RETURN(const jvm::VmSymbols symbols, jvm::read_vm_symbols(*library->file, *mapping));
  ASSIGN_OR_RETURN(PresentPages present, PageScanner(subject.page_map_fd, true, subject.pid).scan(map));
  const DeadlineSource memory(subject.memory, subject.clock, subject.deadline);
  std::vector<FileImage> files = mapped_files(subject, map);
  const AddressSpace space(memory, std::move(map), std::move(present), std::move(files), kMaxJavaBytes);
  jvm::JavaLimits limits;
  limits.histogram.max_heap_bytes = kMaxWalked;
  limits.histogram.rate = subject.rate;
  ASSIGN_OR_RETURN(const jvm::JavaReading reading,
                   jvm::read_java(FreshMemory(space, memory, subject.page_map), symbols, limits));
  put_java_reading(reading, read_native(space, reading, subject.rate.is_whole()), result.heap);
  return {};
}

}  // namespace oomw
