// SPDX-License-Identifier: Apache-2.0
// The analysis of Java processes: their parts, what fills the heap, and the maximum that the heap may have.
#pragma once

#include "analyses/analysis.h"
#include "runtimes/jvm/java_reading.h"
#include "runtimes/memory_contents.h"

namespace oomw {

inline constexpr Nanoseconds kJavaCpuLimit = std::chrono::seconds(2);

[[nodiscard]] bool is_java_process(const AnalysisSubject& subject);
[[nodiscard]] Result<> analyse_java(const AnalysisSubject& subject, AnalysisResult& result);

// The neutral lists of a reading; contents: what is known of any process, malloc among it.
void put_java_reading(const jvm::JavaReading& reading, const MemoryContents& contents, HeapAnalysed& heap);

}  // namespace oomw
