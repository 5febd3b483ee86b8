// SPDX-License-Identifier: Apache-2.0
#include "goruntime/binary_cache.h"

namespace oomw::goruntime {

namespace {

GoBinary unreadable(const Error& error) {
  GoBinary binary;
  binary.why = error.message;
  return binary;
}

}  // namespace

Result<std::shared_ptr<const GoBinary>> BinaryCache::inspect(int exe_fd) {
  ASSIGN_OR_RETURN(const FileIdentity identity, identify_file(exe_fd));
  if (const auto it = entries_.find(identity); it != entries_.end()) {
    uses_.splice(uses_.begin(), uses_, it->second.use);
    return it->second.binary;
  }
  ++misses_;
  auto found = inspect_binary(exe_fd);
  if (entries_.size() >= capacity_ && !uses_.empty()) {
    entries_.erase(uses_.back());
    uses_.pop_back();
  }
  auto binary = std::make_shared<const GoBinary>(found.has_value() ? std::move(*found) : unreadable(found.error()));
  uses_.push_front(identity);
  entries_[identity] = {binary, uses_.begin()};
  return binary;
}

}  // namespace oomw::goruntime
