// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtimes/v8/constants.h"
#include "runtimes/v8/names.h"
#include "runtimes/v8/noted_objects.h"

namespace oomw::v8 {

struct HolderPlace {
  std::uint64_t holder = 0;  // tagged: the context, or the object
  std::uint64_t word = 0;    // of the context, of the object, or of the table of its other properties
  HolderKind kind = HolderKind::kField;
  std::uint64_t value = 0;  // tagged: what the census found there
  bool is_inside = false;   // in a small container that stands there
};

// What holds a container, and what is in it, by names that stand in the code: of variables, functions, files, classes
// and their attributes. "" where one of them is not sound. Borrows all.
class HolderNames {
 public:
  HolderNames(ConstructorNames& names, const Constants& constants) : names_(names), constants_(constants) {}

  // of_object: the variable or the other object that has the object, if one is known.
  [[nodiscard]] std::string text(const HolderPlace& place, const HolderPlace* of_object);
  // "Session", "string", "functions `onChange`"; of a plain object the names of its attributes.
  [[nodiscard]] std::string value_name(std::uint64_t tagged);
  // "functions `onChange` (settings.js)", "calls of `readRows` (rows.js)" of what has not returned; "" for any other
  // object.
  [[nodiscard]] std::string function_text(std::uint64_t tagged);
  // "{id, url}": the names of the attributes of a plain object; "" = none.
  [[nodiscard]] std::string keys_text(const Shape& shape);

 private:
  // A collection may have moved it since, and something else lies there now.
  [[nodiscard]] bool is_still_there(const HolderPlace& place);
  [[nodiscard]] std::string variable_text(const HolderPlace& place);
  [[nodiscard]] std::string field_text(const HolderPlace& place, const HolderPlace* of_object);
  [[nodiscard]] std::vector<std::string> field_names(const Shape& shape);

  ConstructorNames& names_;
  const Constants& constants_;
};

}  // namespace oomw::v8
