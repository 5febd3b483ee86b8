// SPDX-License-Identifier: Apache-2.0
// Failure as a value. Nothing in oomwitness throws across a function boundary: an exception is
// silent in an API and cannot be counted. Third-party throws are caught in the file that calls
// the library. Broken invariants abort through OOMW_CHECK.
//
// The alias exists so that it can become std::expected once the compiler floor allows it.
#pragma once

#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace oomw {

enum class ErrorCode {
  kNotFound,     // vanished pid, cgroup or file: an expected value, never a warning
  kPermission,   // EPERM, EACCES: the message names what is missing
  kInvalid,      // malformed input: the input is to blame
  kUnsupported,  // the kernel or platform lacks it
  kTimeout,      // a deadline passed
  kLimit,        // one of our own bounds was hit
  kNoSpace,      // ENOSPC, EDQUOT
  kUnavailable,  // refused, reset, gone: may work later
  kInternal,     // anything else; message carries errno's text
};

[[nodiscard]] std::string_view to_string(ErrorCode code);

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;

  // "reading memory.current of /a/b: No such file or directory"
  [[nodiscard]] Error with_context(std::string_view what) && {
    message.insert(0, ": ").insert(0, what);
    return std::move(*this);
  }
};

template <typename T = void>
using Result = tl::expected<T, Error>;

[[nodiscard]] inline tl::unexpected<Error> fail(ErrorCode code, std::string message) {
  return tl::make_unexpected(Error{code, std::move(message)});
}

// An Error from an errno value; what = the thing that was tried ("open /proc/1/stat").
[[nodiscard]] Error errno_error(int err, std::string_view what);
[[nodiscard]] inline tl::unexpected<Error> fail_errno(int err, std::string_view what) {
  return tl::make_unexpected(errno_error(err, what));
}

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace oomw

#define OOMW_CHECK(expression) ((expression) ? void(0) : ::oomw::check_failed(#expression, __FILE__, __LINE__))

#define RETURN_IF_ERROR(expression)                                    \
  do {                                                                 \
    if (auto oomw_result_ = (expression); !oomw_result_.has_value()) { \
      return tl::make_unexpected(std::move(oomw_result_).error());     \
    }                                                                  \
  } while (0)

#define OOMW_CONCAT_INNER(a, b) a##b
#define OOMW_CONCAT(a, b) OOMW_CONCAT_INNER(a, b)
#define OOMW_ASSIGN_OR_RETURN(temporary, target, expression)  \
  auto temporary = (expression);                              \
  if (!temporary.has_value()) {                               \
    return tl::make_unexpected(std::move(temporary).error()); \
  }                                                           \
  target = std::move(*temporary)
#define ASSIGN_OR_RETURN(target, expression) \
  OOMW_ASSIGN_OR_RETURN(OOMW_CONCAT(oomw_result_, __LINE__), target, expression)
