// SPDX-License-Identifier: Apache-2.0
#include "cli/read/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

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

// /dev/stdout and the like may be a pipe to another program; a message would corrupt its input.
std::FILE* message_stream(const std::string& path) {
  struct stat status {};
  const bool is_file = ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  return is_stdout(path) || !is_file ? stderr : stdout;
}

}  // namespace oomw::cli
