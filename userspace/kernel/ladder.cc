// SPDX-License-Identifier: Apache-2.0
#include "kernel/ladder.h"

#include <algorithm>
#include <utility>

namespace oomw {

namespace {

// A function's program exists in one kind only, which its name already contains.
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

const std::vector<HookSpec>& hooks_of(const FeatureSpec& spec, Rung rung) {
  return rung == Rung::kFentry ? spec.fentry_hooks : spec.hooks;
}

bool has_perf_program(const HookSpec& hook) { return !hook.perf_program.empty(); }

std::vector<std::string> programs_of(const FeatureSpec& spec, Rung rung, bool by_perf) {
  std::vector<std::string> programs;
  for (const HookSpec& hook : hooks_of(spec, rung)) {
    programs.push_back(by_perf && has_perf_program(hook) ? hook.perf_program : program_of(hook, rung));
  }
  return programs;
}

Result<> check_hooks(const FeatureSpec& spec, Rung rung, const KernelBtf& kernel) {
  if (!spec.needed_function.empty() && !kernel.has_function(spec.needed_function)) {
    return fail(ErrorCode::kUnsupported, "no " + spec.needed_function + " in this kernel");
  }
  for (const HookSpec& hook : hooks_of(spec, rung)) RETURN_IF_ERROR(check_exists(hook, kernel));
  return {};
}

LoadResult load_programs(const FeatureSpec& spec, Rung rung, ProgramLoader& loader) {
  const auto& hooks = hooks_of(spec, rung);
  if (rung == Rung::kTpBtf && std::any_of(hooks.begin(), hooks.end(), has_perf_program)) {
    // The perf program needs a tracefs, which not every container has; the others do not.
    if (auto programs = loader.load(spec.object, programs_of(spec, rung, true))) return programs;
  }
  return loader.load(spec.object, programs_of(spec, rung, false));
}

// The reason with the hook's name. If nothing else names the hook, it is found by loading the programs one at a time.
Error explain(LoadRefusal refusal, const FeatureSpec& spec, Rung rung, ProgramLoader& loader) {
  for (const HookSpec& hook : hooks_of(spec, rung)) {
    std::string program = program_of(hook, rung);
    if (refusal.program.empty()) {
      auto alone = loader.load(spec.object, {program});
      if (!alone) refusal = {program, std::move(alone).error().error};
    }
    if (refusal.program == program) return std::move(refusal.error).with_context(hook.name);
  }
  return std::move(refusal.error).with_context("all together");
}

Result<std::vector<LoadedProgram>> load_rung(const FeatureSpec& spec, Rung rung, const KernelBtf& kernel,
                                             ProgramLoader& loader) {
  RETURN_IF_ERROR(check_hooks(spec, rung, kernel));
  auto loaded = load_programs(spec, rung, loader);
  if (!loaded) return tl::make_unexpected(explain(std::move(loaded).error(), spec, rung, loader));
  return std::move(*loaded);
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
    auto programs = load_rung(spec, rung, kernel, loader);
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
