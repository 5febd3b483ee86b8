// SPDX-License-Identifier: Apache-2.0
#include "memory/resident_source.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/victim_marks.h"
#include "memory/present_pages.h"

namespace oomw {
namespace {

constexpr std::size_t kEntriesAtOnce = 64;  // pages asked for at once

// The bytes of [address, address + size) up to the end of the page that `address` lies in.
std::size_t within_page(std::uint64_t address, std::size_t size) {
  return std::min<std::uint64_t>(size, kPageBytes - address % kPageBytes);
}

Result<std::size_t> read_entries(int page_map, std::uint64_t page, std::span<std::uint64_t> entries) {
  ssize_t n = -1;
  do {
    n = ::pread(page_map, entries.data(), entries.size_bytes(), static_cast<off_t>(page * sizeof(std::uint64_t)));
  } while (n < 0 && errno == EINTR);
  if (n < 0) return fail_errno(errno, "reading the page map");
  return static_cast<std::size_t>(n) / sizeof(std::uint64_t);
}

}  // namespace

Result<std::size_t> ResidentSource::read_some(std::uint64_t address, std::span<std::byte> out) const {
  if (page_map_ < 0) return memory_.read_some(address, out);
  // Addresses beyond are no process's, and their offsets in the page map are no file's.
  static constexpr std::uint64_t kAddressLimit = std::uint64_t{1} << 57;
  if (address >= kAddressLimit) return std::size_t{0};
  out = out.first(std::min<std::uint64_t>(out.size(), kAddressLimit - address));
  std::size_t done = 0;
  while (done < out.size()) {
    std::array<std::uint64_t, kEntriesAtOnce> entries{};
    const std::uint64_t at = address + done, page = at / kPageBytes;
    const std::uint64_t last = (address + out.size() - 1) / kPageBytes;
    const std::size_t wanted = std::min<std::uint64_t>(kEntriesAtOnce, last - page + 1);
    RETURN_IF_ERROR(may_hold_memory_of(pid_));  // reading its page map holds it, too
    ASSIGN_OR_RETURN(const std::size_t known, read_entries(page_map_, page, std::span(entries).first(wanted)));
    if (known == 0) break;  // beyond the address space, or the process is gone
    const std::size_t bytes = std::min<std::uint64_t>(out.size() - done, (page + known) * kPageBytes - at);
    ASSIGN_OR_RETURN(const std::size_t n,
                     read_pages(at, out.subspan(done, bytes), std::span<const std::uint64_t>(entries).first(known)));
    done += n;
    if (n < bytes) break;
  }
  return done;
}

Result<std::size_t> ResidentSource::read_pages(std::uint64_t address, std::span<std::byte> out,
                                               std::span<const std::uint64_t> entries) const {
  std::size_t done = 0;
  for (const std::uint64_t entry : entries) {
    const std::span page = out.subspan(done, within_page(address + done, out.size() - done));
    if (is_kept_anonymous_page(entry)) {
      ASSIGN_OR_RETURN(const std::size_t n, memory_.read_some(address + done, page));
      done += n;
      if (n < page.size()) break;
    } else if (absent_ == Absent::kZeros) {
      std::ranges::fill(page, std::byte{0});
      done += page.size();
    } else {
      break;
    }
  }
  return done;
}

}  // namespace oomw
