// SPDX-License-Identifier: Apache-2.0
#include "analyses/analysis.h"
#include "analyses/go_analysis.h"

namespace oomw {

std::span<const HeapAnalysis> heap_analyses() {
  static constexpr HeapAnalysis kAnalyses[] = {
      {RuntimeKind::kGo, kGoCpuLimit, "", {kHoldersFile, kHoldersProfile}, is_go_program, analyse_go_heap},
  };
  return kAnalyses;
}

}  // namespace oomw
