// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/memory_budget.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace oomw {

// Bytes on their way from a container to the disk, in a file of memory: they never become part of this process. They
// do count for its cgroup, so they are leased from a budget, one MiB at a time. One thread.
class ProfileFile {
 public:
  // memory: may be null, and must outlive the file.
  [[nodiscard]] static Result<ProfileFile> make(MemoryBudget* memory);

  // kLimit: others have all the memory.
  [[nodiscard]] Result<> append(std::string_view bytes);
  // Its content was written by another process, at most max_bytes; kLimit if there is more.
  [[nodiscard]] Result<> adopt_size(std::uint64_t max_bytes);
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] int fd() const { return fd_.get(); }
  // A descriptor of the same file that cannot write, for another process.
  [[nodiscard]] Result<UniqueFd> open_read_only() const;
  // The whole file, if it is no longer than that; else kLimit.
  [[nodiscard]] Result<std::string> read(std::uint64_t max_bytes) const;

 private:
  ProfileFile(UniqueFd fd, MemoryBudget* memory) : fd_(std::move(fd)), memory_(memory) {}
  [[nodiscard]] Result<> lease(std::uint64_t size);

  UniqueFd fd_;
  std::uint64_t size_ = 0;
  MemoryBudget* memory_;
  std::vector<MemoryBudget::Lease> leases_;  // of kStep each
};

}  // namespace oomw
