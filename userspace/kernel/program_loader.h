// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include <oomwitness/kernel_facts.h>
#include <oomwitness/settings.h>

#include "base/result.h"
#include "base/unique_fd.h"
#include "kernel/objects.h"
#include "kernel/refusal.h"
#include "kernel/shared_maps.h"

namespace oomw {

// A program that runs in the kernel for as long as this lives.
struct LoadedProgram {
  std::string name;
  UniqueFd program;
  UniqueFd link;
};

// Loads and attaches one program at a time, each from its own object: one refusal rejects a whole
// object, and must not take its neighbours along. Nothing of the object stays in user space.
class ProgramLoader {
 public:
  // maps outlives the loader.
  ProgramLoader(SharedMaps& maps, const oomw_settings& settings, const oomw_kernel_facts& facts);

  // The error's message is the one-line reason.
  [[nodiscard]] Result<LoadedProgram> load(ObjectFile file, const std::string& program);

 private:
  SharedMaps& maps_;
  oomw_settings settings_;
  oomw_kernel_facts facts_;
  BpfCapabilities capabilities_;
};

}  // namespace oomw
