// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

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

// Why programs could not be loaded.
struct LoadRefusal {
  std::string program;  // the one that was refused; "" = not known
  Error error;          // its message is the one-line reason
};
using LoadResult = tl::expected<std::vector<LoadedProgram>, LoadRefusal>;

// Loads and attaches programs of one object that are useless without each other: all or none. Each such set gets an
// object of its own, since one refusal rejects a whole object and must not take others along. Not one object per
// program: libbpf parses the kernel's types again for each object, which is most of the start-up cost. Nothing of the
// object stays in user space.
class ProgramLoader {
 public:
  // maps outlives the loader.
  ProgramLoader(SharedMaps& maps, const oomw_settings& settings, const oomw_kernel_facts& facts);

  // Attached in the order given.
  [[nodiscard]] LoadResult load(ObjectFile file, const std::vector<std::string>& programs);

 private:
  int configure(bpf_object& object) const;
  [[nodiscard]] LoadRefusal refuse(std::string_view step, int error_number, std::string_view log,
                                   std::string program) const;

  SharedMaps& maps_;
  oomw_settings settings_;
  oomw_kernel_facts facts_;
  Capabilities capabilities_;
};

}  // namespace oomw
