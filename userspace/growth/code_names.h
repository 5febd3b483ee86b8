// SPDX-License-Identifier: Apache-2.0
// Names of functions as a person reads them. Pure.
#pragma once

#include <string>
#include <string_view>

namespace oomw::growth {

// "Session::put" of "_ZN7Session3putERKSs": C++ without parameters, Rust without hashes. Bounded in time and memory
// whatever the name is. What is no mangled name stays as it is.
[[nodiscard]] std::string readable_name(std::string_view symbol);

// Whether a function hands out memory, or belongs to a C library or an interpreter's memory management: never the code
// that a growth is blamed on. `name`: as readable_name() has it; module: the file's name.
[[nodiscard]] bool is_allocator(std::string_view name, std::string_view module);

}  // namespace oomw::growth
