// SPDX-License-Identifier: Apache-2.0
#include "base/result.h"

#include <array>
#include <cerrno>
#include <cstdio>

namespace oomw {

std::string_view to_string(ErrorCode code) {
  constexpr std::array<std::string_view, 9> kNames = {
      "not_found", "permission", "invalid", "unsupported", "timeout", "limit", "no_space", "unavailable", "internal"};
  return kNames[static_cast<std::size_t>(code)];
}

namespace {

ErrorCode code_of_errno(int err) {
  switch (err) {
    case ENOENT:
    case ESRCH:
    case ENODEV:  // reading a file of a removed cgroup
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case EPERM:
    case EACCES:
    case EROFS:
      return ErrorCode::kPermission;
    case EINVAL:
    case ENAMETOOLONG:
      return ErrorCode::kInvalid;
    case ENOSYS:
    case EOPNOTSUPP:
      return ErrorCode::kUnsupported;
    case ETIMEDOUT:
      return ErrorCode::kTimeout;
    case EMFILE:
    case ENFILE:
    case E2BIG:
      return ErrorCode::kLimit;
    case ENOSPC:
    case EDQUOT:
      return ErrorCode::kNoSpace;
    case ECONNREFUSED:
    case ECONNRESET:
    case EADDRINUSE:
    case EADDRNOTAVAIL:
    case ENETUNREACH:
    case EHOSTUNREACH:
    case EAGAIN:
    case EBUSY:
      return ErrorCode::kUnavailable;
    default:
      return ErrorCode::kInternal;
  }
}

}  // namespace

Error errno_error(int err, std::string_view what) {
  char buffer[128];
  // GNU strerror_r: returns the text, which may or may not be in the buffer.
  const char* text = strerror_r(err, buffer, sizeof(buffer));
  return Error{code_of_errno(err), std::string(what) + ": " + text};
}

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "oomwitness: bug: %s does not hold (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace oomw
