// SPDX-License-Identifier: Apache-2.0
#include "cli/java_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/text.h"

namespace oomw::cli {
namespace {

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
