// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <oomwitness/kernel_facts.h>

#include "base/result.h"

struct btf;

namespace oomw {

enum class ParameterKind { kPointer, kInteger, kOther };
// The kinds of a tracepoint's arguments, without the leading context.
using HookSignature = std::vector<ParameterKind>;

// The running kernel's types: the arguments of its tracepoints. Signatures differ between kernels and change even in
// stable releases through backports, so they are read here and never guessed from a version. Holds about 7 MB: drop it
// once everything is loaded.
class KernelBtf {
 public:
  // kUnsupported: the kernel was built without BTF, or it cannot be read.
  [[nodiscard]] static Result<KernelBtf> load();
  // For types built by a test; takes ownership.
  explicit KernelBtf(btf* types);

  // nullopt: no such tracepoint in vmlinux.
  [[nodiscard]] std::optional<HookSignature> signature_of(const std::string& tracepoint) const;
  // A function of vmlinux itself; BPF helpers are listed there under their own names.
  [[nodiscard]] bool has_function(const std::string& name) const;
  [[nodiscard]] oomw_kernel_facts facts(int possible_cpus) const;

 private:
  struct Free {
    void operator()(btf* types) const;
  };
  std::unique_ptr<btf, Free> types_;
};

}  // namespace oomw
