// SPDX-License-Identifier: Apache-2.0
#include "runtimes/jvm/perf_data.h"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace oomw::jvm {
namespace {

constexpr std::uint32_t kMagic = 0xc0c0feca;  // ca fe c0 c0
constexpr std::size_t kHeaderBytes = 32, kEntryBytes = 20;
constexpr std::uint64_t kMaxEntries = 4'096;  // 187 in OpenJDK 17

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

bool is_count_of_collections(std::string_view name) {
  return name.starts_with("sun.gc.collector.") && name.ends_with(".invocations");
}

void add(std::optional<std::uint64_t>& sum, std::uint64_t value) { sum = sum.value_or(0) + value; }

void take(std::string_view name, std::int64_t value, PerfCounters& counters) {
  if (value < 0 || value >> 48 != 0) return;
  const auto number = static_cast<std::uint64_t>(value);
  if (is_used_of_space(name)) add(counters.heap_used_bytes, number);
  if (is_count_of_collections(name)) add(counters.collections, number);
  using Field = std::optional<std::uint64_t> PerfCounters::*;
  static constexpr std::pair<std::string_view, Field> kFields[] = {
      {"sun.gc.metaspace.used", &PerfCounters::metaspace_used_bytes},
      {"sun.gc.metaspace.capacity", &PerfCounters::metaspace_capacity_bytes},
      {"java.threads.live", &PerfCounters::threads_live},
      {"java.threads.livePeak", &PerfCounters::threads_peak},
      {"java.cls.loadedClasses", &PerfCounters::loaded_classes}};
  for (const auto& [wanted, field] : kFields) {
    if (name == wanted) counters.*field = number;
  }
}

}  // namespace

Result<PerfCounters> parse_perf_data(std::span<const std::byte> file) {
  const auto header = get<Header>(file, 0);
  if (!header || header->magic != kMagic) return fail(ErrorCode::kInvalid, "not the counters of a JVM");
  const bool is_known = header->byte_order == 1 && header->major == 2 && header->entry_offset >= 0;
  if (!is_known) return fail(ErrorCode::kUnsupported, "counters in a format that is not known");
  if (header->accessible == 0) return fail(ErrorCode::kUnavailable, "the JVM has not written its counters yet");
  PerfCounters counters;
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
      take(name_of(bytes, entry->name_offset), *value, counters);
    }
    at += bytes.size();
  }
  return counters;
}

}  // namespace oomw::jvm
