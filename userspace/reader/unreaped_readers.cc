// SPDX-License-Identifier: Apache-2.0
#include "reader/unreaped_readers.h"

#include <sys/wait.h>

#include <algorithm>

namespace oomw::reader {

void UnreapedReaders::add(pid_t pid, std::span<const std::string> owners) {
  const std::lock_guard lock(mutex_);
  left_.push_back({pid, {owners.begin(), owners.end()}});
}

void UnreapedReaders::reap_locked() {
  std::erase_if(left_, [](const Unreaped& one) { return ::waitpid(one.pid, nullptr, WNOHANG) != 0; });
}

void UnreapedReaders::reap() {
  const std::lock_guard lock(mutex_);
  reap_locked();
}

bool UnreapedReaders::has_room() {
  const std::lock_guard lock(mutex_);
  reap_locked();
  return left_.size() < kMax;
}

bool UnreapedReaders::holds(std::span<const std::string> owners) {
  const std::lock_guard lock(mutex_);
  if (left_.empty() || owners.empty()) return false;
  reap_locked();
  return std::ranges::any_of(left_, [&](const Unreaped& one) {
    return std::ranges::any_of(one.owners, [&](const std::string& owner) { return std::ranges::count(owners, owner); });
  });
}

std::size_t UnreapedReaders::count() const {
  const std::lock_guard lock(mutex_);
  return left_.size();
}

}  // namespace oomw::reader
