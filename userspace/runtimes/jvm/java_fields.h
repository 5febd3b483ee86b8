// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtimes/jvm/jvm.h"

namespace oomw::jvm {

struct JavaField {
  std::string name;          // at most 128 bytes of it
  std::uint64_t offset = 0;  // in an object, or in the class's own (java.lang.Class) of a static field
  bool is_static = false;
  char kind = 0;  // as signatures begin: 'L', '[' of arrays, 'I', 'J', ...
  [[nodiscard]] bool is_object() const { return kind == 'L' || kind == '['; }
};

inline constexpr std::size_t kMaxJavaFields = 256;

// The fields that a class declares itself, without its superclass's, from a table of numbers (until 20) or a stream of
// them (since). What the JVM adds to a class is left out. kUnsupported: the JVM describes neither.
[[nodiscard]] Result<std::vector<JavaField>> fields_of(const Jvm& jvm, std::uint64_t klass);

}  // namespace oomw::jvm
