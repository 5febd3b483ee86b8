// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "analyses/analysis.h"
#include "analyses/go_analysis.h"
#include "analyses/java_analysis.h"
#include "analyses/memory_analysis.h"
#include "events/contents_file.h"
#include "triggers/analysis_policy.h"

namespace oomw {
namespace {

// Objects of Java, Python and Node.js took 0.4 to 0.77 ms of CPU a MiB; what glibc and C++ have, up to 1.05.
constexpr Nanoseconds kObjects = std::chrono::microseconds(1000), kSlow = AnalysisPolicy::kEachMebibyte,
                      kMappings = AnalysisPolicy::kEachMebibyteOfPages;

constexpr auto kRows = std::to_array<HeapAnalysis>({
    {RuntimeKind::kGo, kGoCpuLimit, kSlow, false, {}, {kHoldersFile, kHoldersProfile}, is_go_program, analyse_go_heap},
    {RuntimeKind::kCpython,
     kMemoryCpuLimit,
     kObjects,
     true,
     {"libpython"},
     {kContentsFile},
     is_python_program,
     analyse_python},
    {RuntimeKind::kJvm,
     kJavaCpuLimit,
     kObjects,
     true,
     {"libjvm.so", "classes"},
     {kContentsFile},
     is_java_process,
     analyse_java},
    {RuntimeKind::kV8, kMemoryCpuLimit, kObjects, true, {"libnode.so"}, {kContentsFile}, is_node_program, analyse_node},
    {RuntimeKind::kNative, kMemoryCpuLimit, kSlow, false, {}, {kContentsFile}, is_other_program, analyse_any_program},
    {RuntimeKind::kNative,
     kMemoryCpuLimit,
     kMappings,
     false,
     {},
     {kContentsFile},
     is_no_go_program,
     analyse_composition},
});
static_assert(kRows.size() == kCompositionRow + 1);

}  // namespace

std::span<const HeapAnalysis> heap_analyses() { return std::span(kRows).first(kCompositionRow); }

const HeapAnalysis* analysis_of(std::size_t row) { return row < kRows.size() ? &kRows[row] : nullptr; }

}  // namespace oomw
