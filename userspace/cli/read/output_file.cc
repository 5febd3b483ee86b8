// SPDX-License-Identifier: Apache-2.0
#include "cli/read/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>

#include "base/files.h"

namespace oomw::cli {
namespace {

// The target of a symbolic link: the output replaces the target, not the link.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? path : real.get();
}

}  // namespace

bool is_stdout(const std::string& path) { return path == "-"; }

Result<> write_output(const std::string& path, std::string_view bytes) {
  if (is_stdout(path)) return write_all(STDOUT_FILENO, bytes);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return write_file_atomic(path, bytes);
  if (S_ISREG(status.st_mode)) return write_file_atomic(resolved(path), bytes);
  ASSIGN_OR_RETURN(const UniqueFd fd, open_at(AT_FDCWD, path, O_WRONLY));
  return write_all(fd.get(), bytes);
}

namespace {

Result<> write_pieces(int fd, const std::function<Result<>(const PieceSink&)>& produce) {
  return produce([fd](std::string_view piece) { return write_all(fd, piece); });
}

// Beside the target, so that the rename is atomic; O_EXCL: nobody's file is reused.
Result<> replace_in_pieces(const std::string& path, const std::function<Result<>(const PieceSink&)>& produce) {
  const std::string temporary = path + ".tmp-" + std::to_string(::getpid());
  ASSIGN_OR_RETURN(const UniqueFd fd, open_at(AT_FDCWD, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600));
  Result<> done = write_pieces(fd.get(), produce);
  if (done && ::fsync(fd.get()) != 0) done = fail_errno(errno, "fsync " + temporary);
  if (done && ::rename(temporary.c_str(), path.c_str()) != 0) done = fail_errno(errno, "rename " + temporary);
  if (!done) (void)::unlink(temporary.c_str());
  return done;
}

}  // namespace

Result<> write_output_in_pieces(const std::string& path, const std::function<Result<>(const PieceSink&)>& produce) {
  if (is_stdout(path)) return write_pieces(STDOUT_FILENO, produce);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return replace_in_pieces(path, produce);
  if (S_ISREG(status.st_mode)) return replace_in_pieces(resolved(path), produce);
  ASSIGN_OR_RETURN(const UniqueFd fd, open_at(AT_FDCWD, path, O_WRONLY));
  return write_pieces(fd.get(), produce);
}

// /dev/stdout and the like may be a pipe to another program; a message would corrupt its input.
std::FILE* message_stream(const std::string& path) {
  struct stat status {};
  const bool is_file = ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  return is_stdout(path) || !is_file ? stderr : stdout;
}

}  // namespace oomw::cli
