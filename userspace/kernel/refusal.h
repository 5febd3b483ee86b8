// SPDX-License-Identifier: Apache-2.0
// Why the kernel refused, in the one line that `oomwitness doctor` prints.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/capabilities.h"
#include "base/result.h"

namespace oomw {

struct Refusal {
  std::string_view step;        // "open", "load", "attach"
  int error_number = 0;         // positive errno
  std::string_view libbpf_log;  // with the verifier's log, where there is one
};

// Names the missing capability, else the verifier's last line, else the errno with libbpf's warning
// about it. No newline, at most 200 bytes.
[[nodiscard]] std::string refusal_reason(const Refusal& refusal, Capabilities held);

// Which of `programs`, loaded together, was refused: the last one that libbpf warns about; "" = none.
[[nodiscard]] std::string refused_program(std::string_view libbpf_log, const std::vector<std::string>& programs);

}  // namespace oomw
