// SPDX-License-Identifier: Apache-2.0
#include "kernel/objects.h"

#include <array>

// The skeletons name these types without declaring them.
#include <oomwitness/kernel_facts.h>
#include <oomwitness/settings.h>

#include "goheap.skel.h"
#include "growth.skel.h"
#include "lifecycle.skel.h"
#include "oom.skel.h"
#include "reclaim.skel.h"
#include "watermark.skel.h"

namespace oomw {

namespace {

struct Object {
  std::string_view name;
  const void* (*elf_bytes)(std::size_t* size);
};

// In the order of ObjectFile.
constexpr std::array<Object, 6> kObjects = {{{"oom", oom_bpf__elf_bytes},
                                             {"watermark", watermark_bpf__elf_bytes},
                                             {"reclaim", reclaim_bpf__elf_bytes},
                                             {"lifecycle", lifecycle_bpf__elf_bytes},
                                             {"goheap", goheap_bpf__elf_bytes},
                                             {"growth", growth_bpf__elf_bytes}}};

}  // namespace

std::span<const std::byte> object_bytes(ObjectFile file) {
  std::size_t size = 0;
  const void* data = kObjects[static_cast<std::size_t>(file)].elf_bytes(&size);
  return {static_cast<const std::byte*>(data), size};
}

std::string_view to_string(ObjectFile file) { return kObjects[static_cast<std::size_t>(file)].name; }

}  // namespace oomw
