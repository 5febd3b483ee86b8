// SPDX-License-Identifier: Apache-2.0
// The BPF programs to load: one entry per feature, in order of loading.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "kernel/kernel_btf.h"
#include "kernel/kernel_source.h"
#include "kernel/objects.h"

namespace oomw {

enum class HookKind { kTracepoint, kFunction };

struct HookSpec {
  std::string name;     // of the tracepoint or of the kernel's function
  std::string program;  // for a tracepoint without the backend's suffix; chosen by the hook's arguments on this kernel
  HookKind kind = HookKind::kTracepoint;
  // Tried first for the tp_btf backend: the same program for perf's own probe of the tracepoint, which runs with
  // preemption off on every kernel. "" = none.
  std::string perf_program = "";
};

struct FeatureSpec {
  std::string feature;
  ObjectFile object;
  std::vector<HookSpec> hooks;  // all must attach, or this backend does not serve the feature
  std::string lost_by_tracepoint;
  std::string lost_by_files;
  bool has_files = true;             // false: without programs, nothing serves the feature
  std::string needed_function = "";  // a kernel helper that all its programs call; "" = none
  // Hooks of the fentry backend, in order of attaching; its tracepoints are attached as tp_btf. Empty: there is no such
  // backend, since no function offers more than the tracepoints do.
  std::vector<HookSpec> fentry_hooks = {};
};

// The backends of a feature that are programs, best first.
[[nodiscard]] std::vector<Rung> program_rungs(const FeatureSpec& spec);

// The arguments of a tracepoint of the running kernel; nullopt: no such tracepoint, or nothing is known about it.
using SignatureOf = std::function<std::optional<HookSignature>(const std::string& tracepoint)>;

// oom_kill comes first: once it is attached, no kill is missed.
[[nodiscard]] std::vector<FeatureSpec> feature_catalog(const SignatureOf& signature_of);
// Loaded by GrowthPrograms, apart from the others: only where it is switched on.
[[nodiscard]] FeatureSpec growth_feature();

}  // namespace oomw
