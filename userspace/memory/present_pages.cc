// SPDX-License-Identifier: Apache-2.0
#include "memory/present_pages.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/victim_marks.h"
#include "memory/pagemap_scan.h"

namespace oomw {
namespace {

constexpr std::uint64_t kPresent = std::uint64_t{1} << 63, kSwapped = std::uint64_t{1} << 62;
constexpr std::uint64_t kFileOrShared = std::uint64_t{1} << 61;
constexpr std::uint64_t kMaxSliceBytes = 1u << 30;

}  // namespace

bool is_private_anonymous_page(std::uint64_t entry) {
  return (entry & kPresent) && !(entry & kSwapped) && !(entry & kFileOrShared);
}

bool is_kept_anonymous_page(std::uint64_t entry) {
  return (entry & (kPresent | kSwapped)) != 0 && (entry & kFileOrShared) == 0;
}

PresentPages::PresentPages(std::vector<PageRange> ranges, bool is_complete)
    : ranges_(std::move(ranges)), is_complete_(is_complete) {
  bytes_before_.reserve(ranges_.size());
  for (const PageRange& range : ranges_) {
    bytes_before_.push_back(bytes_);
    bytes_ += range.size();
  }
}

std::span<const PageRange> PresentPages::ranges_in(std::uint64_t begin, std::uint64_t end) const {
  if (begin >= end) return {};
  const auto first = std::ranges::upper_bound(ranges_, begin, {}, &PageRange::end);
  const auto last = std::ranges::lower_bound(ranges_, end, {}, &PageRange::begin);
  if (first >= last) return {};
  return {first, last};
}

std::uint64_t PresentPages::bytes_in(std::uint64_t begin, std::uint64_t end) const {
  const auto found = ranges_in(begin, end);
  if (found.empty()) return 0;
  const auto first = static_cast<std::size_t>(found.data() - ranges_.data()), last = first + found.size() - 1;
  const std::uint64_t whole = bytes_before_[last] + ranges_[last].size() - bytes_before_[first];
  const std::uint64_t before = begin > ranges_[first].begin ? begin - ranges_[first].begin : 0;
  const std::uint64_t behind = end < ranges_[last].end ? ranges_[last].end - end : 0;
  return whole - before - behind;
}

void PageScanner::add(std::uint64_t begin, std::uint64_t end) {
  if (!ranges_.empty() && ranges_.back().end == begin) {
    ranges_.back().end = end;
  } else if (ranges_.size() < PresentPages::kMaxRanges) {
    ranges_.push_back({begin, end});
  } else {
    is_complete_ = false;
  }
}

// Where the walk ended: the slice's end, or before it where the results had no more room.
Result<std::uint64_t> PageScanner::scan_slice(std::uint64_t begin, std::uint64_t end) {
  std::array<pagemap::Region, 512> found;
  pagemap::ScanArgument argument;
  argument.begin = begin;
  argument.end = end;
  argument.regions = reinterpret_cast<std::uint64_t>(found.data());
  argument.region_count = found.size();
  argument.required = pagemap::kPresent | pagemap::kFile | pagemap::kZeroPage;
  argument.inverted = pagemap::kFile | pagemap::kZeroPage;
  argument.reported = pagemap::kPresent;
  const int n = ::ioctl(fd_, pagemap::kScan, &argument);
  if (n < 0) return fail_errno(errno, "scanning the page map");
  for (int i = 0; i < n && static_cast<std::size_t>(i) < found.size(); ++i) {
    const auto& region = found[static_cast<std::size_t>(i)];
    add(region.begin, region.end);
  }
  return std::clamp(argument.walk_end, begin + kPageBytes, end);
}

Result<std::uint64_t> PageScanner::pread_slice(std::uint64_t begin, std::uint64_t end) {
  static constexpr std::size_t kEntries = kSliceBytes / kPageBytes;
  const std::uint64_t pages = std::min<std::uint64_t>((end - begin) / kPageBytes, kEntries);
  if (pread_pages_ += pages; pread_pages_ > kMaxPreadPages) return fail(ErrorCode::kLimit, "too many pages");
  std::vector<std::uint64_t> entries(pages);
  const auto offset = static_cast<off_t>(begin / kPageBytes * 8);
  const ssize_t n = ::pread(fd_, entries.data(), pages * 8, offset);
  if (n < 0) return fail_errno(errno, "reading the page map");
  if (n == 0) return end;
  entries.resize(static_cast<std::size_t>(n) / 8);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    if (is_private_anonymous_page(entries[i])) add(begin + i * kPageBytes, begin + (i + 1) * kPageBytes);
  }
  return begin + std::max<std::uint64_t>(entries.size(), 1) * kPageBytes;
}

Result<> PageScanner::scan_mapping(const Mapping& mapping) {
  std::uint64_t slice = kSliceBytes;
  for (std::uint64_t at = mapping.begin; at < mapping.end;) {
    RETURN_IF_ERROR(may_hold_memory_of(pid_));
    if (++slices_ > kMaxSlices) return fail(ErrorCode::kLimit, "too many slices");
    const std::uint64_t end = std::min(mapping.end, at + slice);
    const std::size_t ranges_before = ranges_.size();
    Result<std::uint64_t> next = may_scan_ ? scan_slice(at, end) : pread_slice(at, end);
    if (!next.has_value() && may_scan_ && slices_ == 1) {  // before Linux 6.7, or not allowed
      may_scan_ = false;
      continue;
    }
    if (!next.has_value()) return tl::unexpected(next.error());
    // Reservations of terabytes are mostly empty.
    slice = ranges_.size() == ranges_before ? std::min(slice * 2, kMaxSliceBytes) : kSliceBytes;
    at = *next;
  }
  return {};
}

Result<PresentPages> PageScanner::scan(const MemoryMap& map) {
  is_complete_ = map.is_complete();
  for (const Mapping& mapping : map.mappings()) {
    if (mapping.is_shared || mapping.name == "[vvar]" || mapping.name == "[vdso]") continue;
    const Result<> scanned = scan_mapping(mapping);
    if (scanned.has_value()) continue;
    if (scanned.error().code != ErrorCode::kLimit) return tl::unexpected(scanned.error());
    is_complete_ = false;
    break;
  }
  return PresentPages(std::move(ranges_), is_complete_);
}

}  // namespace oomw
