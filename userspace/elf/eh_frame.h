// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/result.h"
#include "elf/cfi_row.h"
#include "elf/elf_file.h"

namespace oomw::elf {

// The unwinding tables of an executable, read by pread only: a mapped file that shrinks would end the reader.
// A function is found by the search table of .eh_frame_hdr, or by an index of .eh_frame where there is no table
// (static glibc). Bounded in entries and in bytes; what is not sound gives no row. Borrows the file.
class EhFrame {
 public:
  static constexpr std::size_t kMaxIndex = 256u << 10;          // functions, where there is no search table
  static constexpr std::uint64_t kMaxIndexedBytes = 32u << 20;  // of .eh_frame
  static constexpr std::uint32_t kMaxEntryBytes = 64u << 10;

  // No tables at all: every row is kNotFound.
  explicit EhFrame(const File& file);

  [[nodiscard]] bool is_empty() const { return table_entries_ == 0 && index_.empty(); }
  // The row of an instruction at a link-time address; kNotFound: no entry has it.
  [[nodiscard]] Result<CfiRow> row(std::uint64_t address) const;
  [[nodiscard]] std::uint64_t own_bytes() const { return index_.capacity() * sizeof(index_[0]); }

 private:
  [[nodiscard]] bool load_header(std::uint64_t address, std::uint64_t size);
  void build_index();
  [[nodiscard]] Result<std::uint64_t> entry_of(std::uint64_t address) const;
  [[nodiscard]] Result<std::uint64_t> search_table(std::uint64_t address) const;

  const File& file_;
  std::uint64_t header_ = 0;  // address of .eh_frame_hdr
  std::uint32_t table_entries_ = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> index_;  // first instruction, entry
};

}  // namespace oomw::elf
