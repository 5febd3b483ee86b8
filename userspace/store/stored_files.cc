// SPDX-License-Identifier: Apache-2.0
#include "store/stored_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "base/files.h"
#include "base/text.h"
#include "incident/incident.h"

namespace oomw {

Result<std::vector<std::string>> stored_file_names(const std::string& directory) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, list_directory(directory, kMaxStoredFiles));
  std::erase_if(names, [](const std::string& name) {
    return name.starts_with('.') || !is_plain_file_name(name) || name.find(".tmp-") != std::string::npos;
  });
  std::ranges::sort(names, {}, [](const std::string& name) { return std::pair(name == "incident.json", name); });
  return names;
}

Result<StoredFile> open_stored_file(const std::string& directory, const std::string& name) {
  if (name.empty() || !is_plain_file_name(name)) return fail(ErrorCode::kInvalid, "not the name of a file");
  ASSIGN_OR_RETURN(const UniqueFd dir, open_at(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW));
  ASSIGN_OR_RETURN(UniqueFd fd, open_at(dir.get(), name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return fail_errno(errno, "fstat " + printable(name));
  if (!S_ISREG(status.st_mode)) return fail(ErrorCode::kInvalid, printable(name) + " is not a plain file");
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  if (bytes > kMaxStoredFileBytes) {
    return fail(ErrorCode::kLimit, printable(name) + " is longer than " + human_bytes(kMaxStoredFileBytes));
  }
  return StoredFile{name, std::move(fd), bytes, status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec,
                    status.st_ino};
}

}  // namespace oomw
