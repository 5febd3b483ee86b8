// SPDX-License-Identifier: Apache-2.0
#include "kernel/libbpf_log.h"

#include <algorithm>
#include <cstdarg>
#include <cstdio>

#include <bpf/libbpf.h>

#include "base/result.h"

namespace oomw {

namespace {

// libbpf's callback has no context argument.
thread_local LibbpfLog* current_log = nullptr;

[[gnu::format(printf, 2, 0)]] int keep(libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG || current_log == nullptr) return 0;
  char line[LibbpfLog::kMaxBytes];
  int length = std::vsnprintf(line, sizeof(line), format, arguments);
  if (length > 0) current_log->append(line, std::min<std::size_t>(length, sizeof(line) - 1));
  return length;
}

}  // namespace

LibbpfLog::LibbpfLog() {
  OOMW_CHECK(current_log == nullptr);
  current_log = this;
  libbpf_set_print(keep);
}

LibbpfLog::~LibbpfLog() { current_log = nullptr; }

void LibbpfLog::append(const char* data, std::size_t size) {
  text_.append(data, size);
  if (text_.size() > kMaxBytes) text_.erase(0, text_.size() - kMaxBytes);
}

}  // namespace oomw
