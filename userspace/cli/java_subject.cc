// SPDX-License-Identifier: Apache-2.0
#include "cli/java_subject.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/unique_fd.h"
#include "memory/fresh_memory.h"
#include "runtimes/jvm/libjvm.h"

namespace oomw::cli {
namespace {

constexpr std::uint64_t kMaxJavaBytes = 2ull << 30;

Result<UniqueFd> open_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return fail_errno(errno, "opening " + path);
  return fd;
}

Result<UniqueFd> open_mapped(int pid, const Mapping& mapping) {
  return open_file(fmt::format("/proc/{}/map_files/{:x}-{:x}", pid, mapping.begin, mapping.end));
}

// Files with structures of the JVM in pages that it has not changed: its library, and the archive of classes.
bool has_structures(const Mapping& mapping) {
  return mapping.has_file() && !mapping.is_shared &&
         (mapping.file_name() == "libjvm.so" || mapping.file_name().ends_with(".jsa"));
}

struct OpenFiles {
  std::vector<UniqueFd> fds;
  std::vector<std::unique_ptr<FdSource>> sources;
  std::vector<FileImage> files;
};

Result<OpenFiles> open_files(int pid, const MemoryMap& map) {
  OpenFiles open;
  for (const Mapping& mapping : map.mappings()) {
    if (!has_structures(mapping) || open.fds.size() == 4) continue;
    const bool is_known = std::ranges::any_of(open.files, [&](const FileImage& file) {
      return file.device == mapping.device && file.inode == mapping.inode;
    });
    if (is_known) continue;
    ASSIGN_OR_RETURN(UniqueFd fd, open_mapped(pid, mapping));
    open.sources.push_back(std::make_unique<FdSource>(fd.get()));
    open.fds.push_back(std::move(fd));
    open.files.push_back({open.sources.back().get(), mapping.device, mapping.inode});
  }
  return open;
}

// The file is found by its mapping, which exists as long as the JVM does.
std::optional<JvmFigures> read_counters(int pid, const MemoryMap& map) {
  for (const Mapping& mapping : map.mappings()) {
    if (!mapping.has_file() || mapping.name.find("/hsperfdata_") == std::string::npos) continue;
    const Result<UniqueFd> fd = open_mapped(pid, mapping);
    if (!fd.has_value()) return std::nullopt;
    std::vector<std::byte> bytes(jvm::kMaxPerfData);
    const Result<std::size_t> n = FdSource(fd->get()).read_some(0, bytes);
    if (!n.has_value()) return std::nullopt;
    const auto counters = jvm::parse_perf_data(std::span(bytes).first(*n));
    return counters.has_value() ? std::optional(*counters) : std::nullopt;
  }
  return std::nullopt;
}

using jvm::JavaReading;
using Part = std::pair<std::string, std::uint64_t>;

std::vector<Part> parts_of(const JavaReading& reading) {
  std::vector<Part> parts = {{"Java heap", reading.heap_bytes},
                             {"code cache", reading.code_cache_bytes},
                             {"class archive", reading.archive_bytes},
                             {"metaspace", reading.metaspace_bytes.value_or(0)},
                             {"thread stacks", reading.thread_stack_bytes.value_or(0)}};
  std::uint64_t named = 0;
  for (const Part& part : parts) named += part.second;
  parts.emplace_back("other memory (malloc, direct buffers, collector tables)",
                     reading.anonymous_bytes - std::min(named, reading.anonymous_bytes));
  std::ranges::stable_sort(parts, std::greater<>(), &Part::second);
  return parts;
}

std::string settings_text(const JavaReading& reading) {
  const jvm::JvmFlags& flags = reading.flags;
  std::string text = fmt::format("HotSpot {}, {} collector, maximum heap {} ({})\n",
                                 reading.version ? std::to_string(*reading.version) : "of unknown version",
                                 to_string(flags.collector), human_bytes(flags.max_heap_bytes.value_or(0)),
                                 flags.is_max_heap_set ? "set" : "the JVM's own choice");
  if (flags.max_direct_bytes.value_or(0) > 0) {
    text += fmt::format("maximum of direct buffers {}\n", human_bytes(*flags.max_direct_bytes));
  }
  if (flags.max_metaspace_bytes.value_or(~0ull) < (1ull << 40)) {
    text += fmt::format("maximum of metaspace {}\n", human_bytes(*flags.max_metaspace_bytes));
  }
  return text;
}

std::string classes_text(const jvm::ClassHistogram& found) {
  std::string text =
      fmt::format("\nWhat fills the heap, {} objects{}; dead ones that are not collected yet are among them:\n",
                  found.objects, found.is_sample() ? " in a sample" : "");
  for (const jvm::ClassShare& share : found.classes) {
    text += fmt::format("{:>10}  {:5.1f} %  {:>9} x {}\n", human_bytes(share.bytes),
                        100.0 * static_cast<double>(share.bytes) / static_cast<double>(found.walked_bytes), share.count,
                        share.name);
  }
  return text;
}

}  // namespace

Result<std::optional<JavaProcess>> read_java_process(int pid) {
  const std::string directory = "/proc/" + std::to_string(pid) + "/";
  ASSIGN_OR_RETURN(const UniqueFd maps_fd, open_file(directory + "maps"));
  ASSIGN_OR_RETURN(MemoryMap map, MemoryMap::read(FdSource(maps_fd.get())));
  const Mapping* library = jvm::find_libjvm(map);
  if (library == nullptr) return std::optional<JavaProcess>();
  ASSIGN_OR_RETURN(const UniqueFd library_fd, open_mapped(pid, *library));
  ASSIGN_OR_RETURN(const jvm::VmSymbols symbols, jvm::read_vm_symbols(FdSource(library_fd.get()), *library));
  ASSIGN_OR_RETURN(const OpenFiles open, open_files(pid, map));
  ASSIGN_OR_RETURN(const UniqueFd pagemap, open_file(directory + "pagemap"));
  ASSIGN_OR_RETURN(PresentPages present, PageScanner(pagemap.get()).scan(map));
  JavaProcess process;
  process.counters = read_counters(pid, map);
  const ProcessMemory memory(pid);
  const AddressSpace space(memory, std::move(map), std::move(present), open.files, kMaxJavaBytes);
  const FdSource page_map(pagemap.get());
  ASSIGN_OR_RETURN(process.reading, jvm::read_java(FreshMemory(space, memory, page_map), symbols));
  return std::optional(std::move(process));
}

std::string java_text(int pid, const JavaProcess& process) {
  const JavaReading& reading = process.reading;
  std::string text = fmt::format("pid {}: {} of memory of its own\n", pid, human_bytes(reading.anonymous_bytes));
  text += settings_text(reading) + "\n";
  for (const auto& [name, bytes] : parts_of(reading)) {
    const double share =
        100.0 * static_cast<double>(bytes) / static_cast<double>(std::max<std::uint64_t>(1, reading.anonymous_bytes));
    text += fmt::format("{:>10}  {:5.1f} %  {}\n", human_bytes(bytes), share, name);
  }
  if (reading.threads) text += fmt::format("{} threads\n", *reading.threads);
  if (reading.classes) text += fmt::format("{} classes of {} loaders\n", *reading.classes, *reading.class_loaders);
  if (reading.direct_buffers) {
    text += fmt::format("{} direct buffers, {}\n", reading.direct_buffers->count,
                        human_bytes(reading.direct_buffers->reserved_bytes));
  }
  if (process.counters && process.counters->collections) {
    text += fmt::format("{} collections so far\n", *process.counters->collections);
  }
  if (reading.histogram) text += classes_text(*reading.histogram);
  for (const jvm::StaticHolder& one : reading.holders) {
    text += fmt::format("{}: {} with {} entries\n", one.held_as, one.type, one.entries);
  }
  for (const std::string& note : reading.notes) text += "not known: " + printable(note) + "\n";
  return text;
}

}  // namespace oomw::cli
