// SPDX-License-Identifier: Apache-2.0
#include "kernel/libbpf_log.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <bpf/libbpf.h>

#include "base/result.h"

namespace oomw {

namespace {

// libbpf's callback has no context argument.
thread_local LibbpfLog* current_log = nullptr;

[[gnu::format(printf, 2, 0)]] int keep(libbpf_print_level level, const char* format, va_list arguments) {
  if (level == LIBBPF_DEBUG || current_log == nullptr) return 0;
  // A verifier's log is one message of up to some MB; its end is what matters.
  char* text = nullptr;
  int length = ::vasprintf(&text, format, arguments);
  if (length < 0) return length;
  std::unique_ptr<char, decltype(&std::free)> owned(text, std::free);
  current_log->append(text, static_cast<std::size_t>(length));
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
  std::size_t skipped = size > kMaxBytes ? size - kMaxBytes : 0;
  text_.append(data + skipped, size - skipped);
  if (text_.size() > kMaxBytes) text_.erase(0, text_.size() - kMaxBytes);
}

}  // namespace oomw
