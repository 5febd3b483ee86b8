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
  std::string program;  // of a tracepoint: without the rung's suffix; picked by the hook's arguments on this kernel
  HookKind kind = HookKind::kTracepoint;
  // Tried first on the tp_btf rung: the program's twin for perf's own probe of the tracepoint, which
  // runs with preemption off on every kernel. "" = none.
  std::string perf_program = "";
};

struct FeatureSpec {
  std::string feature;
  ObjectFile object;
  std::vector<HookSpec> hooks;  // all of them, or the feature is not served by this rung
  std::string lost_by_tracepoint;
  std::string lost_by_files;
  bool has_files = true;             // false: below the programs nothing serves it
  std::string needed_function = "";  // a helper of the kernel that all its programs call; "" = none
  // Of the fentry rung, in order of attaching; its tracepoints are taken as tp_btf. Empty: there is
  // no such rung, since no function has more than the tracepoints do.
  std::vector<HookSpec> fentry_hooks = {};
};

// The rungs of a feature that are programs, best first.
[[nodiscard]] std::vector<Rung> program_rungs(const FeatureSpec& spec);

// The arguments of a tracepoint of the running kernel; nullopt: there is none, or nothing is known.
using SignatureOf = std::function<std::optional<HookSignature>(const std::string& tracepoint)>;

// oom_kill comes first: from its attach on no kill is missed.
[[nodiscard]] std::vector<FeatureSpec> feature_catalog(const SignatureOf& signature_of);

}  // namespace oomw
