// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "runtimes/jvm/java_reading.h"
#include "runtimes/jvm/perf_data.h"

namespace oomw::cli {

struct JavaProcess {
  jvm::JavaReading reading;
  std::optional<JvmFigures> counters;
};

// A running Java process by its pid; nullopt: it has no libjvm.so.
[[nodiscard]] Result<std::optional<JavaProcess>> read_java_process(int pid);
// It for people: what fills it first, then its settings and parts.
[[nodiscard]] std::string java_text(int pid, const JavaProcess& process);

}  // namespace oomw::cli
