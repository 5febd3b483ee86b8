// SPDX-License-Identifier: Apache-2.0
#include "kernel/kernel_btf.h"

#include <bpf/btf.h>
#include <gtest/gtest.h>

#include <initializer_list>

namespace oomw {
namespace {

// Types as a kernel with one tracepoint would have them.
class TypesBuilder {
 public:
  TypesBuilder() : types_(btf__new_empty()) {
    int_ = btf__add_int(types_, "int", 4, BTF_INT_SIGNED);
    alias_ = btf__add_typedef(types_, "gfp_t", int_);
    pointer_ = btf__add_ptr(types_, btf__add_struct(types_, "task_struct", 8));
    context_ = btf__add_ptr(types_, 0);
  }

  TypesBuilder& with_tracepoint(const std::string& name, std::initializer_list<int> parameters) {
    int prototype = btf__add_func_proto(types_, 0);
    btf__add_func_param(types_, "__data", context_);
    for (int type : parameters) btf__add_func_param(types_, "argument", type);
    btf__add_typedef(types_, ("btf_trace_" + name).c_str(), btf__add_ptr(types_, prototype));
    return *this;
  }

  [[nodiscard]] int integer() const { return int_; }
  [[nodiscard]] int alias() const { return alias_; }
  [[nodiscard]] int pointer() const { return pointer_; }
  KernelBtf build() { return KernelBtf(types_); }

 private:
  btf* types_;
  int int_, alias_, pointer_, context_;
};

using Kinds = HookSignature;

TEST(KernelBtfTest, integer_argument_when_old_mark_victim_is_integer) {
  TypesBuilder types;
  auto kernel = types.with_tracepoint("mark_victim", {types.integer()}).build();
  EXPECT_EQ(kernel.signature_of("mark_victim"), Kinds{ParameterKind::kInteger});
}

TEST(KernelBtfTest, pointer_and_alias_when_new_mark_victim_are_told_apart) {
  TypesBuilder types;
  auto kernel = types.with_tracepoint("mark_victim", {types.pointer(), types.alias()}).build();
  EXPECT_EQ(kernel.signature_of("mark_victim"), (Kinds{ParameterKind::kPointer, ParameterKind::kInteger}));
}

TEST(KernelBtfTest, tracepoint_without_arguments_has_an_empty_signature) {
  TypesBuilder types;
  auto kernel = types.with_tracepoint("tick", {}).build();
  EXPECT_EQ(kernel.signature_of("tick"), Kinds{});
}

TEST(KernelBtfTest, unknown_tracepoint_is_absent) {
  TypesBuilder types;
  EXPECT_EQ(types.build().signature_of("mark_victim"), std::nullopt);
}

TEST(KernelBtfTest, typedef_that_is_no_function_pointer_is_absent) {
  btf* types = btf__new_empty();
  btf__add_typedef(types, "btf_trace_odd", btf__add_int(types, "int", 4, 0));
  EXPECT_EQ(KernelBtf(types).signature_of("odd"), std::nullopt);
}

TEST(KernelBtfTest, facts_of_an_older_kernel_leave_late_arguments_alone) {
  TypesBuilder types;
  auto kernel = types.with_tracepoint("sched_process_exit", {types.pointer()})
                    .with_tracepoint("mm_vmscan_memcg_reclaim_end", {types.integer()})
                    .build();
  EXPECT_EQ(kernel.facts(4).exit_has_group_dead, 0u);
  EXPECT_EQ(kernel.facts(4).reclaim_end_has_memcg, 0u);
  EXPECT_EQ(kernel.facts(4).possible_cpus, 4u);
  EXPECT_EQ(kernel.facts(-1).possible_cpus, 1u);
}

TEST(KernelBtfTest, facts_of_a_newer_kernel_use_late_arguments) {
  TypesBuilder types;
  auto kernel = types.with_tracepoint("sched_process_exit", {types.pointer(), types.integer()})
                    .with_tracepoint("mm_vmscan_memcg_reclaim_end", {types.integer(), types.pointer()})
                    .build();
  EXPECT_EQ(kernel.facts(1).exit_has_group_dead, 1u);
  EXPECT_EQ(kernel.facts(1).reclaim_end_has_memcg, 1u);
}

TEST(KernelBtfTest, second_argument_that_is_no_memcg_is_not_taken_for_one) {
  TypesBuilder types;
  auto kernel = types.with_tracepoint("mm_vmscan_memcg_reclaim_end", {types.integer(), types.integer()}).build();
  EXPECT_EQ(kernel.facts(1).reclaim_end_has_memcg, 0u);
}

}  // namespace
}  // namespace oomw
