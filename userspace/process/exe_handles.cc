// SPDX-License-Identifier: Apache-2.0
#include "process/exe_handles.h"

#include <algorithm>

namespace oomw {

ExeHandle::~ExeHandle() {
  const std::lock_guard lock(unused_->mutex);
  unused_->fds.push_back(std::move(fd_));
}

std::shared_ptr<const ExeHandle> ExeHandles::share(UniqueFd fd, const FileIdentity& identity, std::string path) {
  const std::lock_guard lock(mutex_);
  const auto it = handles_.find(identity);
  if (it != handles_.end()) {
    if (auto known = it->second.lock()) return known;
  }
  if (handles_.size() >= capacity_) std::erase_if(handles_, [](const auto& entry) { return entry.second.expired(); });
  if (handles_.size() >= capacity_) return nullptr;
  auto handle = std::make_shared<const ExeHandle>(std::move(fd), identity, std::move(path), unused_);
  handles_[identity] = handle;
  return handle;
}

void ExeHandles::close_unused() {
  std::vector<UniqueFd> closing;  // closed without any lock held
  {
    const std::lock_guard lock(unused_->mutex);
    closing.swap(unused_->fds);
  }
  const std::lock_guard lock(mutex_);
  if (!closing.empty()) std::erase_if(handles_, [](const auto& entry) { return entry.second.expired(); });
}

std::size_t ExeHandles::open_files() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::count_if(handles_.begin(), handles_.end(), [](const auto& entry) { return !entry.second.expired(); }));
}

}  // namespace oomw
