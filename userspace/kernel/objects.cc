// SPDX-License-Identifier: Apache-2.0
#include "kernel/objects.h"

// The skeletons name these types without declaring them.
#include <oomwitness/kernel_facts.h>
#include <oomwitness/settings.h>

#include "goheap.skel.h"
#include "lifecycle.skel.h"
#include "oom.skel.h"
#include "reclaim.skel.h"
#include "watermark.skel.h"

namespace oomw {

namespace {

std::span<const std::byte> bytes_of(const void* (*elf_bytes)(std::size_t*)) {
  std::size_t size = 0;
  const void* data = elf_bytes(&size);
  return {static_cast<const std::byte*>(data), size};
}

}  // namespace

std::span<const std::byte> object_bytes(ObjectFile file) {
  switch (file) {
    case ObjectFile::kOom:
      return bytes_of(oom_bpf__elf_bytes);
    case ObjectFile::kWatermark:
      return bytes_of(watermark_bpf__elf_bytes);
    case ObjectFile::kReclaim:
      return bytes_of(reclaim_bpf__elf_bytes);
    case ObjectFile::kLifecycle:
      return bytes_of(lifecycle_bpf__elf_bytes);
    case ObjectFile::kGoHeap:
      return bytes_of(goheap_bpf__elf_bytes);
  }
  return {};
}

std::string_view to_string(ObjectFile file) {
  switch (file) {
    case ObjectFile::kOom:
      return "oom";
    case ObjectFile::kWatermark:
      return "watermark";
    case ObjectFile::kReclaim:
      return "reclaim";
    case ObjectFile::kLifecycle:
      return "lifecycle";
    case ObjectFile::kGoHeap:
      return "goheap";
  }
  return "";
}

}  // namespace oomw
