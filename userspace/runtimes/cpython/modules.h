// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "runtimes/cpython/objects.h"

namespace oomw::cpython {

struct Module {
  Object globals;  // a dict
  KeyTable keys;   // of it
  std::string name;
  bool is_own = false;  // of the program, by where its file lies
};

// Nothing if it is no module, or one without a name that is an identifier.
[[nodiscard]] std::optional<Module> module_at(ObjectReader& objects, std::uint64_t address);

// Gives types whose own names were not read the names that the modules of their files have for them: "_decimal.?"
// becomes "decimal.Decimal" if that type is `Decimal` in a module that is called `decimal` and was made of the file
// _decimal.*. modules: addresses of module objects.
void name_types_by_modules(TypeTable& types, ObjectReader& objects, std::span<const std::uint64_t> modules);

}  // namespace oomw::cpython
