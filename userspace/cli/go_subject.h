// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/result.h"
#include "base/unique_fd.h"
#include "daemon/capture_once.h"
#include "memory/process_image.h"
#include "runtimes/go/retention/holders.h"

namespace oomw::cli {

// A running Go program, its files held open, for the commands that read its heap.
class GoSubject {
 public:
  // The largest Go program of the selected processes. kUnsupported: none of them is one.
  [[nodiscard]] static Result<GoSubject> open(const Config& config, const CaptureSelector& selector);
  // Valid as long as this object.
  [[nodiscard]] go::retention::Subject view() const { return {*memory_, *pagemap_, *executable_, load_bias_, rate_}; }

 private:
  [[nodiscard]] static Result<GoSubject> open(int pid);

  UniqueFd pagemap_fd_, executable_fd_;
  std::unique_ptr<ByteSource> memory_, pagemap_, executable_;
  std::uint64_t load_bias_ = 0;
  double rate_ = 512 << 10;
};

}  // namespace oomw::cli
