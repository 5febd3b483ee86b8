// SPDX-License-Identifier: Apache-2.0
#include "base/memory_limit.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "base/files.h"
#include "base/text.h"

namespace oomw {
namespace {

const char* limited_what = "";

// Allocates nothing.
void end_for_want_of_memory() {
  constexpr int kFailed = 1;
  constexpr const char* kText = ": takes more memory than is reasonable: refused\n";
  (void)!::write(STDERR_FILENO, limited_what, std::strlen(limited_what));
  (void)!::write(STDERR_FILENO, kText, std::strlen(kText));
  ::_exit(kFailed);
}

}  // namespace

Result<std::uint64_t> own_address_space() {
  ASSIGN_OR_RETURN(const std::string text, read_file("/proc/self/statm", 256));
  const auto pages = parse_u64(text.substr(0, text.find(' ')));
  if (!pages) return fail(ErrorCode::kInternal, "/proc/self/statm has no size");
  return *pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

MemoryLimit::MemoryLimit(std::uint64_t more_bytes, const char* what) {
#if !defined(OOMW_SANITIZED)  // a sanitizer reserves terabytes of address space
  const auto own = own_address_space();
  rlimit old{};
  if (!own || ::getrlimit(RLIMIT_AS, &old) != 0) return;
  const rlimit wanted{std::min<rlim_t>(*own + more_bytes, old.rlim_cur), old.rlim_max};
  if (::setrlimit(RLIMIT_AS, &wanted) != 0) return;
  before_ = old;
  limited_what = what;
  std::set_new_handler(end_for_want_of_memory);
#else
  (void)more_bytes;
  (void)what;
#endif
}

MemoryLimit::~MemoryLimit() {
  if (!before_) return;
  std::set_new_handler(nullptr);
  (void)::setrlimit(RLIMIT_AS, &*before_);
}

}  // namespace oomw
