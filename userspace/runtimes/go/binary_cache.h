// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>

#include "base/result.h"
#include "process/process_image.h"
#include "runtimes/go/binary.h"

namespace oomw::go {

// The results of inspecting executables, so that the thousandth process of a program costs one fstat. Failures are kept
// too: a broken file is not inspected twice. At most `capacity` files; the longest unused goes first. One thread.
class BinaryCache {
 public:
  explicit BinaryCache(std::size_t capacity = 1024) : capacity_(capacity) {}

  // Never null: a file that is no readable ELF comes back as "not Go" with the reason in `why`.
  // An Error only if the fd itself cannot be read now.
  [[nodiscard]] Result<std::shared_ptr<const GoBinary>> inspect(int exe_fd);

  // The two halves of inspect(), for a caller with a lock to drop while the file is read: the file
  // system may be slow, or a hostile FUSE that never answers.
  [[nodiscard]] std::shared_ptr<const GoBinary> find(const FileIdentity& identity);  // null if not known
  void put(const FileIdentity& identity, std::shared_ptr<const GoBinary> binary);    // counts a miss
  // inspect_binary(), with "no readable ELF" as a result.
  [[nodiscard]] static std::shared_ptr<const GoBinary> look_at(int exe_fd);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::uint64_t misses() const { return misses_; }

 private:
  struct Entry {
    std::shared_ptr<const GoBinary> binary;
    std::list<FileIdentity>::iterator use;
  };

  std::size_t capacity_;
  std::uint64_t misses_ = 0;
  std::map<FileIdentity, Entry> entries_;
  std::list<FileIdentity> uses_;  // most recent first
};

}  // namespace oomw::go
