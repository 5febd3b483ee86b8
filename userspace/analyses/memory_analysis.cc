// SPDX-License-Identifier: Apache-2.0
#include "analyses/memory_analysis.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "analyses/go_analysis.h"
#include "memory/address_space.h"
#include "memory/deadline_source.h"
#include "memory/fresh_memory.h"
#include "runtimes/cpython/cpython_contents.h"
#include "runtimes/native/native_contents.h"
#include "runtimes/v8/v8_contents.h"

namespace oomw {
namespace {

// Memory read, of all passes; past it an analysis fails.
constexpr std::uint64_t kMaxReadBytes = std::uint64_t{16} << 30;

void add_image(const MemoryMap& map, std::uint64_t address, const ByteSource& file, std::vector<FileImage>& images) {
  const Mapping* mapping = map.at(address);
  if (mapping != nullptr && mapping->has_file()) images.push_back({&file, mapping->device, mapping->inode});
}

std::vector<FileImage> images_of(const AnalysisSubject& subject, const MemoryMap& map) {
  std::vector<FileImage> images;
  add_image(map, subject.entry, subject.executable, images);
  for (const SubjectLibrary& library : subject.libraries) {
    if (library.file != nullptr) add_image(map, library.start, *library.file, images);
  }
  return images;
}

template <typename Read>
Result<MemoryContents> read(const AnalysisSubject& subject, const Read& read_contents) {
  ASSIGN_OR_RETURN(MemoryMap map, MemoryMap::read(subject.maps));
  ASSIGN_OR_RETURN(PresentPages present, PageScanner(subject.page_map_fd, true, subject.pid).scan(map));
  std::vector<FileImage> images = images_of(subject, map);
  const DeadlineSource memory(subject.memory, subject.clock, subject.deadline);
  const AddressSpace space(memory, std::move(map), std::move(present), std::move(images), kMaxReadBytes);
  Result<MemoryContents> contents = read_contents(space);
  // After the deadline nothing can be read, so holders and names are missing from what looks whole.
  if (contents.has_value() && subject.clock.now() >= subject.deadline) {
    return fail(ErrorCode::kTimeout, "the memory could not be read in time");
  }
  return contents;
}

HeapFiller filler_of(const ContentFiller& found, std::uint64_t whole) {
  HeapFiller filler;
  filler.kind = found.kind == ContentKind::kHolder ? "holder" : found.kind == ContentKind::kType ? "type" : "size";
  filler.name = found.name;
  filler.held_as = found.held_as;
  filler.bytes = found.bytes;
  filler.count = found.count;
  filler.error_bytes = found.error_bytes;
  filler.share = whole > 0 ? static_cast<double>(found.bytes) / static_cast<double>(whole) : 0;
  return filler;
}

void put(const MemoryContents& contents, HeapAnalysed& heap) {
  for (const ContentFiller& found : contents.fillers) {
    heap.fillers.push_back(filler_of(found, contents.anonymous_bytes));
  }
  std::ranges::stable_sort(heap.fillers, std::greater(), &HeapFiller::bytes);
  for (const ContentPart& part : contents.parts) {
    heap.parts.push_back({part.name, part.runtime, part.bytes, part.source});
  }
  heap.named_ratio = contents.named_ratio;
  heap.sampled_ratio = contents.sampled_ratio;
  if (contents.pool_table) heap.pool_table = {*contents.pool_table};
  heap.notes = contents.notes;
}

bool is_python(std::string_view name) { return name.starts_with("libpython") || name.starts_with("python"); }

constexpr double kMuchChanged = 0.05;
constexpr std::string_view kNodeLibrary = "libnode.so";

// "node", "nodejs", "node18": not "node_exporter".
bool is_node(std::string_view name) {
  if (!name.starts_with("node")) return false;
  name.remove_prefix(name.starts_with("nodejs") ? 6 : 4);
  return name.find_first_not_of("0123456789.") == std::string_view::npos;
}

const ByteSource& file_of_v8(const AnalysisSubject& subject) {
  const auto library = std::ranges::find_if(subject.libraries, [](const SubjectLibrary& one) {
    return one.file != nullptr && one.name.starts_with(kNodeLibrary);
  });
  return library == subject.libraries.end() ? subject.executable : *library->file;
}

Result<MemoryContents> read_node(const AnalysisSubject& subject) {
  ASSIGN_OR_RETURN(const v8::Constants constants, v8::read_constants(file_of_v8(subject)));
  return read(subject, [&](const AddressSpace& space) -> Result<MemoryContents> {
    ASSIGN_OR_RETURN(MemoryContents contents, v8::read_contents(space, constants, subject.rate));
    const auto after = MemoryMap::read(subject.maps);
    const double changed = after.has_value() ? static_cast<double>(v8::changed_bytes(space.map(), *after)) : 0;
    if (changed > kMuchChanged * static_cast<double>(contents.anonymous_bytes)) {
      contents.notes.push_back(
          "the heap's pages changed while it was read: objects that a collection moved may be missing");
    }
    return contents;
  });
}

// HotSpot and OpenJ9.
bool is_java(std::string_view name) { return name.starts_with("libjvm.") || name.starts_with("libj9vm"); }

}  // namespace

bool is_python_program(const AnalysisSubject& subject) {
  if (std::ranges::any_of(subject.libraries, [&](const SubjectLibrary& library) { return is_python(library.name); })) {
    return true;
  }
  const auto map = MemoryMap::read(subject.maps);
  const Mapping* program = map.has_value() ? map->at(subject.entry) : nullptr;
  return program != nullptr && is_python(program->file_name());
}

Result<> analyse_python(const AnalysisSubject& subject, AnalysisResult& result) {
  const Result<MemoryContents> contents = read(subject, [&](const AddressSpace& space) {
    const DeadlineSource memory(subject.memory, subject.clock, subject.deadline);
    return cpython::read_contents(space, FreshMemory(space, memory, subject.page_map), subject.rate);
  });
  // A build whose objects are not known: its parts and sizes are, as of any program.
  if (!contents.has_value() && contents.error().code == ErrorCode::kNotFound) {
    if (!subject.rate.is_whole()) return analyse_composition(subject, result);
    RETURN_IF_ERROR(analyse_any_program(subject, result));
    result.heap.notes.push_back("python objects: " + contents.error().message);
    return {};
  }
  if (!contents.has_value()) return tl::unexpected(contents.error());
  put(*contents, result.heap);
  return {};
}

bool is_node_program(const AnalysisSubject& subject) {
  const bool has_library = std::ranges::any_of(
      subject.libraries, [](const SubjectLibrary& library) { return library.name.starts_with(kNodeLibrary); });
  if (has_library) return true;
  const auto map = MemoryMap::read(subject.maps);
  const Mapping* program = map.has_value() ? map->at(subject.entry) : nullptr;
  return program != nullptr && is_node(program->file_name());
}

Result<> analyse_node(const AnalysisSubject& subject, AnalysisResult& result) {
  const Result<MemoryContents> contents = read_node(subject);
  if (contents.has_value()) {
    put(*contents, result.heap);
    return {};
  }
  // After a timeout there is no time for the rest either.
  if (contents.error().code == ErrorCode::kTimeout) return tl::unexpected(contents.error());
  if (!subject.rate.is_whole()) return analyse_composition(subject, result);
  RETURN_IF_ERROR(analyse_any_program(subject, result));
  result.heap.notes.push_back("JavaScript objects: " + contents.error().message);
  return {};
}

bool is_other_program(const AnalysisSubject& subject) {
  if (is_go_program(subject) || is_python_program(subject) || is_node_program(subject)) return false;
  const auto map = MemoryMap::read(subject.maps);
  if (!map.has_value() || map->mappings().empty()) return false;
  return std::ranges::none_of(map->mappings(), [](const Mapping& mapping) { return is_java(mapping.file_name()); });
}

bool is_no_go_program(const AnalysisSubject& subject) {
  const auto map = MemoryMap::read(subject.maps);
  return map.has_value() && !map->mappings().empty() && !is_go_program(subject);
}

Result<> analyse_composition(const AnalysisSubject& subject, AnalysisResult& result) {
  const Result<MemoryContents> contents = read(subject, native::read_composition);
  if (!contents.has_value()) return tl::unexpected(contents.error());
  put(*contents, result.heap);
  result.heap.sampled_ratio = 0;
  result.heap.notes.push_back("only what its mappings are for was read: at its growth the limit was too near for more");
  return {};
}

Result<> analyse_any_program(const AnalysisSubject& subject, AnalysisResult& result) {
  const Result<MemoryContents> contents = read(subject, native::read_contents);
  if (!contents.has_value()) return tl::unexpected(contents.error());
  put(*contents, result.heap);
  return {};
}

}  // namespace oomw
