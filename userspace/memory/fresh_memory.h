// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memory/address_space.h"

namespace oomw {

// An AddressSpace of a process that grows while it is read: pages that are not in its picture are looked up in the page
// map at that moment. What is read stays the same: private anonymous pages that are in memory.
// Borrows all of them. One thread.
class FreshMemory final : public ByteSource {
 public:
  // page_map: /proc/PID/pagemap.
  FreshMemory(const AddressSpace& space, const ByteSource& memory, const ByteSource& page_map)
      : space_(space), memory_(memory), page_map_(page_map) {}

  // A prefix: what the picture has, else the rest of one page.
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override;
  // Fills all of `out`, zeros where nothing is present; asks the page map for all of it.
  [[nodiscard]] Result<> read_present(std::uint64_t address, std::span<std::byte> out) const;

  [[nodiscard]] const AddressSpace& space() const { return space_; }
  [[nodiscard]] std::uint64_t bytes_read() const { return space_.bytes_read() + bytes_read_; }

 private:
  [[nodiscard]] Result<std::size_t> read_memory(std::uint64_t address, std::span<std::byte> out) const;

  const AddressSpace& space_;
  const ByteSource& memory_;
  const ByteSource& page_map_;
  mutable std::uint64_t bytes_read_ = 0;
};

}  // namespace oomw
