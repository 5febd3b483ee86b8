// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace oomw::cli {

// "3/30, about 4 min left".
[[nodiscard]] std::string progress_text(std::size_t done, std::size_t all, double seconds_left);

// One line about long work on stderr, replaced as the work goes on; nothing where stderr is no terminal. It is gone
// once clear() was called, which must come before any other output.
class Progress {
 public:
  Progress();
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(const std::string& text);  // printable
  void clear();

 private:
  const bool is_terminal_;
  bool is_shown_ = false;
};

}  // namespace oomw::cli
