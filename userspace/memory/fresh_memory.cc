// SPDX-License-Identifier: Apache-2.0
#include "memory/fresh_memory.h"

#include <algorithm>
#include <vector>

#include "memory/present_pages.h"

namespace oomw {
Result<std::size_t> FreshMemory::read_memory(std::uint64_t address, std::span<std::byte> out) const {
  ASSIGN_OR_RETURN(const std::size_t n, memory_.read_some(address, out));
  bytes_read_ += n;
  return n;
}

Result<std::size_t> FreshMemory::read_some(std::uint64_t address, std::span<std::byte> out) const {
  ASSIGN_OR_RETURN(const std::size_t n, space_.read_some(address, out));
  if (n != 0 || out.empty()) return n;
  std::uint64_t entry = 0;
  const auto bytes = std::as_writable_bytes(std::span(&entry, 1));
  ASSIGN_OR_RETURN(const std::size_t got, page_map_.read_some(address / kPageBytes * sizeof entry, bytes));
  if (got != sizeof entry || !is_private_anonymous_page(entry)) return 0;
  return read_memory(address, out.first(std::min<std::size_t>(out.size(), kPageBytes - address % kPageBytes)));
}

Result<> FreshMemory::read_present(std::uint64_t address, std::span<std::byte> out) const {
  std::ranges::fill(out, std::byte{0});
  if (out.empty() || address + out.size() < address) return {};
  const std::uint64_t first = address / kPageBytes, end = address + out.size();
  std::vector<std::uint64_t> entries((end - 1) / kPageBytes - first + 1);
  ASSIGN_OR_RETURN(const std::size_t got, page_map_.read_some(first * 8, std::as_writable_bytes(std::span(entries))));
  entries.resize(got / 8);
  for (std::size_t i = 0; i < entries.size();) {
    std::size_t behind = i;
    while (behind < entries.size() && is_private_anonymous_page(entries[behind])) ++behind;
    if (behind == i) {
      ++i;
      continue;
    }
    const std::uint64_t from = std::max(address, (first + i) * kPageBytes);
    const std::uint64_t to = std::min(end, (first + behind) * kPageBytes);
    RETURN_IF_ERROR(read_memory(from, out.subspan(from - address, to - from)));
    i = behind;
  }
  return {};
}

}  // namespace oomw
