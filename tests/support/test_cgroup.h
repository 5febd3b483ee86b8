// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "events/ids.h"

namespace oomw::test {

// A memory cgroup of our own, /oomw-test-<pid>-<n> of the memory hierarchy (v1 or v2), removed at
// the end also after a failed assertion. Children go before parents: declare parents first.
// Never touches a cgroup that it did not make.
class TestCgroup {
 public:
  // Error: no writable memory hierarchy; a test skips with it.
  [[nodiscard]] static Result<std::unique_ptr<TestCgroup>> make();
  [[nodiscard]] Result<std::unique_ptr<TestCgroup>> make_child();
  // Kills what still runs inside, waits for it to leave and removes the directory.
  ~TestCgroup();
  TestCgroup(const TestCgroup&) = delete;
  TestCgroup& operator=(const TestCgroup&) = delete;

  [[nodiscard]] CgroupId id() const;
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] std::string path() const;  // from the hierarchy's root
  void set_limit(std::uint64_t bytes);     // aborts on refusal: no test means anything then
  [[nodiscard]] std::uint64_t usage_bytes() const;
  // As the kernel counts them, of this very cgroup.
  [[nodiscard]] std::uint64_t oom_kills() const;
  // Callable in a forked child before it does anything else.
  void enter() const;
  void remove();  // now; false assertions later are harmless

 private:
  TestCgroup(std::string root, std::string directory, bool is_v2);
  [[nodiscard]] std::uint64_t read_counter(const std::string& file, const std::string& key) const;
  void end_processes() const;

  std::string root_;
  std::string directory_;
  bool is_v2_;
  bool removed_ = false;
};

}  // namespace oomw::test
