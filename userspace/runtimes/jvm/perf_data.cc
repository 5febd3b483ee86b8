// SPDX-License-Identifier: Apache-2.0
#include "runtimes/jvm/perf_data.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"

namespace oomw::jvm {
namespace {

constexpr std::uint32_t kMagic = 0xc0c0feca;  // ca fe c0 c0
constexpr std::size_t kHeaderBytes = 32, kEntryBytes = 20;
constexpr std::uint64_t kMaxEntries = 4'096;     // 187 in OpenJDK 17
constexpr int kNumberBits = 48, kTickBits = 62;  // of sound ones; a negative one is none

struct Header {
  std::uint32_t magic = 0;
  std::uint8_t byte_order = 0, major = 0, minor = 0, accessible = 0;
  std::int32_t used = 0, overflow = 0;
  std::int64_t modified = 0;
  std::int32_t entry_offset = 0, entries = 0;
};
static_assert(sizeof(Header) == kHeaderBytes);

struct Entry {
  std::int32_t length = 0, name_offset = 0, vector_length = 0;
  std::uint8_t type = 0, flags = 0, unit = 0, variability = 0;
  std::int32_t data_offset = 0;
};
static_assert(sizeof(Entry) == kEntryBytes);

template <typename T>
std::optional<T> get(std::span<const std::byte> bytes, std::size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

// Up to the NUL, which has to be there.
std::string_view name_of(std::span<const std::byte> entry, std::int32_t offset) {
  if (offset < 0 || static_cast<std::size_t>(offset) >= entry.size()) return {};
  const std::string_view text(reinterpret_cast<const char*>(entry.data()), entry.size());
  const std::size_t end = text.find('\0', static_cast<std::size_t>(offset));
  if (end == std::string_view::npos) return {};
  return text.substr(static_cast<std::size_t>(offset), end - static_cast<std::size_t>(offset));
}

bool is_used_of_space(std::string_view name) {
  return name.starts_with("sun.gc.generation.") && name.find(".space.") != std::string_view::npos &&
         name.ends_with(".used");
}

// Without its spaces' names: each generation has what it has committed.
bool is_capacity_of_generation(std::string_view name) {
  return name.starts_with("sun.gc.generation.") && name.find(".space.") == std::string_view::npos &&
         name.ends_with(".capacity");
}

bool is_of_collectors(std::string_view name, std::string_view what) {
  return name.starts_with("sun.gc.collector.") && name.ends_with(what);
}

void add_to(std::optional<std::uint64_t>& sum, std::uint64_t value) { sum = sum.value_or(0) + value; }

// In ticks of the JVM's clock since its start.
struct Times {
  std::uint64_t now = 0, frequency = 0, collecting = 0, last_collection = 0;
};

void take_time(std::string_view name, std::uint64_t ticks, Times& times) {
  if (name == "sun.os.hrt.ticks") times.now = ticks;
  if (name == "sun.os.hrt.frequency") times.frequency = ticks;
  if (is_of_collectors(name, ".time")) times.collecting += ticks;
  if (is_of_collectors(name, ".lastExitTime")) times.last_collection = std::max(times.last_collection, ticks);
}

void put_times(const Times& times, JvmFigures& figures) {
  if (times.now == 0 || times.frequency == 0) return;
  const auto seconds = [&](std::uint64_t ticks) {
    return static_cast<double>(ticks) / static_cast<double>(times.frequency);
  };
  figures.uptime_seconds = seconds(times.now);
  if (times.collecting <= times.now) figures.collection_seconds = seconds(times.collecting);
  if (times.last_collection == 0) return;
  // It writes its clock seldom, so a collection may have ended since.
  figures.seconds_since_collection = seconds(times.now - std::min(times.now, times.last_collection));
}

void take(std::string_view name, std::uint64_t number, JvmFigures& figures) {
  if (is_used_of_space(name)) add_to(figures.heap_used_bytes, number);
  if (is_capacity_of_generation(name)) add_to(figures.heap_committed_bytes, number);
  if (is_of_collectors(name, ".invocations")) add_to(figures.collections, number);
  // Classes from an archive are counted apart.
  if (name == "java.cls.loadedClasses" || name == "java.cls.sharedLoadedClasses")
    add_to(figures.loaded_classes, number);
  using Field = std::optional<std::uint64_t> JvmFigures::*;
  static constexpr std::pair<std::string_view, Field> kFields[] = {
      {"sun.gc.metaspace.used", &JvmFigures::metaspace_used_bytes},
      {"sun.gc.metaspace.capacity", &JvmFigures::metaspace_committed_bytes},
      {"java.threads.live", &JvmFigures::threads},
      {"java.threads.livePeak", &JvmFigures::threads_peak}};
  for (const auto& [wanted, field] : kFields) {
    if (name == wanted) figures.*field = number;
  }
}

}  // namespace

Result<JvmFigures> parse_perf_data(std::span<const std::byte> file) {
  const auto header = get<Header>(file, 0);
  if (!header || header->magic != kMagic) return fail(ErrorCode::kInvalid, "not the counters of a JVM");
  const bool is_known = header->byte_order == 1 && header->major == 2 && header->entry_offset >= 0;
  if (!is_known) return fail(ErrorCode::kUnsupported, "counters in a format that is not known");
  if (header->accessible == 0) return fail(ErrorCode::kUnavailable, "the JVM has not written its counters yet");
  JvmFigures figures;
  Times times;
  auto at = static_cast<std::size_t>(header->entry_offset);
  const std::uint64_t count = std::min<std::uint64_t>(header->entries < 0 ? 0 : header->entries, kMaxEntries);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto entry = get<Entry>(file, at);
    if (!entry || entry->length < static_cast<std::int32_t>(kEntryBytes) ||
        static_cast<std::size_t>(entry->length) > file.size() - at) {
      return fail(ErrorCode::kInvalid, "an entry that is torn");
    }
    const auto bytes = file.subspan(at, static_cast<std::size_t>(entry->length));
    if (entry->type == 'J' && entry->vector_length == 0 && entry->data_offset >= 0) {
      const auto value = get<std::int64_t>(bytes, static_cast<std::size_t>(entry->data_offset));
      if (!value) return fail(ErrorCode::kInvalid, "an entry without its value");
      const auto number = static_cast<std::uint64_t>(*value);
      const std::string_view name = name_of(bytes, entry->name_offset);
      if (number >> kNumberBits == 0) take(name, number, figures);
      if (number >> kTickBits == 0) take_time(name, number, times);
    }
    at += bytes.size();
  }
  put_times(times, figures);
  if (figures.collections.value_or(1) == 0) figures.heap_used_bytes.reset(), figures.metaspace_used_bytes.reset();
  return figures;
}

std::string last_words(const JvmFigures& figures) {
  std::string text;
  if (figures.threads) text += fmt::format("{} threads", *figures.threads);
  if (figures.loaded_classes) {
    text += fmt::format("{}{} loaded classes", text.empty() ? "" : ", ", *figures.loaded_classes);
  }
  if (figures.collections && figures.collection_seconds && figures.uptime_seconds) {
    text += fmt::format("{}{} collections took {:.1f} of {:.1f} s", text.empty() ? "" : "; ", *figures.collections,
                        *figures.collection_seconds, *figures.uptime_seconds);
  }
  // Before the first one, sizes are 0 whatever there is.
  if (!figures.seconds_since_collection || !figures.heap_used_bytes) return text;
  text += fmt::format("{}the last one ended {:.1f} s before and left {} in the heap", text.empty() ? "" : "; ",
                      *figures.seconds_since_collection, human_bytes(*figures.heap_used_bytes));
  if (figures.metaspace_used_bytes)
    text += fmt::format(", {} in metaspace", human_bytes(*figures.metaspace_used_bytes));
  return text;
}

}  // namespace oomw::jvm
