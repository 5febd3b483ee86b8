// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string_view>
#include <vector>

namespace oomw::v8 {
namespace {

constexpr std::size_t kMaxBackPointers = 256, kMaxRemembered = 64u << 10;
constexpr std::uint64_t kMaxName = 80;
constexpr std::uint64_t kMaxLocals = 75;   // more lie in a table of their own
constexpr std::size_t kScopeTail = 10;     // words behind the names of locals and their descriptions
constexpr std::size_t kPositionWords = 2;  // before the names, since V8 12

bool is_identifier(std::string_view text) {
  const auto is_start = [](unsigned char c) { return std::isalpha(c) != 0 || c == '_' || c == '$'; };
  const auto is_part = [&](unsigned char c) { return is_start(c) || std::isdigit(c) != 0; };
  return !text.empty() && is_start(static_cast<unsigned char>(text.front())) && std::ranges::all_of(text, is_part);
}

}  // namespace

Nature nature_of(const Constants& constants, const Shape& shape) {
  if (shape.type < constants.first_non_string) return Nature::kString;
  if (shape.type == constants.type_number) return Nature::kNumber;
  if (shape.type >= constants.first_object) return Nature::kObject;
  if (shape.type >= constants.type_array && shape.type <= constants.type_bytes) return Nature::kArray;
  const auto name = constants.type_names.find(shape.type);
  if (name == constants.type_names.end()) return Nature::kOther;
  const std::string_view type = name->second;
  const bool is_array = type.ends_with("Array") && !type.starts_with("Bytecode") &&
                        !type.ends_with("DescriptorArray") && type != "TransitionArray";
  return is_array ? Nature::kArray : Nature::kOther;
}

bool ConstructorNames::is_own(std::string_view name) {
  constexpr std::array<std::string_view, 26> kOfLanguage = {
      "Object",    "Array", "Function",    "String",       "Number",           "Boolean", "Symbol",
      "Map",       "Set",   "WeakMap",     "WeakSet",      "WeakRef",          "Date",    "RegExp",
      "Promise",   "Error", "ArrayBuffer", "Uint8Array",   "DataView",         "Buffer",  "FastBuffer",
      "Generator", "Proxy", "BigInt",      "Float64Array", "SharedArrayBuffer"};
  return !name.empty() && !name.starts_with('(') && std::ranges::find(kOfLanguage, name) == kOfLanguage.end();
}

std::optional<std::uint64_t> ConstructorNames::word(std::uint64_t tagged, std::uint64_t offset) {
  if ((tagged & 3) != 1) return std::nullopt;
  const auto value = memory_.get<std::uint64_t>(tagged - 1 + offset);
  return value.has_value() ? std::optional(*value) : std::nullopt;
}

// Not all maps are known: of a sample only those of the objects in it, of very many not all.
const Shape* ConstructorNames::shape_of(std::uint64_t tagged) {
  const auto map = word(tagged, 0);
  if (!map) return nullptr;
  if (const Shape* known = shapes_.at(*map)) return known;
  if (const auto read = others_.find(*map); read != others_.end()) return &read->second;
  if (!is_map(*map) || others_.size() >= kMaxRemembered) return nullptr;
  std::vector<std::uint64_t> words(words_of_shape(constants_));
  if (!memory_.read(*map - 1, std::as_writable_bytes(std::span(words))).has_value()) return nullptr;
  return &others_.emplace(*map, shape_of_map(*map, words, constants_)).first->second;
}

bool ConstructorNames::is_map(std::uint64_t tagged) {
  if (shapes_.at(tagged) != nullptr) return true;
  const auto meta = word(tagged, 0);
  return meta && shapes_.is_meta(*meta);
}

// The first map of a chain has the constructor where the others have the one before them. Shapes of one class share
// most of their chains: a map is followed once.
std::uint64_t ConstructorNames::constructor_of(const Shape& shape) {
  std::vector<std::uint64_t> chain;
  std::uint64_t map = shape.map, constructor = 0;
  while (chain.size() < kMaxBackPointers) {
    if (const auto known = constructors_.find(map); known != constructors_.end()) {
      constructor = known->second;
      break;
    }
    chain.push_back(map);
    const auto next = word(map, constants_.map_constructor);
    const auto next_map = next ? word(*next, 0) : std::nullopt;
    if (!next_map) break;
    if (!shapes_.is_meta(*next_map)) {
      constructor = *next;
      break;
    }
    map = *next;
  }
  // Where the chain is too long, its end may still be known by a later one.
  if (constructor == 0) chain.resize(std::min<std::size_t>(chain.size(), 1));
  if (constructors_.size() + chain.size() > kMaxRemembered) constructors_.clear();
  for (const std::uint64_t one : chain) constructors_.emplace(one, constructor);
  return constructor;
}

std::string ConstructorNames::identifier(std::uint64_t string) {
  const Shape* shape = shape_of(string);
  if (shape == nullptr || shape->type >= constants_.first_non_string) return "";
  const bool is_plain =
      (shape->type & constants_.string_kind_mask) == 0 && (shape->type & constants_.string_one_byte) != 0;
  const auto length = memory_.get<std::uint32_t>(string - 1 + constants_.string_length);
  if (!is_plain || !length.has_value() || *length == 0 || *length > kMaxName) return "";
  std::string text(*length, '\0');
  const auto bytes = std::as_writable_bytes(std::span(text));
  if (!memory_.read(string - 1 + constants_.string_chars, bytes).has_value()) return "";
  return is_identifier(text) ? text : "";
}

// flags, parameters, number of locals, their names, their descriptions, ..., the name of the function. A local's name
// must not be taken for it: there are as many names as are counted, in one run.
std::string ConstructorNames::scope_name(std::uint64_t scope) {
  const std::uint64_t first = 8 + 8 * std::uint64_t{constants_.scope_locals_index};
  const auto locals = word(scope, first);
  if (!locals || (*locals & 0xffffffff) != 0 || *locals >> 32 >= kMaxLocals) return "";
  std::uint64_t left = *locals >> 32;
  bool is_in_run = false;
  const std::size_t words = 2 * left + kPositionWords + kScopeTail;
  for (std::size_t i = 1; i <= words; ++i) {
    const auto at = word(scope, first + 8 * i);
    // The next object begins: a scope's length is not written in it.
    if (!at || is_map(*at)) return "";
    const Shape* shape = shape_of(*at);
    const bool is_string = shape != nullptr && shape->type < constants_.first_non_string;
    if (left == 0 && is_string) return identifier(*at);
    if (left > 0 && !is_string && (is_in_run || i > kPositionWords + 1)) return "";
    if (!is_string) continue;
    is_in_run = true;
    --left;
  }
  return "";
}

const std::string& ConstructorNames::function_name(std::uint64_t function) {
  const auto known = functions_.find(function);
  if (known != functions_.end()) return known->second;
  if (functions_.size() >= kMaxRemembered) functions_.clear();
  return functions_.emplace(function, read_function_name(function)).first->second;
}

std::string ConstructorNames::read_function_name(std::uint64_t function) {
  const Shape* shape = shape_of(function);
  if (shape == nullptr || shape->type < constants_.first_object) return "";
  const auto shared = word(function, constants_.function_shared);
  const Shape* shared_shape = shared ? shape_of(*shared) : nullptr;
  if (shared_shape == nullptr || shared_shape->type != constants_.type_shared) return "";
  const auto name = word(*shared, constants_.shared_name);
  const Shape* name_shape = name ? shape_of(*name) : nullptr;
  if (name_shape == nullptr) return "";
  return name_shape->type == constants_.type_scope ? scope_name(*name) : identifier(*name);
}

std::string ConstructorNames::name_of(const Shape& shape) {
  switch (nature_of(constants_, shape)) {
    case Nature::kString:
      return "(string)";
    case Nature::kNumber:
      return "(number)";
    case Nature::kArray:
      return "(array)";
    case Nature::kOther:
      return "(system)";
    case Nature::kObject:
      break;
  }
  const std::uint64_t constructor = constructor_of(shape);
  const std::string& name = function_name(constructor);
  return name.empty() ? "(object)" : name;
}

}  // namespace oomw::v8
