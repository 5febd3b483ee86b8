// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "memory/process_image.h"
#include "runtimes/go/retention/holders.h"

namespace oomw::cli {

// A running Go program by its pid, its files held open, for the commands that read its heap.
class GoSubject {
 public:
  // kUnsupported: not a Go program.
  [[nodiscard]] static Result<GoSubject> open(int pid);
  // Valid as long as this object.
  [[nodiscard]] go::retention::Subject view() const { return {*memory_, *pagemap_, *executable_, load_bias_, rate_}; }

 private:
  UniqueFd pagemap_fd_, executable_fd_;
  std::unique_ptr<ByteSource> memory_, pagemap_, executable_;
  std::uint64_t load_bias_ = 0;
  double rate_ = 512 << 10;
};

}  // namespace oomw::cli
