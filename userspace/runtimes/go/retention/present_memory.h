// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "elf/elf_file.h"
#include "memory/byte_source.h"

namespace oomw::go::retention {

// A process's memory without side effects on it: a page that is not present is never touched. Reading it would charge
// the process's cgroup (swap, page cache) or hang (a FUSE mapping, userfaultfd).
//
// - A read always fills `out`: pages of the executable that are not present come from its file, all others that are not
//   present or not private anonymous memory read as zeros, which no verification accepts.
// - Bytes read are counted against a budget; past it reads fail with kLimit.
// Borrows everything. One thread.
class PresentMemory final : public ByteSource {
 public:
  // `pagemap`: the bytes of /proc/PID/pagemap. `load_bias` is added to the executable's addresses.
  PresentMemory(const ByteSource& memory, const ByteSource& pagemap, const elf::File& executable,
                std::uint64_t load_bias, std::uint64_t max_bytes)
      : memory_(memory), pagemap_(pagemap), executable_(executable), load_bias_(load_bias), max_bytes_(max_bytes) {}

  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override;

  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }
  [[nodiscard]] std::uint64_t swapped_pages() const { return swapped_pages_; }

 private:
  enum class Page { kAbsent, kMemory, kFile };
  [[nodiscard]] Page kind_of(std::uint64_t page, std::uint64_t entry) const;
  [[nodiscard]] const elf::Segment* segment_at(std::uint64_t address) const;
  [[nodiscard]] Result<> fill(Page kind, std::uint64_t address, std::span<std::byte> out) const;

  const ByteSource& memory_;
  const ByteSource& pagemap_;
  const elf::File& executable_;
  const std::uint64_t load_bias_;
  const std::uint64_t max_bytes_;
  mutable std::uint64_t bytes_read_ = 0;
  mutable std::uint64_t swapped_pages_ = 0;
  mutable std::vector<std::uint64_t> entries_;  // of one read; kept, as it is as long each time
};

}  // namespace oomw::go::retention
