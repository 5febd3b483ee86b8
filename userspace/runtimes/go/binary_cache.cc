// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/binary_cache.h"

namespace oomw::go {

namespace {

GoBinary unreadable(const Error& error) {
  GoBinary binary;
  binary.why = error.message;
  return binary;
}

}  // namespace

std::shared_ptr<const GoBinary> BinaryCache::look_at(int exe_fd) {
  auto found = inspect_binary(exe_fd);
  return std::make_shared<const GoBinary>(found.has_value() ? std::move(*found) : unreadable(found.error()));
}

std::shared_ptr<const GoBinary> BinaryCache::find(const FileIdentity& identity) {
  const auto it = entries_.find(identity);
  if (it == entries_.end()) return nullptr;
  uses_.splice(uses_.begin(), uses_, it->second.use);
  return it->second.binary;
}

void BinaryCache::put(const FileIdentity& identity, std::shared_ptr<const GoBinary> binary) {
  ++misses_;
  if (const auto it = entries_.find(identity); it != entries_.end()) {
    it->second.binary = std::move(binary);
    return;
  }
  if (entries_.size() >= capacity_ && !uses_.empty()) {
    entries_.erase(uses_.back());
    uses_.pop_back();
  }
  uses_.push_front(identity);
  entries_[identity] = {std::move(binary), uses_.begin()};
}

Result<std::shared_ptr<const GoBinary>> BinaryCache::inspect(int exe_fd) {
  ASSIGN_OR_RETURN(const FileIdentity identity, identify_file(exe_fd));
  if (auto known = find(identity)) return known;
  auto binary = look_at(exe_fd);
  put(identity, binary);
  return binary;
}

}  // namespace oomw::go
