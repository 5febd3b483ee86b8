// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "memory/cached_reader.h"
#include "runtimes/go/retention/image.h"

namespace oomw::go::retention {

// Names for global variables: "main.sessions" by the symbol table; in a stripped program the functions whose code
// refers to the variable, or to a global that points to it, "used by main.init, main.remember". Reads at most 96 MiB of
// code and 4 MiB of the process's globals once. Addresses of the process; a variable without either has no entry.
[[nodiscard]] std::map<std::uint64_t, std::string> name_globals(Image& image, CachedReader& memory,
                                                                std::span<const std::uint64_t> addresses);

// Words that point to an address or at most 64 bytes before it: {where one points, where it lies}. addresses: in order.
// For name_globals and tests.
void add_pointers(std::span<const std::uint64_t> words, std::uint64_t begin, std::span<const std::uint64_t> addresses,
                  std::map<std::uint64_t, std::uint64_t>& found);

// Whether a name of name_globals is that of a variable of the runtime's own, or of one that only the runtime uses.
[[nodiscard]] bool is_runtime_global(std::string_view name);

}  // namespace oomw::go::retention
