// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/retention/countable_list.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace oomw::go::retention {

namespace {

constexpr std::size_t kFewestReasons = 16, kMaxWaiting = 128, kNearStatus = 80;
constexpr std::size_t kKernelBytes = 256;  // of a g: what the kernel reads of it
constexpr std::uint32_t kWaiting = 4;
constexpr std::size_t kFewestProofs = 2;

using KernelRecord = std::array<std::byte, kKernelBytes>;

// What a goroutine waits for that stands in this function. Each program has the first three.
constexpr auto kKnown = std::to_array<std::pair<std::string_view, std::string_view>>({
    {"runtime.forcegchelper", "force gc"},
    {"runtime.bgsweep", "GC sweep"},
    {"runtime.bgscavenge", "GC scavenge"},
    {"runtime.chanrecv", "chan receive"},
    {"runtime.chansend", "chan send"},
    {"runtime.selectgo", "select"},
    {"runtime.netpollblock", "IO wait"},
    {"time.Sleep", "sleep"},
});

std::string text_at(std::uint64_t address, std::uint64_t length, CachedReader& memory) {
  std::string text(length, ' ');
  if (!memory.read(address, std::as_writable_bytes(std::span(text))).has_value()) return "";
  const bool is_text = std::ranges::all_of(text, [](unsigned char c) { return c < 0x80 && std::isprint(c) != 0; });
  return is_text ? text : "";
}

std::vector<std::string> names_at(std::uint64_t address, CachedReader& memory) {
  std::vector<std::string> names;
  while (names.size() < GoroutineList::kMaxReasons) {
    const auto header = memory.get<std::array<std::uint64_t, 2>>(address + 16 * names.size());
    if (!header.has_value()) break;
    const auto [text, length] = *header;
    if (names.empty()) {
      if (length != 0) break;
      names.emplace_back();
      continue;
    }
    if (length == 0 || length > GoroutineList::kMaxReasonChars) break;
    std::string name = text_at(text, length, memory);
    if (name.empty()) break;
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<std::string> find_names(Image& image, CachedReader& memory) {
  for (const char* name : {"runtime.goroutineheader", "runtime.waitReason.String"}) {
    const Function* function = image.named(name);
    if (!function) continue;
    for (const std::uint64_t address : image.references(*function)) {
      if (address % 8 != 0) continue;
      std::vector<std::string> names = names_at(address, memory);
      if (names.size() > kFewestReasons) return names;
    }
  }
  return {};
}

// A goroutine that waits, and what for by the functions it stands in; "" where these show nothing.
struct Waiting {
  KernelRecord record{};
  std::string_view expected;
};

std::string_view expected_of(const std::vector<StackFrame>& frames) {
  for (const StackFrame& frame : frames) {
    const auto known =
        std::ranges::find(kKnown, std::string_view(frame.function->name), [](const auto& one) { return one.first; });
    if (known != kKnown.end()) return known->second;
  }
  return "";
}

std::vector<Waiting> sample(Goroutines& goroutines, CachedReader& memory) {
  std::vector<Waiting> sampled;
  for (const Goroutine& g : goroutines.all()) {
    if (sampled.size() == kMaxWaiting) break;
    if (g.state != GoroutineState::kWaiting) continue;
    Waiting one;
    const auto record = memory.get<KernelRecord>(g.address);
    if (!record.has_value()) continue;
    one.record = *record;
    const auto status = value_at<std::uint32_t>(one.record, goroutines.status_offset());
    if ((status & ~kScanBit) != kWaiting) continue;
    one.expected = expected_of(goroutines.unwind(g, goroutines.read_stack(g)));
    sampled.push_back(one);
  }
  return sampled;
}

bool is_reason_at(std::size_t offset, const std::vector<Waiting>& sampled, const std::vector<std::string>& names) {
  std::set<std::string_view> proofs;
  std::size_t fitting = 0, others = 0;
  for (const Waiting& one : sampled) {
    const auto reason = std::to_integer<std::size_t>(one.record[offset]);
    if (reason == 0 || reason >= names.size()) return false;
    if (one.expected.empty()) continue;
    const bool fits = names[reason].starts_with(one.expected);
    ++(fits ? fitting : others);
    if (fits) proofs.insert(one.expected);
  }
  return proofs.size() >= kFewestProofs && fitting >= 2 * others;
}

}  // namespace

Result<GoroutineList> find_countable_list(Image& image, Goroutines& goroutines, CachedReader& memory) {
  GoroutineList found;
  found.address = goroutines.list_address();
  found.status_offset = static_cast<std::uint32_t>(goroutines.status_offset());
  found.wait_reasons = find_names(image, memory);
  if (found.wait_reasons.empty()) return fail(ErrorCode::kUnsupported, "the names of wait reasons were not found");
  const std::vector<Waiting> sampled = sample(goroutines, memory);
  const std::size_t first = goroutines.status_offset() + sizeof(std::uint32_t);
  for (std::size_t offset = first; offset < std::min(first + kNearStatus, kKernelBytes); ++offset) {
    if (!is_reason_at(offset, sampled, found.wait_reasons)) continue;
    if (found.reason_offset != 0)
      return fail(ErrorCode::kUnsupported, "two places may hold what a goroutine waits for");
    found.reason_offset = static_cast<std::uint32_t>(offset);
  }
  if (found.reason_offset == 0)
    return fail(ErrorCode::kUnsupported, "where a goroutine's wait reason lies was not proved");
  return found;
}

}  // namespace oomw::go::retention
