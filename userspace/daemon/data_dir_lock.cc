// SPDX-License-Identifier: Apache-2.0
#include "daemon/data_dir_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/files.h"
#include "base/text.h"

namespace oomw {

Result<bool> DataDirLock::try_take() {
  constexpr int kTries = 3;  // the file may be removed between open and flock
  for (int tries = 0; tries < kTries && !is_held(); ++tries) {
    ASSIGN_OR_RETURN(UniqueFd fd, open());
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return false;
      return fail_errno(errno, "flock " + path_);
    }
    if (is_at_path(fd.get())) fd_ = std::move(fd);
  }
  if (is_held()) write_pid();
  return is_held();
}

Result<UniqueFd> DataDirLock::open() const {
  Result<UniqueFd> fd = open_at(AT_FDCWD, path_, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (fd.has_value()) return fd;
  // A directory that is not writable can be locked as well, if it has a lock file from before.
  Result<UniqueFd> readable = open_at(AT_FDCWD, path_, O_RDONLY | O_NOFOLLOW);
  return readable.has_value() ? std::move(readable) : std::move(fd);
}

bool DataDirLock::is_at_path(int fd) const {
  struct stat open_file {};
  struct stat named {};
  if (::fstat(fd, &open_file) != 0 || ::lstat(path_.c_str(), &named) != 0) return false;
  return open_file.st_dev == named.st_dev && open_file.st_ino == named.st_ino;
}

// For people and for the error of a second daemon; the lock works without it.
void DataDirLock::write_pid() const {
  if (::ftruncate(fd_.get(), 0) != 0) return;
  const std::string text = std::to_string(::getpid()) + "\n";
  (void)::pwrite(fd_.get(), text.data(), text.size(), 0);
}

std::int32_t DataDirLock::holder() const {
  constexpr std::size_t kMaxBytes = 32;
  const Result<std::string> text = read_file(path_, kMaxBytes);
  const auto pid = text.has_value() ? parse_u64(trim(*text)) : std::nullopt;
  return pid && *pid <= INT32_MAX ? static_cast<std::int32_t>(*pid) : 0;
}

}  // namespace oomw
