// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace oomw {

// While this lives, libbpf's messages on this thread are kept here (the last kMaxBytes) instead of being printed: they
// give the reason for a refusal. Must not be nested.
class LibbpfLog {
 public:
  static constexpr std::size_t kMaxBytes = 16384;

  LibbpfLog();
  ~LibbpfLog();
  LibbpfLog(const LibbpfLog&) = delete;
  LibbpfLog& operator=(const LibbpfLog&) = delete;

  [[nodiscard]] const std::string& text() const { return text_; }
  void append(const char* data, std::size_t size);

 private:
  std::string text_;
};

}  // namespace oomw
