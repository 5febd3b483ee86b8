// SPDX-License-Identifier: Apache-2.0
#include "cli/read/foreign_file.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/files.h"
#include "base/text.h"

namespace oomw::cli {

Result<std::string> read_plain_file(const std::string& path, std::size_t max_bytes) {
  ASSIGN_OR_RETURN(const UniqueFd fd, open_at(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, "fstat " + path);
  if (!S_ISREG(status.st_mode)) return fail(ErrorCode::kInvalid, printable(path) + " is not a plain file");
  ASSIGN_OR_RETURN(std::string bytes, read_open_file(fd.get(), path, max_bytes + 1));
  if (bytes.size() <= max_bytes) return bytes;
  return fail(ErrorCode::kLimit, printable(path) + " is longer than " + human_bytes(max_bytes));
}

std::string for_any_terminal(std::string_view text) {
  constexpr std::size_t kMostPerByte = 8;  // "\\u{009b}"
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::string out;
  for (const std::string_view line : split(text, '\n')) out += printable(line, kMostPerByte * line.size() + 1) + '\n';
  return out;
}

}  // namespace oomw::cli
