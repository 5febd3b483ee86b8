// SPDX-License-Identifier: Apache-2.0
#include "kernel/kernel_btf.h"

#include <bpf/btf.h>

namespace oomw {

namespace {

const btf_type* resolve(const btf* types, std::uint32_t id) {
  const btf_type* type = btf__type_by_id(types, id);
  while (type != nullptr && (btf_is_mod(type) || btf_is_typedef(type))) {
    type = btf__type_by_id(types, type->type);
  }
  return type;
}

ParameterKind kind_of(const btf_type* type) {
  if (type == nullptr) return ParameterKind::kOther;
  if (btf_is_ptr(type)) return ParameterKind::kPointer;
  if (btf_is_int(type) || btf_is_any_enum(type)) return ParameterKind::kInteger;
  return ParameterKind::kOther;
}

bool has_parameters(const std::optional<HookSignature>& signature, std::size_t count) {
  return signature.has_value() && signature->size() >= count;
}

}  // namespace

void KernelBtf::Free::operator()(btf* types) const { btf__free(types); }

KernelBtf::KernelBtf(btf* types) : types_(types) {}

Result<KernelBtf> KernelBtf::load() {
  btf* types = btf__parse("/sys/kernel/btf/vmlinux", nullptr);
  if (types == nullptr) return fail(ErrorCode::kUnsupported, "no /sys/kernel/btf/vmlinux");
  return KernelBtf(types);
}

// typedef void (*btf_trace_X)(void *context, arguments...)
std::optional<HookSignature> KernelBtf::signature_of(const std::string& tracepoint) const {
  std::string name = "btf_trace_" + tracepoint;
  int id = btf__find_by_name_kind(types_.get(), name.c_str(), BTF_KIND_TYPEDEF);
  if (id < 0) return std::nullopt;
  const btf_type* pointer = resolve(types_.get(), static_cast<std::uint32_t>(id));
  if (pointer == nullptr || !btf_is_ptr(pointer)) return std::nullopt;
  const btf_type* prototype = resolve(types_.get(), pointer->type);
  if (prototype == nullptr || !btf_is_func_proto(prototype)) return std::nullopt;

  HookSignature signature;
  const btf_param* parameters = btf_params(prototype);
  for (int i = 1; i < btf_vlen(prototype); ++i) {
    signature.push_back(kind_of(resolve(types_.get(), parameters[i].type)));
  }
  return signature;
}

bool KernelBtf::has_function(const std::string& name) const {
  return btf__find_by_name_kind(types_.get(), name.c_str(), BTF_KIND_FUNC) > 0;
}

oomw_kernel_facts KernelBtf::facts(int possible_cpus) const {
  oomw_kernel_facts facts{};
  facts.possible_cpus = possible_cpus > 0 ? static_cast<std::uint32_t>(possible_cpus) : 1;
  facts.exit_has_group_dead = has_parameters(signature_of("sched_process_exit"), 2) ? 1 : 0;
  auto reclaim_end = signature_of("mm_vmscan_memcg_reclaim_end");
  facts.reclaim_end_has_memcg = has_parameters(reclaim_end, 2) && reclaim_end->at(1) == ParameterKind::kPointer ? 1 : 0;
  return facts;
}

}  // namespace oomw
