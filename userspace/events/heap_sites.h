// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace oomw {

// What one place of a program's own code holds in a heap profile.
struct HeapSite {
  std::string code;               // "main.(*Cache).Put (cache.go:44)"; printable
  std::vector<std::string> path;  // of its largest stack: the functions from there to the allocation; printable
  std::uint64_t bytes = 0;        // in use, of all stacks that this function tells (facts/heap_sites.h)
  double share = 0;               // of the profile's in-use bytes
  std::string operation_kind;     // of its largest stack (facts/operation.h); "" = not known
  std::string operation;
  friend bool operator==(const HeapSite&, const HeapSite&) = default;
};

// What was allocated for one operation and is still held.
struct HeapOperation {
  std::string kind, name;  // facts/operation.h
  std::uint64_t bytes = 0;
  double share = 0;
  friend bool operator==(const HeapOperation&, const HeapOperation&) = default;
};

struct HeapSites {
  static constexpr std::size_t kMaxSites = 5, kMaxPath = 8, kMaxOperations = 16, kMaxText = 256;
  std::vector<HeapSite> sites;            // most bytes first
  std::vector<HeapOperation> operations;  // most bytes first
  friend bool operator==(const HeapSites&, const HeapSites&) = default;
};

}  // namespace oomw
