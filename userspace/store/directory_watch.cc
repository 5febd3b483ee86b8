// SPDX-License-Identifier: Apache-2.0
#include "store/directory_watch.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace oomw {

namespace {

constexpr std::uint32_t kComeOrGo = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;
constexpr std::size_t kBufferBytes = 16'384;  // 60 notices of the longest names

// False if the kernel dropped some.
bool read_notices(const char* data, std::size_t size, std::set<std::string>& names) {
  bool is_whole = true;
  inotify_event notice;
  for (std::size_t at = 0; at + sizeof(notice) <= size; at += sizeof(notice) + notice.len) {
    std::memcpy(&notice, data + at, sizeof(notice));
    if ((notice.mask & IN_Q_OVERFLOW) != 0) is_whole = false;
    const char* name = data + at + sizeof(notice);
    if (notice.len != 0) names.emplace(name, ::strnlen(name, notice.len));  // padded with NULs
  }
  return is_whole;
}

}  // namespace

Result<DirectoryWatch> DirectoryWatch::open(const std::string& path) {
  UniqueFd inotify(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (!inotify.is_valid()) return fail_errno(errno, "inotify");
  if (::inotify_add_watch(inotify.get(), path.c_str(), kComeOrGo | IN_ONLYDIR) < 0) {
    return fail_errno(errno, "inotify " + path);
  }
  return DirectoryWatch(std::move(inotify));
}

std::optional<std::set<std::string>> DirectoryWatch::take() {
  std::set<std::string> names;
  bool is_whole = true;
  alignas(inotify_event) std::array<char, kBufferBytes> buffer;
  for (;;) {
    const ssize_t n = ::read(inotify_.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    is_whole = read_notices(buffer.data(), static_cast<std::size_t>(n), names) && is_whole;
  }
  if (!is_whole) return std::nullopt;
  return names;
}

}  // namespace oomw
