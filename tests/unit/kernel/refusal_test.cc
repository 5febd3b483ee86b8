// SPDX-License-Identifier: Apache-2.0
#include "kernel/refusal.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace oomw {
namespace {

constexpr Capabilities kWithoutResource = Capabilities().with(Capability::kSysAdmin);
constexpr Capabilities kAll = kWithoutResource.with(Capability::kSysResource);

TEST(RefusalTest, eperm_without_cap_bpf_names_it) {
  EXPECT_EQ(refusal_reason({"load", EPERM, ""}, Capabilities()), "needs CAP_BPF (or CAP_SYS_ADMIN)");
}

TEST(RefusalTest, eperm_with_cap_bpf_alone_names_cap_perfmon) {
  EXPECT_EQ(refusal_reason({"load", EPERM, ""}, Capabilities().with(Capability::kBpf)),
            "needs CAP_PERFMON (or CAP_SYS_ADMIN)");
}

TEST(RefusalTest, eperm_with_every_capability_blames_a_policy) {
  EXPECT_NE(refusal_reason({"load", EPERM, ""}, kAll).find("kernel policy"), std::string::npos);
}

TEST(RefusalTest, memlock_advice_of_libbpf_names_cap_sys_resource) {
  auto reason = refusal_reason({"load", EPERM, "Ensure RLIMIT_MEMLOCK is big enough\n"}, kWithoutResource);
  EXPECT_NE(reason.find("CAP_SYS_RESOURCE"), std::string::npos);
}

TEST(RefusalTest, verifier_log_gives_its_last_word_before_the_totals) {
  const char* log =
      "libbpf: prog 'p': BPF program load failed: Permission denied\n"
      "libbpf: prog 'p': -- BEGIN PROG LOAD LOG --\n"
      "0: R1=ctx() R10=fp0\n"
      "func 'x' doesn't have 2-th argument\n"
      "processed 1 insns (limit 1000000)\n"
      "-- END PROG LOAD LOG --\n"
      "libbpf: failed to load object\n";
  EXPECT_EQ(refusal_reason({"load", EACCES, log}, kAll), "verifier: func 'x' doesn't have 2-th argument");
}

TEST(RefusalTest, verifier_log_cut_short_still_gives_its_last_line) {
  EXPECT_EQ(refusal_reason({"load", EINVAL, "-- BEGIN PROG LOAD LOG --\na\nb"}, kAll), "verifier: b");
}

TEST(RefusalTest, long_verifier_log_of_which_only_the_end_was_kept_gives_its_last_word) {
  const char* log =
      "123: (79) r1 = *(u64 *)(r6 +8)\n"
      "R6 invalid mem access 'scalar'\n"
      "processed 99 insns (limit 1000000)\n"
      "-- END PROG LOAD LOG --\n"
      "libbpf: prog 'p': failed to load: -13\n";
  EXPECT_EQ(refusal_reason({"load", EACCES, log}, kAll), "verifier: R6 invalid mem access 'scalar'");
}

TEST(RefusalTest, without_a_verifiers_word_libbpf_says_what_it_was_about) {
  const char* log =
      "libbpf: map 'ring': failed to create: Invalid argument(-22)\n"
      "libbpf: failed to load object 'oom'\n";
  EXPECT_EQ(refusal_reason({"load", EINVAL, log}, kAll),
            "load: Invalid argument (map 'ring': failed to create: Invalid argument(-22))");
}

TEST(RefusalTest, what_only_repeats_the_failure_is_no_reason) {
  const char* log =
      "libbpf: prog 'p': BPF program load failed: Invalid argument\n"
      "libbpf: prog 'p': failed to load: -22\n"
      "libbpf: failed to load object 'oom'\n";
  EXPECT_EQ(refusal_reason({"load", EINVAL, log}, kAll), "load: Invalid argument");
}

TEST(RefusalTest, other_errors_give_step_and_errno) {
  EXPECT_EQ(refusal_reason({"attach", ENOENT, ""}, kAll), "attach: No such file or directory");
}

TEST(RefusalTest, reason_is_one_bounded_line) {
  std::string log = "-- BEGIN PROG LOAD LOG --\n" + std::string(1000, '\x1b');
  auto reason = refusal_reason({"load", EINVAL, log}, kAll);
  EXPECT_EQ(reason.size(), 200u);
  EXPECT_EQ(reason.find('\x1b'), std::string::npos);
}

const std::vector<std::string> kTogether = {"on_a_btf", "on_b_btf"};

TEST(RefusalTest, of_programs_loaded_together_the_last_one_named_is_the_refused) {
  EXPECT_EQ(refused_program("libbpf: prog 'on_a_btf': something minor\n"
                            "libbpf: prog 'on_b_btf': BPF program load failed: Permission denied\n"
                            "libbpf: failed to load object 'reclaim'\n",
                            kTogether),
            "on_b_btf");
}

TEST(RefusalTest, without_a_name_or_with_anothers_nobody_is_the_refused) {
  EXPECT_EQ(refused_program("libbpf: Error in bpf_create_map_xattr(ring): EPERM", kTogether), "");
  EXPECT_EQ(refused_program("libbpf: prog 'on_c_btf': BPF program load failed: EPERM", kTogether), "");
  EXPECT_EQ(refused_program("libbpf: prog '", kTogether), "");
  EXPECT_EQ(refused_program("", kTogether), "");
}

}  // namespace
}  // namespace oomw
