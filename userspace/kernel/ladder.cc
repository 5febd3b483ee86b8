// SPDX-License-Identifier: Apache-2.0
#include "kernel/ladder.h"

#include <utility>

namespace oomw {

namespace {

// A function's programs come in one kind only and carry it in their name.
std::string program_of(const HookSpec& hook, Rung rung) {
  if (hook.kind == HookKind::kFunction) return hook.program;
  return hook.program + (rung == Rung::kRawTp ? "_raw" : "_btf");
}

Result<> check_exists(const HookSpec& hook, const KernelBtf& kernel) {
  bool is_function = hook.kind == HookKind::kFunction;
  if (is_function ? kernel.has_function(hook.name) : kernel.signature_of(hook.name).has_value()) return {};
  return fail(ErrorCode::kUnsupported,
              std::string(is_function ? "no function " : "no tracepoint ") + hook.name + " in this kernel");
}

// Rungs are ordered best first.
bool is_allowed(Rung rung, Rung best_allowed) { return rung >= best_allowed; }

Result<LoadedProgram> load_hook(ObjectFile object, const HookSpec& hook, Rung rung, ProgramLoader& loader) {
  if (rung == Rung::kTpBtf && !hook.perf_program.empty()) {
    // Needs a tracefs, which not every container sees; the other one needs none.
    if (auto program = loader.load(object, hook.perf_program)) return program;
  }
  return loader.load(object, program_of(hook, rung));
}

Result<std::vector<LoadedProgram>> load_hooks(const FeatureSpec& spec, Rung rung, const KernelBtf& kernel,
                                              ProgramLoader& loader) {
  if (!spec.needed_function.empty() && !kernel.has_function(spec.needed_function)) {
    return fail(ErrorCode::kUnsupported, "no " + spec.needed_function + " in this kernel");
  }
  std::vector<LoadedProgram> loaded;
  for (const HookSpec& hook : rung == Rung::kFentry ? spec.fentry_hooks : spec.hooks) {
    RETURN_IF_ERROR(check_exists(hook, kernel));
    auto program = load_hook(spec.object, hook, rung, loader);
    if (!program) return tl::make_unexpected(std::move(program).error().with_context(hook.name));
    loaded.push_back(std::move(*program));
  }
  return loaded;
}

void settle_on_files(const FeatureSpec& spec, Rung best_allowed, FeatureStatus& status) {
  bool has_files = spec.has_files && is_allowed(Rung::kFiles, best_allowed);
  status.rung = has_files ? Rung::kFiles : Rung::kNone;
  status.lost = has_files || !spec.has_files ? spec.lost_by_files : "everything";
}

}  // namespace

LadderResult descend(const FeatureSpec& spec, Rung best_allowed, const KernelBtf& kernel, ProgramLoader& loader) {
  LadderResult result;
  result.status.feature = spec.feature;
  for (Rung rung : program_rungs(spec)) {
    if (!is_allowed(rung, best_allowed)) {
      result.status.refused.push_back({rung, "not tried: set to " + std::string(to_string(best_allowed))});
      continue;
    }
    auto programs = load_hooks(spec, rung, kernel, loader);
    if (programs) {
      result.status.rung = rung;
      result.status.lost = rung == Rung::kFentry ? "" : spec.lost_by_tracepoint;
      result.programs = std::move(*programs);
      return result;
    }
    result.status.refused.push_back({rung, std::move(programs).error().message});
  }
  settle_on_files(spec, best_allowed, result.status);
  return result;
}

FeatureStatus fall_to_files(const FeatureSpec& spec, Rung best_allowed, const std::string& reason) {
  FeatureStatus status;
  status.feature = spec.feature;
  for (Rung rung : program_rungs(spec)) status.refused.push_back({rung, reason});
  settle_on_files(spec, best_allowed, status);
  return status;
}

}  // namespace oomw
