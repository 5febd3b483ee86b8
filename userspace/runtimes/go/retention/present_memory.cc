// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/retention/present_memory.h"

#include <algorithm>

#include "memory/present_pages.h"

namespace oomw::go::retention {

namespace {

constexpr std::uint64_t kPresent = std::uint64_t{1} << 63, kSwapped = std::uint64_t{1} << 62;
constexpr std::uint64_t kFileOrShared = std::uint64_t{1} << 61;
constexpr std::uint64_t kAddressLimit = std::uint64_t{1} << 47;

}  // namespace

const elf::Segment* PresentMemory::segment_at(std::uint64_t address) const {
  for (const elf::Segment& segment : executable_.segments()) {
    if (address - load_bias_ - segment.address < segment.memory_size) return &segment;
  }
  return nullptr;
}

PresentMemory::Page PresentMemory::kind_of(std::uint64_t page, std::uint64_t entry) const {
  if (entry & kSwapped) ++swapped_pages_;
  const bool is_private = (entry & kPresent) && !(entry & kFileOrShared);
  if (is_private) return Page::kMemory;
  // Segments need not begin at a page's edge: either end of the page may lie in one.
  const bool is_image = segment_at(page) != nullptr || segment_at(page + kPageBytes - 1) != nullptr;
  return is_image && !(entry & kSwapped) ? Page::kFile : Page::kAbsent;
}

Result<> PresentMemory::fill(Page kind, std::uint64_t address, std::span<std::byte> out) const {
  std::fill(out.begin(), out.end(), std::byte{0});
  if (kind == Page::kMemory) {
    ASSIGN_OR_RETURN(const std::size_t n, memory_.read_some(address, out));
    bytes_read_ += n;
    if (n < out.size()) std::fill(out.begin() + static_cast<std::ptrdiff_t>(n), out.end(), std::byte{0});
  }
  if (kind != Page::kFile) return {};
  for (const elf::Segment& segment : executable_.segments()) {
    const std::uint64_t begin = std::max(address, segment.address + load_bias_);
    const std::uint64_t end = std::min(address + out.size(), segment.address + load_bias_ + segment.file_size);
    if (begin >= end) continue;
    const std::span part = out.subspan(begin - address, end - begin);
    (void)executable_.reader().read_some(segment.offset + (begin - load_bias_ - segment.address), part);
  }
  return {};
}

Result<std::size_t> PresentMemory::read_some(std::uint64_t address, std::span<std::byte> out) const {
  if (out.empty() || address >= kAddressLimit) return 0;
  out = out.first(std::min<std::uint64_t>(out.size(), kAddressLimit - address));
  if (bytes_read_ + out.size() > max_bytes_) return fail(ErrorCode::kLimit, "read limit of the search");
  const std::uint64_t first = address / kPageBytes, last = (address + out.size() - 1) / kPageBytes;
  entries_.assign(last - first + 1, 0);
  RETURN_IF_ERROR(pagemap_.read_some(first * 8, std::as_writable_bytes(std::span(entries_))));
  for (std::uint64_t page = first; page <= last;) {
    const Page kind = kind_of(page * kPageBytes, entries_[page - first]);
    std::uint64_t end = page + 1;
    while (end <= last && kind_of(end * kPageBytes, entries_[end - first]) == kind) ++end;
    const std::uint64_t from = std::max(address, page * kPageBytes);
    const std::uint64_t to = std::min(address + out.size(), end * kPageBytes);
    RETURN_IF_ERROR(fill(kind, from, out.subspan(from - address, to - from)));
    page = end;
  }
  return out.size();
}

}  // namespace oomw::go::retention
