// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace oomw {

// SHA-256 by libcrypto, which libcurl loads anyway. Feed it in pieces: a profile of 30 MB is never in memory as a
// whole.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::string_view bytes);
  [[nodiscard]] std::string finish();  // 32 bytes; once

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

[[nodiscard]] std::string sha256(std::string_view bytes);                             // 32 bytes
[[nodiscard]] std::string hmac_sha256(std::string_view key, std::string_view bytes);  // 32 bytes

}  // namespace oomw
