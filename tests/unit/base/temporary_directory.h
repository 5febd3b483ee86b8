// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/result.h"

namespace oomw::test {

// A fresh directory below the system's temporary one, removed with all it holds.
class TemporaryDirectory {
 public:
  TemporaryDirectory() { OOMW_CHECK(::mkdtemp(path_.data()) != nullptr); }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_ = std::filesystem::temp_directory_path() / "oomwitness-test-XXXXXX";
};

}  // namespace oomw::test
