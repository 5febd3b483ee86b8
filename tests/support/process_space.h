// SPDX-License-Identifier: Apache-2.0
// The memory of a process as the readers of runtimes get it, and sources that lie.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "memory/address_space.h"
#include "process/open_memory.h"
#include "support/memory_image.h"

namespace oomw {

// The memory of the process that has this number now. An Error where it is gone.
class ProcessMemory final : public ByteSource {
 public:
  explicit ProcessMemory(int pid) : pid_(pid), file_(test::open_of_process(pid, "mem")) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override {
    if (!file_.is_valid()) return fail(ErrorCode::kNotFound, "the process is gone");
    return MemorySource(file_.get(), pid_).read_some(address, out);
  }

 private:
  const int pid_;
  const UniqueFd file_;
};

}  // namespace oomw

namespace oomw::test {

class MemoryFile final : public ByteSource {
 public:
  explicit MemoryFile(int fd) : fd_(fd) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override {
    const ssize_t n = ::pread(fd_, out.data(), out.size(), static_cast<off_t>(address));
    return n < 0 ? 0 : static_cast<std::size_t>(n);
  }

 private:
  int fd_;
};

// Of every `one_in` words, one is something else: another number each time that it is read, as in memory that changes
// meanwhile. Of the same bytes, read in the same order, the same ones by the same seed. one_in: 0 = none.
class TornMemory final : public ByteSource {
 public:
  TornMemory(const ByteSource& source, std::uint64_t one_in, std::uint64_t seed = 0)
      : source_(source), one_in_(one_in), state_(1 + seed * 0x9e3779b97f4a7c15) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override {
    ASSIGN_OR_RETURN(const std::size_t n, source_.read_some(address, out));
    for (std::size_t at = 0; one_in_ > 0 && at + 8 <= n; at += 8) {
      state_ = state_ * 6364136223846793005 + 1442695040888963407;
      if ((state_ >> 33) % one_in_ != 0) continue;
      std::uint64_t word = 0;
      std::memcpy(&word, out.data() + at, 8);
      word = (state_ >> 40) % 2 == 0 ? word ^ (std::uint64_t{1} << (state_ >> 58)) : word + 16;
      std::memcpy(out.data() + at, &word, 8);
    }
    return n;
  }

 private:
  const ByteSource& source_;
  const std::uint64_t one_in_;
  mutable std::uint64_t state_;
};

// What readers get of a process, living or kept; the files whose names begin with one of `libraries` serve for pages
// that are not in its memory. torn_one_in: 0 = none.
class ProcessSpace {
 public:
  ProcessSpace(int pid, std::string_view library, std::uint64_t torn_one_in = 0)
      : ProcessSpace(pid, std::span(&library, 1), torn_one_in) {}
  ProcessSpace(int pid, std::span<const std::string_view> libraries, std::uint64_t torn_one_in = 0)
      : memory_fd_(open_of_process(pid, "mem")), living_(memory_fd_.get()), torn_(living_, torn_one_in) {
    const UniqueFd maps = open_of_process(pid, "maps"), page_map = open_of_process(pid, "pagemap");
    MemoryMap map = MemoryMap::read(FdSource(maps.get())).value();
    PresentPages present = PageScanner(page_map.get()).scan(map).value();
    make(std::move(map), std::move(present), libraries);
  }
  // Borrows it.
  ProcessSpace(const MemoryImage& image, std::span<const std::string_view> libraries, std::uint64_t torn_one_in = 0,
               std::uint64_t seed = 0)
      : living_(-1), torn_(image, torn_one_in, seed) {
    make(MemoryMap::parse(image.maps()), image.present(), libraries);
  }
  [[nodiscard]] const AddressSpace& space() const { return *space_; }

 private:
  void make(MemoryMap map, PresentPages present, std::span<const std::string_view> libraries) {
    std::vector<FileImage> files;
    for (const Mapping& mapping : map.mappings()) {
      const bool is_wanted =
          mapping.has_file() && mapping.file_offset == 0 &&
          std::ranges::any_of(libraries, [&](std::string_view name) { return mapping.file_name().starts_with(name); });
      if (!is_wanted) continue;
      fds_.emplace_back(::open(mapping.name.c_str(), O_RDONLY | O_CLOEXEC));
      sources_.emplace_back(fds_.back().get());
      files.push_back({&sources_.back(), mapping.device, mapping.inode});
    }
    space_ = std::make_unique<AddressSpace>(torn_, std::move(map), std::move(present), std::move(files), 1u << 30);
  }

  UniqueFd memory_fd_;
  MemoryFile living_;
  TornMemory torn_;
  std::vector<UniqueFd> fds_;
  std::deque<FdSource> sources_;  // files refer to them
  std::unique_ptr<AddressSpace> space_;
};

}  // namespace oomw::test
