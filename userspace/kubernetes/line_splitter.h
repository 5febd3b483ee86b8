// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace oomw {

// Splits an endless stream into lines. A line without an end is kLimit at kMaxLineBytes.
class LineSplitter {
 public:
  static constexpr std::size_t kMaxLineBytes = 2u << 20;  // etcd takes 1.5 MiB for an object
  using OnLine = std::function<Result<>(std::string_view line)>;

  // Skips empty lines. Stops at the first error of on_line and returns it.
  [[nodiscard]] Result<> feed(std::string_view bytes, const OnLine& on_line) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      if (line_.size() + std::min(end, bytes.size()) > kMaxLineBytes) {
        return fail(ErrorCode::kLimit, "a watch event is larger than 2 MiB");
      }
      line_.append(bytes.substr(0, end));
      if (end == std::string_view::npos) return {};
      bytes.remove_prefix(end + 1);
      const std::string line = std::exchange(line_, {});
      if (!line.empty()) RETURN_IF_ERROR(on_line(line));
    }
    return {};
  }

 private:
  std::string line_;
};

}  // namespace oomw
