// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "memory/cached_reader.h"
#include "runtimes/v8/constants.h"
#include "runtimes/v8/shapes.h"

namespace oomw::v8 {

inline constexpr std::uint64_t kHeadBytes = 24;  // of an object

// What kind of thing a shape is of, for what it holds.
enum class Nature { kString, kNumber, kArray, kObject, kOther };
[[nodiscard]] Nature nature_of(const Constants& constants, const Shape& shape);
// "JSFunction"; "" for a type whose name V8 does not export.
[[nodiscard]] std::string_view type_name(const Constants& constants, const Shape& shape);

// Names shapes by the constructor of their objects. Names are identifiers; what is none may be user data, and is not
// shown. Borrows all.
class ConstructorNames {
 public:
  ConstructorNames(CachedReader& memory, const Constants& constants, const Shapes& shapes)
      : memory_(memory), constants_(constants), shapes_(shapes) {}

  // "Session", "node:Timeout" of a class of Node's own; what is no object of JavaScript's is named as Chrome's
  // developer tools name it: "(string)", "(array)".
  [[nodiscard]] std::string name_of(const Shape& shape);

  // Not of JavaScript's own constructors, of Node's, and of what is in parentheses: whose code made them their names do
  // not show.
  [[nodiscard]] static bool is_own(std::string_view name);
  static constexpr std::string_view kPlainObject = "Object";

  // Of any tagged word; nullptr, nullopt: it leads to no object.
  [[nodiscard]] std::optional<std::uint64_t> word(std::uint64_t tagged, std::uint64_t offset);
  [[nodiscard]] const Shape* shape_of(std::uint64_t tagged);
  // Of a string that is an identifier; "" for anything else.
  [[nodiscard]] std::string identifier(std::uint64_t string);
  // Of an attribute: the same, "#pages" of a private one, or "Symbol(kItems)".
  [[nodiscard]] std::string attribute(std::uint64_t key);
  // "" = none, or no function.
  [[nodiscard]] const std::string& function_name(std::uint64_t function);
  // What a scope describes: the function it is of ("" = none, as of a module), and the variables that closures share,
  // in the order of their places, "" for one that is no identifier. Empty: not sound, or too many.
  [[nodiscard]] std::string scope_name(std::uint64_t scope);
  [[nodiscard]] std::vector<std::string> scope_locals(std::uint64_t scope);
  [[nodiscard]] std::uint64_t constructor_of(const Shape& shape);  // 0: none
  // Of the script that a function stands in: a path, a URL or "node:fs"; hostile; "" = not known.
  [[nodiscard]] std::string path_of(std::uint64_t function);
  // The file that a function stands in, without its folders: "cache.js", "node:timers"; "" = not known.
  [[nodiscard]] std::string file_of(std::uint64_t function);

 private:
  template <typename Take>
  [[nodiscard]] std::string walk_scope(std::uint64_t scope, const Take& take);
  [[nodiscard]] bool is_map(std::uint64_t tagged);
  [[nodiscard]] std::uint64_t class_of(std::uint64_t first_map, std::uint64_t constructor);
  [[nodiscard]] const std::string& class_name(std::uint64_t constructor);
  [[nodiscard]] std::string read_function_name(std::uint64_t function);
  [[nodiscard]] std::string text(std::uint64_t string, std::uint64_t most);

  CachedReader& memory_;
  const Constants& constants_;
  const Shapes& shapes_;
  std::unordered_map<std::uint64_t, std::uint64_t> constructors_;  // by map; 0: none
  std::unordered_map<std::uint64_t, std::string> functions_;       // names, by function
  std::unordered_map<std::uint64_t, std::string> classes_;         // the same, with whose it is
  std::unordered_map<std::uint64_t, Shape> others_;                // by map: of maps that shapes_ does not know
};

}  // namespace oomw::v8
