// SPDX-License-Identifier: Apache-2.0
// The analysis of Go programs: who keeps the heap, and where goroutines stand.
#pragma once

#include <string>
#include <string_view>

#include "analyses/analysis.h"
#include "runtimes/go/retention/holders.h"

namespace oomw {

inline constexpr Nanoseconds kGoCpuLimit = std::chrono::seconds(2);
inline constexpr const char* kHoldersFile = "holders.json";

[[nodiscard]] bool is_go_program(const AnalysisSubject& subject);
[[nodiscard]] Result<> analyse_go_heap(const AnalysisSubject& subject, AnalysisResult& result);

// "go.opentelemetry.io/collector/x.(*T).M" -> "x.(*T).M", everywhere in a text.
[[nodiscard]] std::string without_paths(std::string_view text);
// "goroutine main.main in main.(*server).work", then ".queue -> main.job" of each step; at most HeapAnalysed::kMaxChain
// texts. Where a root of the standard library leads through it to the program's own code, the chain begins there,
// behind the last of net/http: "main.App (its method track)".
[[nodiscard]] std::vector<std::string> chain_of(const go::retention::Holder& holder);
// The component of a Collector that the texts name first, "exporter/otlp"; a helper package that serves all of a kind
// ("exporter/exporterhelper") only if they name no other. "" = none.
[[nodiscard]] std::string component_in(const std::vector<std::string>& texts);

}  // namespace oomw
