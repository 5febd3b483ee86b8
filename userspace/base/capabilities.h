// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace oomw {

// Those that we ask for, by the kernel's numbers.
enum class Capability { kSysPtrace = 19, kSysAdmin = 21, kSysResource = 24, kPerfmon = 38, kBpf = 39 };

// A set of effective capabilities.
class Capabilities {
 public:
  constexpr explicit Capabilities(std::uint64_t mask = 0) : mask_(mask) {}
  [[nodiscard]] constexpr Capabilities with(Capability one) const {
    return Capabilities(mask_ | std::uint64_t{1} << static_cast<int>(one));
  }
  [[nodiscard]] constexpr bool has(Capability one) const { return (mask_ >> static_cast<int>(one) & 1) != 0; }
  // CAP_SYS_ADMIN stands for BPF and PERFMON: before 5.8 alone, and still today.
  [[nodiscard]] constexpr bool covers(Capability one) const {
    const bool is_new = one == Capability::kPerfmon || one == Capability::kBpf;
    return has(one) || (is_new && has(Capability::kSysAdmin));
  }

 private:
  std::uint64_t mask_;
};

// Of this thread; none if the kernel does not say.
[[nodiscard]] Capabilities own_capabilities();

}  // namespace oomw
