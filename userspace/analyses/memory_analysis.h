// SPDX-License-Identifier: Apache-2.0
// The analyses of programs without heap profiles: what fills their memory, by type, holder, size and part.
#pragma once

#include "analyses/analysis.h"

namespace oomw {

// 0.65 ms of CPU a MiB were measured.
inline constexpr Nanoseconds kMemoryCpuLimit = std::chrono::seconds(2);

[[nodiscard]] bool is_python_program(const AnalysisSubject& subject);
[[nodiscard]] Result<> analyse_python(const AnalysisSubject& subject, AnalysisResult& result);

// Node.js, whose V8 is in the program or in a libnode.so.
[[nodiscard]] bool is_node_program(const AnalysisSubject& subject);
[[nodiscard]] Result<> analyse_node(const AnalysisSubject& subject, AnalysisResult& result);

// Neither Go, Python, Java nor Node: of those, the parts by the mappings say little.
[[nodiscard]] bool is_other_program(const AnalysisSubject& subject);
[[nodiscard]] Result<> analyse_any_program(const AnalysisSubject& subject, AnalysisResult& result);

// In the time that any of the others takes to begin: no object and no block of malloc is read.
[[nodiscard]] bool is_no_go_program(const AnalysisSubject& subject);
[[nodiscard]] Result<> analyse_composition(const AnalysisSubject& subject, AnalysisResult& result);

}  // namespace oomw
