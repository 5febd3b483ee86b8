// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oomw {

// What was added to one directory, or taken from it, by anybody (inotify). Says nothing of what
// happens inside of its subdirectories. Not thread-safe.
class DirectoryWatch {
 public:
  [[nodiscard]] static Result<DirectoryWatch> open(const std::string& path);
  // The names that changed since open() or the last call; nullopt: the kernel dropped notices (16,384
  // are queued by default), so that only a walk tells.
  [[nodiscard]] std::optional<std::set<std::string>> take();

 private:
  explicit DirectoryWatch(UniqueFd inotify) : inotify_(std::move(inotify)) {}
  UniqueFd inotify_;
};

}  // namespace oomw
