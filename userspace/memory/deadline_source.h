// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"
#include "memory/byte_source.h"

namespace oomw {

// Bytes of a workload, until a deadline: past it every read fails with kTimeout. A read that has
// begun is not interrupted. Borrows source and clock.
class DeadlineSource final : public ByteSource {
 public:
  DeadlineSource(const ByteSource& source, const Clock& clock, MonotonicTime deadline)
      : source_(source), clock_(clock), deadline_(deadline) {}

  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> out) const override {
    if (clock_.now() >= deadline_) return fail(ErrorCode::kTimeout, "no time left to read on");
    return source_.read_some(offset, out);
  }

 private:
  const ByteSource& source_;
  const Clock& clock_;
  const MonotonicTime deadline_;
};

}  // namespace oomw
