// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "memory/cached_reader.h"
#include "runtimes/v8/constants.h"
#include "runtimes/v8/shapes.h"

namespace oomw::v8 {

// What kind of thing a shape is of, for what it holds.
enum class Nature { kString, kNumber, kArray, kObject, kOther };
[[nodiscard]] Nature nature_of(const Constants& constants, const Shape& shape);

// Names shapes by the constructor of their objects. Names are identifiers; what is none may be user data, and is not
// shown. Borrows all.
class ConstructorNames {
 public:
  ConstructorNames(CachedReader& memory, const Constants& constants, const Shapes& shapes)
      : memory_(memory), constants_(constants), shapes_(shapes) {}

  // "Session"; what is no object of JavaScript's is named as Chrome's developer tools name it: "(string)", "(array)".
  [[nodiscard]] std::string name_of(const Shape& shape);

  // JavaScript's own constructors, and what is in parentheses: whose code made them their names do not show.
  [[nodiscard]] static bool is_own(std::string_view name);
  static constexpr std::string_view kPlainObject = "Object";

 private:
  [[nodiscard]] std::optional<std::uint64_t> word(std::uint64_t tagged, std::uint64_t offset);
  [[nodiscard]] const Shape* shape_of(std::uint64_t tagged);
  [[nodiscard]] bool is_map(std::uint64_t tagged);
  [[nodiscard]] std::uint64_t constructor_of(const Shape& shape);  // 0: none
  [[nodiscard]] const std::string& function_name(std::uint64_t function);
  [[nodiscard]] std::string read_function_name(std::uint64_t function);
  [[nodiscard]] std::string scope_name(std::uint64_t scope);
  [[nodiscard]] std::string identifier(std::uint64_t string);

  CachedReader& memory_;
  const Constants& constants_;
  const Shapes& shapes_;
  std::unordered_map<std::uint64_t, std::uint64_t> constructors_;  // by map; 0: none
  std::unordered_map<std::uint64_t, std::string> functions_;       // names, by constructor
  std::unordered_map<std::uint64_t, Shape> others_;                // by map: of maps that shapes_ does not know
};

}  // namespace oomw::v8
