// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <glob.h>
#include <unistd.h>

#include <string>

namespace oomw::test {

// The interpreter of a version, "3" being the system's own: the system's, else one that pyenv has installed for root.
// "" if there is none.
inline std::string python_interpreter(const std::string& version) {
  const std::string own = "/usr/bin/python" + version;
  if (::access(own.c_str(), X_OK) == 0) return own;
  glob_t found{};
  std::string path;
  const std::string pattern = "/root/.pyenv/versions/" + version + ".*/bin/python3";
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) path = found.gl_pathv[0];
  ::globfree(&found);
  return path;
}

}  // namespace oomw::test
