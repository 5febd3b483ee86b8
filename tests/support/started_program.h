// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace oomw::test {

// Another program, started for a test that reads it from outside. Killed and reaped at the end, or with the test.
class StartedProgram {
 public:
  // Returns once it has written "ready" and a line's end, or ended. library_path: "" = as it is here.
  explicit StartedProgram(const std::vector<std::string>& command, const std::string& library_path = "");
  ~StartedProgram();
  StartedProgram(const StartedProgram&) = delete;
  StartedProgram& operator=(const StartedProgram&) = delete;

  [[nodiscard]] pid_t pid() const { return pid_; }
  [[nodiscard]] const std::string& output() const { return output_; }  // up to there
  [[nodiscard]] bool is_ready() const { return output_.ends_with("ready\n"); }

 private:
  [[noreturn]] static void run(const std::vector<std::string>& command, const std::string& library_path, int output);

  pid_t pid_ = -1;
  std::string output_;
};

}  // namespace oomw::test
