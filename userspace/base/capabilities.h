// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace oomw {

// The capabilities that we check for, by the kernel's numbers.
enum class Capability { kSysPtrace = 19, kSysAdmin = 21, kSysResource = 24, kPerfmon = 38, kBpf = 39 };

// A set of effective capabilities.
class Capabilities {
 public:
  constexpr explicit Capabilities(std::uint64_t mask = 0) : mask_(mask) {}
  [[nodiscard]] constexpr Capabilities with(Capability one) const {
    return Capabilities(mask_ | std::uint64_t{1} << static_cast<int>(one));
  }
  [[nodiscard]] constexpr bool has(Capability one) const { return (mask_ >> static_cast<int>(one) & 1) != 0; }
  // CAP_SYS_ADMIN includes BPF and PERFMON: the only capability for them before 5.8, and still valid today.
  [[nodiscard]] constexpr bool covers(Capability one) const {
    const bool is_new = one == Capability::kPerfmon || one == Capability::kBpf;
    return has(one) || (is_new && has(Capability::kSysAdmin));
  }

 private:
  std::uint64_t mask_;
};

// The calling thread's capabilities; none if the kernel does not report them.
[[nodiscard]] Capabilities own_capabilities();

}  // namespace oomw
