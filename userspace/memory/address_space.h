// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "memory/byte_source.h"
#include "memory/memory_map.h"
#include "memory/present_pages.h"

namespace oomw {

// A file that a process has mapped, held open; borrowed.
struct FileImage {
  const ByteSource* bytes = nullptr;
  std::uint64_t device = 0, inode = 0;  // as in the maps
};

// A process's memory without side effects on it: only private anonymous pages that are present are read from the
// process; pages of a private file mapping that it has not changed come from that file, if it is given.
//
// - read_some() gives a prefix: it ends where the first page is that may not be read. 0: nothing there.
// - Bytes asked of the process are counted; past `max_bytes` reads fail with kLimit.
// Borrows the sources. One thread.
class AddressSpace final : public ByteSource {
 public:
  AddressSpace(const ByteSource& memory, MemoryMap map, PresentPages present, std::vector<FileImage> files,
               std::uint64_t max_bytes);

  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override;
  // Fills all of `out`; zeros where nothing is present, or the process has given it back meanwhile. The number of
  // bytes that are not such zeros.
  [[nodiscard]] Result<std::size_t> read_present(std::uint64_t address, std::span<std::byte> out) const;

  [[nodiscard]] const MemoryMap& map() const { return map_; }
  [[nodiscard]] const PresentPages& present() const { return present_; }
  [[nodiscard]] std::uint64_t bytes_read() const { return bytes_read_; }

 private:
  [[nodiscard]] Result<std::size_t> read_memory(std::uint64_t address, std::span<std::byte> out) const;
  [[nodiscard]] Result<std::size_t> read_file(std::uint64_t address, std::span<std::byte> out) const;

  const ByteSource& memory_;
  const MemoryMap map_;
  const PresentPages present_;
  const std::vector<FileImage> files_;
  const std::uint64_t max_bytes_;
  mutable std::uint64_t bytes_read_ = 0;
};

}  // namespace oomw
