// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "cli/java_subject.h"

namespace oomw::cli {

// A Java process for people: what fills it first, then its settings and parts.
[[nodiscard]] std::string java_text(int pid, const JavaProcess& process);

}  // namespace oomw::cli
