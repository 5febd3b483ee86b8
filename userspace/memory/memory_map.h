// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "memory/byte_source.h"

namespace oomw {

// One line of /proc/PID/maps.
struct Mapping {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t file_offset = 0;
  bool is_readable = false, is_writable = false, is_executable = false;
  bool is_shared = false;
  std::uint64_t device = 0, inode = 0;  // inode 0: no file
  std::string name;  // the last kMaxName bytes; hostile: path, "[heap]", "[anon:NAME]", "" for plain anonymous memory

  [[nodiscard]] std::uint64_t size() const { return end - begin; }
  [[nodiscard]] bool has_file() const { return inode != 0; }
  // Behind the last slash, without " (deleted)".
  [[nodiscard]] std::string_view file_name() const;
};

// The mappings of a process, in order of address. Bounded: a process may have as many as it likes.
class MemoryMap {
 public:
  static constexpr std::size_t kMaxMappings = 65'600;  // the kernel's default limit of a process is 65,530
  static constexpr std::size_t kMaxText = 16u << 20, kMaxName = 128;

  // Lines that are not sound are dropped, and the map is not complete then.
  [[nodiscard]] static MemoryMap parse(std::string_view text);
  // maps: the bytes of /proc/PID/maps.
  [[nodiscard]] static Result<MemoryMap> read(const ByteSource& maps);

  [[nodiscard]] const std::vector<Mapping>& mappings() const { return mappings_; }
  // Null where nothing is mapped.
  [[nodiscard]] const Mapping* at(std::uint64_t address) const;
  [[nodiscard]] bool is_complete() const { return is_complete_; }

 private:
  void add_line(std::string_view line);

  std::vector<Mapping> mappings_;
  bool is_complete_ = true;
};

}  // namespace oomw
