// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <functional>
#include <memory>

#include "base/copy_file.h"

namespace oomw {
namespace {

struct DirCloser {
  void operator()(DIR* dir) const { ::closedir(dir); }
};
using DirStream = std::unique_ptr<DIR, DirCloser>;

Result<DirStream> stream_of(UniqueFd fd, const std::string& path) {
  DirStream stream(fdopendir(fd.get()));
  if (!stream) return fail_errno(errno, "reading directory " + path);
  (void)fd.release();  // the stream closes it
  return stream;
}

// The next name that is not "." or "..", nullptr at the end or on error (then errno is not 0).
const char* next_name(DIR* dir) {
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(dir);
    if (entry == nullptr) return nullptr;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return entry->d_name;
  }
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// O_NONBLOCK: a FIFO that a container put where we expect a file must not hang a root daemon.
Result<UniqueFd> open_to_read(int dir_fd, const std::string& name) {
  return open_at(dir_fd, name, O_RDONLY | O_NONBLOCK);
}

struct TemporaryFile {
  UniqueFd fd;
  std::string path;
};

// A new file beside `path`. Skips names that a crashed process with our pid left behind.
Result<TemporaryFile> make_temporary_beside(const std::string& path, unsigned mode) {
  constexpr int kMaxTries = 100;
  for (int n = 0; n < kMaxTries; ++n) {
    std::string name = path + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(n);
    UniqueFd fd(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, static_cast<mode_t>(mode)));
    if (fd.is_valid()) return TemporaryFile{std::move(fd), std::move(name)};
    if (errno != EEXIST) return fail_errno(errno, "open " + name);
  }
  return fail(ErrorCode::kLimit, "no free temporary name beside " + path);
}

Result<> fill_and_rename(const TemporaryFile& temporary, const std::function<Result<>(int fd)>& fill,
                         const std::string& path) {
  RETURN_IF_ERROR(fill(temporary.fd.get()));
  if (::fsync(temporary.fd.get()) != 0) return fail_errno(errno, "fsync " + temporary.path);
  if (::rename(temporary.path.c_str(), path.c_str()) != 0) return fail_errno(errno, "rename to " + path);
  return {};
}

}  // namespace

// Reads until max_bytes or the end. Buffers grow by doubling from 4 KiB: kernel files are small,
// and the limit is often far larger than the file.
Result<std::string> read_open_file(int fd, const std::string& name, std::size_t max_bytes) {
  std::string bytes;
  std::size_t filled = 0;
  while (filled < max_bytes) {
    if (filled == bytes.size()) bytes.resize(std::min(max_bytes, std::max<std::size_t>(4096, bytes.size() * 2)));
    const ssize_t n = ::read(fd, bytes.data() + filled, bytes.size() - filled);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "reading " + name);
    if (n == 0) break;
    filled += static_cast<std::size_t>(n);
  }
  bytes.resize(filled);
  return bytes;
}

Result<UniqueFd> open_at(int dir_fd, const std::string& name, int flags, unsigned mode) {
  int fd = -1;
  do {
    fd = ::openat(dir_fd, name.c_str(), flags | O_CLOEXEC | O_NOCTTY, static_cast<mode_t>(mode));
  } while (fd < 0 && errno == EINTR);
  if (fd < 0) return fail_errno(errno, "open " + name);
  return UniqueFd(fd);
}

Result<UniqueFd> open_directory(const std::string& path) { return open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY); }

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  return read_file_at(AT_FDCWD, path, max_bytes);
}

Result<std::string> read_file_at(int dir_fd, const std::string& name, std::size_t max_bytes) {
  ASSIGN_OR_RETURN(const UniqueFd fd, open_to_read(dir_fd, name));
  ASSIGN_OR_RETURN(std::string bytes, read_open_file(fd.get(), name, max_bytes + 1));
  if (bytes.size() > max_bytes) {
    return fail(ErrorCode::kLimit, "reading " + name + ": longer than " + std::to_string(max_bytes) + " bytes");
  }
  return bytes;
}

Result<std::string> read_prefix_at(int dir_fd, const std::string& name, std::size_t max_bytes) {
  ASSIGN_OR_RETURN(const UniqueFd fd, open_to_read(dir_fd, name));
  return read_open_file(fd.get(), name, max_bytes);
}

Result<std::string> read_link_at(int dir_fd, const std::string& name) {
  std::array<char, PATH_MAX> target;
  const ssize_t n = ::readlinkat(dir_fd, name.c_str(), target.data(), target.size());
  if (n < 0) return fail_errno(errno, "readlink " + name);
  return std::string(target.data(), static_cast<std::size_t>(n));
}

std::optional<std::string_view> read_again(int fd, std::span<char> buffer) {
  const ssize_t n = ::pread(fd, buffer.data(), buffer.size(), 0);
  if (n <= 0) return std::nullopt;
  return std::string_view(buffer.data(), static_cast<std::size_t>(n));
}

Result<std::vector<std::string>> list_directory(const std::string& path, std::size_t max_entries) {
  ASSIGN_OR_RETURN(UniqueFd fd, open_directory(path));
  ASSIGN_OR_RETURN(const DirStream dir, stream_of(std::move(fd), path));
  std::vector<std::string> names;
  while (const char* name = next_name(dir.get())) {
    if (names.size() == max_entries) {
      return fail(ErrorCode::kLimit, "listing " + path + ": more than " + std::to_string(max_entries) + " entries");
    }
    names.emplace_back(name);
  }
  if (errno != 0) return fail_errno(errno, "listing " + path);
  return names;
}

Result<> make_directories(const std::string& path, unsigned mode) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string prefix = path.substr(0, end);
    if (::mkdir(prefix.c_str(), static_cast<mode_t>(mode)) != 0 && errno != EEXIST) {
      return fail_errno(errno, "mkdir " + prefix);
    }
    if (end == std::string::npos) break;
  }
  RETURN_IF_ERROR(open_directory(path));  // EEXIST may have meant a file
  return {};
}

Result<> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "write");
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return {};
}

Result<> fsync_directory(const std::string& path) {
  ASSIGN_OR_RETURN(const UniqueFd fd, open_directory(path));
  if (::fsync(fd.get()) != 0) return fail_errno(errno, "fsync " + path);
  return {};
}

Result<> copy_bytes(int from, int to, std::uint64_t max_bytes) {
  off_t offset = 0;
  for (;;) {
    const auto left = static_cast<std::size_t>(max_bytes - static_cast<std::uint64_t>(offset));
    const ssize_t n = ::sendfile(to, from, &offset, left);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno(errno, "copying a file");
    if (n == 0) return {};
  }
}

Result<> write_file_atomic(const std::string& path, std::string_view bytes, unsigned mode) {
  return write_file_atomic_by(
      path, [bytes](int fd) { return write_all(fd, bytes); }, mode);
}

Result<> write_file_atomic_by(const std::string& path, const std::function<Result<>(int fd)>& fill, unsigned mode) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    return fail(ErrorCode::kInvalid, "writing " + path + ": it is there and not a regular file");
  }
  ASSIGN_OR_RETURN(const TemporaryFile temporary, make_temporary_beside(path, mode));
  if (auto written = fill_and_rename(temporary, fill, path); !written.has_value()) {
    ::unlink(temporary.path.c_str());
    return tl::make_unexpected(std::move(written).error().with_context("writing " + path));
  }
  return fsync_directory(directory_of(path));
}

Result<> remove_flat_directory(const std::string& path) {
  ASSIGN_OR_RETURN(UniqueFd fd, open_at(AT_FDCWD, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  ASSIGN_OR_RETURN(const DirStream dir, stream_of(std::move(fd), path));
  while (const char* name = next_name(dir.get())) {
    if (::unlinkat(dirfd(dir.get()), name, 0) != 0 && errno != ENOENT) {
      return fail_errno(errno, "unlink " + path + "/" + name);
    }
  }
  if (errno != 0) return fail_errno(errno, "listing " + path);
  if (::rmdir(path.c_str()) != 0) return fail_errno(errno, "rmdir " + path);
  return {};
}

}  // namespace oomw
