// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "process/process_image.h"

namespace oomw {

// An executable kept open, so that its addresses can still be named once its process and its container are gone. Shared
// by everything that runs it.
class ExeHandle {
 public:
  // Descriptors that wait to be closed. A FUSE file's close() asks its daemon and may hang, so the thread that happens
  // to drop the last reference must not close it.
  struct Unused {
    std::mutex mutex;
    std::vector<UniqueFd> fds;
  };

  ExeHandle(UniqueFd fd, FileIdentity identity, std::string path, std::shared_ptr<Unused> unused)
      : fd_(std::move(fd)), identity_(identity), path_(std::move(path)), unused_(std::move(unused)) {}
  ~ExeHandle();
  ExeHandle(const ExeHandle&) = delete;
  ExeHandle& operator=(const ExeHandle&) = delete;

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const FileIdentity& identity() const { return identity_; }
  // As seen in the process's mount namespace, at most 4 KiB; hostile; "" if not readable.
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  UniqueFd fd_;
  FileIdentity identity_;
  std::string path_;
  std::shared_ptr<Unused> unused_;
};

// One open file per distinct executable in use, at most `capacity` at a time. An open file pins its container's root
// file system, so it stays open only while its handle is held. Thread-safe.
class ExeHandles {
 public:
  explicit ExeHandles(std::size_t capacity) : capacity_(capacity) {}

  // The handle of this executable; `fd` becomes it, or is closed if there is one already. Null when full: the caller
  // works without names.
  [[nodiscard]] std::shared_ptr<const ExeHandle> share(UniqueFd fd, const FileIdentity& identity, std::string path);
  // Closes files that are no longer used. Worker threads only: it may hang on a hostile file system.
  void close_unused();
  [[nodiscard]] std::size_t open_files() const;

 private:
  const std::size_t capacity_;
  mutable std::mutex mutex_;
  std::map<FileIdentity, std::weak_ptr<const ExeHandle>> handles_;
  std::shared_ptr<ExeHandle::Unused> unused_ = std::make_shared<ExeHandle::Unused>();
};

}  // namespace oomw
