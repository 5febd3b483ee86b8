// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

#include "base/text.h"

namespace oomw::v8 {
namespace {

constexpr std::size_t kMaxBackPointers = 256, kMaxRemembered = 64u << 10;
constexpr std::uint64_t kMaxName = 80, kMaxPath = 1024;
constexpr std::uint64_t kSymbolName = 16;
constexpr std::uint64_t kMaxMembers = 1024;  // words of a prototype's table: Buffer has 100 methods
constexpr std::uint64_t kMaxLocals = 75;     // more lie in a table of their own
constexpr std::size_t kScopeTail = 10;       // words behind the names of locals and their descriptions
constexpr std::size_t kPositionWords = 2;    // before the names, since V8 12

bool is_identifier(std::string_view text) {
  const auto is_start = [](unsigned char c) { return std::isalpha(c) != 0 || c == '_' || c == '$'; };
  const auto is_part = [&](unsigned char c) { return is_start(c) || std::isdigit(c) != 0; };
  return !text.empty() && is_start(static_cast<unsigned char>(text.front())) && std::ranges::all_of(text, is_part);
}

constexpr std::string_view kOfNode = "node:";

bool is_file_name(std::string_view text) {
  const auto is_part = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.'; };
  return !text.empty() && text.size() <= kMaxName && std::ranges::all_of(text, is_part);
}

}  // namespace

std::string_view type_name(const Constants& constants, const Shape& shape) {
  const auto name = constants.type_names.find(shape.type);
  return name == constants.type_names.end() ? "" : std::string_view(name->second);
}

Nature nature_of(const Constants& constants, const Shape& shape) {
  if (shape.type < constants.first_non_string) return Nature::kString;
  if (shape.type == constants.type_number) return Nature::kNumber;
  if (shape.type >= constants.first_object) return Nature::kObject;
  if (shape.type >= constants.type_array && shape.type <= constants.type_bytes) return Nature::kArray;
  const std::string_view type = type_name(constants, shape);
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
  return !name.empty() && !name.starts_with('(') && !name.starts_with(kOfNode) &&
         std::ranges::find(kOfLanguage, name) == kOfLanguage.end();
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

// The first map of a subclass's objects names the class that it extends. The class itself is an attribute of their
// prototype, which it has in turn: in the map that its objects begin with, or, where it has made none, in its place.
std::uint64_t ConstructorNames::class_of(std::uint64_t first_map, std::uint64_t constructor) {
  const Constants::Names& names = constants_.names;
  const auto prototype = names.is_known ? word(first_map, names.map_prototype) : std::nullopt;
  const Shape* shape = prototype ? shape_of(*prototype) : nullptr;
  if (shape == nullptr || shape->type < constants_.first_object || shape->words == 0) return constructor;
  const auto made_by = [&](std::optional<std::uint64_t> function) -> std::uint64_t {
    const Shape* found = function ? shape_of(*function) : nullptr;
    // A function that makes no objects ends before that place.
    const bool makes =
        found != nullptr && found->type >= constants_.first_object && found->bytes() > names.function_map;
    return makes ? word(*function, names.function_map).value_or(0) : 0;
  };
  const auto is_class = [&](std::optional<std::uint64_t> function) {
    const std::uint64_t made = made_by(function);
    return made != 0 && (made == *prototype || (is_map(made) && word(made, names.map_prototype) == prototype));
  };
  if (made_by(constructor) == 0 || is_class(constructor)) return constructor;
  for (std::uint64_t at = kHeadBytes; at < shape->bytes(); at += 8) {
    if (const auto value = word(*prototype, at); is_class(value)) return *value;
  }
  const auto table = word(*prototype, 8);
  const Shape* of_table = table ? shape_of(*table) : nullptr;
  if (of_table == nullptr || nature_of(constants_, *of_table) != Nature::kArray) return constructor;
  const std::uint64_t members = std::min(word(*table, 8).value_or(0) >> 32, kMaxMembers);
  for (std::uint64_t i = 0; i < members; ++i) {
    if (const auto value = word(*table, 16 + 8 * i); is_class(value)) return *value;
  }
  return constructor;
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
      constructor = class_of(map, *next);
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

// Of one byte a character; "" for any other and a long one.
std::string ConstructorNames::text(std::uint64_t string, std::uint64_t most) {
  const Shape* shape = shape_of(string);
  if (shape == nullptr || shape->type >= constants_.first_non_string) return "";
  const bool is_plain =
      (shape->type & constants_.string_kind_mask) == 0 && (shape->type & constants_.string_one_byte) != 0;
  const auto length = memory_.get<std::uint32_t>(string - 1 + constants_.string_length);
  if (!is_plain || !length.has_value() || *length == 0 || *length > most) return "";
  std::string text(*length, '\0');
  const auto bytes = std::as_writable_bytes(std::span(text));
  if (!memory_.read(string - 1 + constants_.string_chars, bytes).has_value()) return "";
  return text;
}

std::string ConstructorNames::identifier(std::uint64_t string) {
  std::string found = text(string, kMaxName);
  return is_identifier(found) ? found : "";
}

std::string ConstructorNames::attribute(std::uint64_t key) {
  const Shape* shape = shape_of(key);
  if (shape == nullptr || type_name(constants_, *shape) != "Symbol") return identifier(key);
  const std::string name = text(word(key, kSymbolName).value_or(0), kMaxName);
  if (name.starts_with('#')) return is_identifier(std::string_view(name).substr(1)) ? name : "";
  return is_identifier(name) ? "Symbol(" + name + ")" : "";
}

std::string ConstructorNames::path_of(std::uint64_t function) {
  const Constants::Names& names = constants_.names;
  const auto shared = names.is_known ? word(function, constants_.function_shared) : std::nullopt;
  const Shape* shared_shape = shared ? shape_of(*shared) : nullptr;
  if (shared_shape == nullptr || shared_shape->type != constants_.type_shared) return "";
  const auto script = word(*shared, names.shared_script);
  const Shape* script_shape = script ? shape_of(*script) : nullptr;
  if (script_shape == nullptr || script_shape->type != names.type_script) return "";
  return text(word(*script, names.script_name).value_or(0), kMaxPath);
}

std::string ConstructorNames::file_of(std::uint64_t function) {
  const std::string path = path_of(function);
  // "node:internal/timers"
  if (path.starts_with(kOfNode)) {
    const bool is_sound = std::ranges::all_of(split(path, '/'), [](std::string_view part) {
      return is_file_name(part.starts_with(kOfNode) ? part.substr(kOfNode.size()) : part);
    });
    return is_sound ? path.substr(0, kMaxName) : "";
  }
  const std::string file(base_name(path));
  return is_file_name(file) ? file : "";
}

// flags, parameters, number of locals, their names, their descriptions, ..., the name of the function. A local's name
// must not be taken for it: there are as many names as are counted, in one run.
template <typename Take>
std::string ConstructorNames::walk_scope(std::uint64_t scope, const Take& take) {
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
    take(*at);
  }
  return "";
}

std::string ConstructorNames::scope_name(std::uint64_t scope) {
  return walk_scope(scope, [](std::uint64_t) {});
}

std::vector<std::string> ConstructorNames::scope_locals(std::uint64_t scope) {
  std::vector<std::string> found;
  (void)walk_scope(scope, [&](std::uint64_t name) { found.push_back(text(name, kMaxName)); });
  const auto counted = word(scope, 8 + 8 * std::uint64_t{constants_.scope_locals_index});
  if (!counted || *counted >> 32 != found.size()) found.clear();
  for (std::string& name : found) name = is_identifier(name) ? name : "";  // ".this_function"
  return found;
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
  const std::string& name = class_name(constructor_of(shape));
  return name.empty() ? "(object)" : name;
}

const std::string& ConstructorNames::class_name(std::uint64_t constructor) {
  const auto known = classes_.find(constructor);
  if (known != classes_.end()) return known->second;
  if (classes_.size() >= kMaxRemembered) classes_.clear();
  std::string name = function_name(constructor);
  if (is_own(name) && file_of(constructor).starts_with(kOfNode)) name.insert(0, kOfNode);
  return classes_.emplace(constructor, std::move(name)).first->second;
}

}  // namespace oomw::v8
