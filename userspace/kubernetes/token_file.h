// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace oomw {

// The service account's token, which the kubelet replaces in place (a projected one lives an hour).
// One thread.
class TokenFile {
 public:
  static constexpr Nanoseconds kMaxAge = std::chrono::seconds(60);

  explicit TokenFile(std::string path) : path_(std::move(path)) {}
  // At most kMaxAge old.
  [[nodiscard]] Result<std::string> get(MonotonicTime now);
  // The token was refused: the next get() reads the file.
  void forget() { token_.clear(); }

 private:
  const std::string path_;
  std::string token_;
  MonotonicTime read_at_;
};

}  // namespace oomw
