// SPDX-License-Identifier: Apache-2.0
#include "support/started_program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/result.h"
#include "base/unique_fd.h"

namespace oomw::test {

StartedProgram::StartedProgram(const std::vector<std::string>& command, const std::string& library_path) {
  int ends[2];
  OOMW_CHECK(::pipe2(ends, O_CLOEXEC) == 0);
  const UniqueFd reads(ends[0]);
  UniqueFd writes(ends[1]);
  pid_ = ::fork();
  OOMW_CHECK(pid_ >= 0);
  if (pid_ == 0) run(command, library_path, writes.get());
  writes.reset();
  char byte = 0;
  while (!is_ready() && ::read(reads.get(), &byte, 1) == 1) output_ += byte;
}

StartedProgram::~StartedProgram() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void StartedProgram::run(const std::vector<std::string>& command, const std::string& library_path, int output) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(output, STDOUT_FILENO);
  if (!library_path.empty()) ::setenv("LD_LIBRARY_PATH", library_path.c_str(), 1);
  std::vector<char*> argv;
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

}  // namespace oomw::test
