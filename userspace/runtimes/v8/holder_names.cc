// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/holder_names.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace oomw::v8 {
namespace {

constexpr std::uint64_t kContextHead = 16;  // its shape and its length; the scope, the context around it, variables
constexpr std::uint64_t kLeastSlots = 2, kMostOwnSlots = 3, kMaxSlots = 256;
constexpr std::uint64_t kMaxFields = 64;
constexpr std::uint64_t kDescriptorsAt = 24, kDescriptorBytes = 24;
constexpr std::size_t kKeysShown = 4;

std::uint64_t length_of(std::optional<std::uint64_t> word) {
  return word && (*word & 0xffffffff) == 0 ? *word >> 32 : 0;
}

}  // namespace

// Names of fields by their numbers; "" for one that is no identifier.
std::vector<std::string> HolderNames::field_names(const Shape& shape) {
  const Constants::Names& names = constants_.names;
  std::vector<std::string> fields;
  const auto descriptors = names_.word(shape.map, names.map_descriptors);
  const auto bits = names_.word(shape.map, names.map_bits / 8 * 8);
  if (!descriptors || !bits || shape.extent == Extent::kMapOfNoted) return fields;
  const auto low = static_cast<std::uint32_t>(*bits >> names.map_bits % 8 * 8);
  const std::uint64_t own = (low & names.own_mask) >> names.own_shift;
  const Shape* of_table = names_.shape_of(*descriptors);
  if (of_table == nullptr || of_table->extent != Extent::kDescriptors) return fields;
  for (std::uint64_t i = 0; i < std::min(own, kMaxFields); ++i) {
    const std::uint64_t at = kDescriptorsAt + kDescriptorBytes * i;
    const auto key = names_.word(*descriptors, at), details = names_.word(*descriptors, at + 8);
    if (!key || !details || (*details & 0xffffffff) != 0) break;
    const auto bits_of_field = static_cast<std::uint32_t>(*details >> 32);
    const std::uint64_t number = (bits_of_field & names.index_mask) >> names.index_shift;
    if ((bits_of_field & names.location_mask) != 0 || number >= kMaxFields) continue;
    if (fields.size() <= number) fields.resize(number + 1);
    fields[number] = names_.attribute(*key);
  }
  return fields;
}

// They come from the code: many objects have the same.
std::string HolderNames::keys_text(const Shape& shape) {
  std::string keys;
  std::size_t shown = 0;
  for (const std::string& key : field_names(shape)) {
    if (key.empty() || key.ends_with(')')) continue;  // symbols are of libraries, or Node's own
    if (shown++ == kKeysShown) {
      keys += ", ...";
      break;
    }
    keys += (keys.empty() ? "" : ", ") + key;
  }
  return keys.empty() ? "" : "{" + keys + "}";
}

std::string HolderNames::value_name(std::uint64_t tagged) {
  const Shape* shape = names_.shape_of(tagged);
  if (shape == nullptr) return "number";
  const std::string_view type = type_name(constants_, *shape);
  if (type == "JSFunction" || type == "JSBoundFunction") {
    const std::string& function =
        names_.function_name(type == "JSFunction" ? tagged : names_.word(tagged, kHeadBytes).value_or(0));
    return function.empty() ? "functions" : "functions `" + function + "`";
  }
  const std::string name = names_.name_of(*shape);
  if (name.starts_with('(') && name.ends_with(')')) return name.substr(1, name.size() - 2);
  if (name == "FastBuffer") return "Buffer";
  if (name == ConstructorNames::kPlainObject) {
    std::string keys = keys_text(*shape);
    return keys.empty() ? "plain objects" : keys;
  }
  return name;
}

// An async function that waits, and a generator, begin with their function.
std::string HolderNames::function_text(std::uint64_t tagged) {
  const Shape* shape = names_.shape_of(tagged);
  const std::string_view type = shape == nullptr ? "" : type_name(constants_, *shape);
  const bool is_call =
      type == "JSAsyncFunctionObject" || type == "JSGeneratorObject" || type == "JSAsyncGeneratorObject";
  if (!is_call && type != "JSFunction") return "";
  const std::uint64_t function = is_call ? names_.word(tagged, kHeadBytes).value_or(0) : tagged;
  const std::string& name = names_.function_name(function);
  const std::string file = names_.file_of(function);
  if (name.empty() || file.empty() || file.starts_with("node:")) return "";
  return fmt::format("{} `{}` ({})", is_call ? "calls of" : "functions", name, file);
}

// "`CACHE` in cache.js", "`seen` in function `memoize` (cache.js)".
std::string HolderNames::variable_text(const HolderPlace& place) {
  const auto scope = names_.word(place.holder, kContextHead);
  const Shape* shape = scope ? names_.shape_of(*scope) : nullptr;
  if (shape == nullptr || shape->type != constants_.type_scope) return "";
  const std::vector<std::string> locals = names_.scope_locals(*scope);
  const std::uint64_t slots = length_of(names_.word(place.holder, 8)), first = slots - locals.size();
  if (locals.empty() || locals.size() > slots || first < kLeastSlots || first > kMostOwnSlots) return "";
  // Words of a context begin two before its slots.
  const std::uint64_t slot = place.word - kContextHead / 8;
  if (place.word < kContextHead / 8 + first || slot - first >= locals.size() || locals[slot - first].empty()) return "";
  std::string text = "`" + locals[slot - first] + "`", file;
  for (std::uint64_t i = first; i < std::min(slots, kMaxSlots) && file.empty(); ++i) {
    const auto value = names_.word(place.holder, kContextHead + 8 * i);
    const bool is_own = value && names_.word(*value, constants_.names.function_context) == place.holder;
    if (is_own) file = names_.file_of(*value);
  }
  if (file.starts_with("node:")) return "";  // Node's own
  const std::string function = names_.scope_name(*scope);
  if (function.empty()) return text + (file.empty() ? "" : " in " + file);
  return fmt::format("{} in function `{}`{}", text, function, file.empty() ? "" : " (" + file + ")");
}

// "`pages` of an instance of `PageCache` (cache.js), `cache` in server.js".
std::string HolderNames::field_text(const HolderPlace& place, const HolderPlace* of_object) {
  const Shape* shape = names_.shape_of(place.holder);
  if (shape == nullptr) return "";
  const std::vector<std::string> fields = field_names(*shape);
  const auto from = names_.word(shape->map, constants_.names.map_fields_from / 8 * 8);
  const std::uint64_t first = from ? *from >> constants_.names.map_fields_from % 8 * 8 & 0xff : 0;
  if (first * 8 < kHeadBytes || first > shape->words) return "";
  // Those outside follow those in it; two words of their table are its head.
  const bool is_inside = place.kind == HolderKind::kField;
  if (place.word < (is_inside ? first : 2)) return "";
  const std::uint64_t number = is_inside ? place.word - first : shape->words - first + place.word - 2;
  if (number >= fields.size() || fields[number].empty()) return "";
  const std::string name = names_.name_of(*shape);
  const std::string of = of_object == nullptr ? "" : text(*of_object, nullptr);
  const std::string field = "`" + fields[number] + "` of ";
  const bool is_class = type_name(constants_, *shape) == "JSFunction";  // a static attribute
  // Of a plain object nothing tells which it is but what has it.
  if (name == ConstructorNames::kPlainObject || (name.starts_with('(') && !is_class))
    return of.empty() ? "" : field + of;
  const std::uint64_t function = is_class ? place.holder : names_.constructor_of(*shape);
  const std::string& class_name = names_.function_name(function);
  if (class_name.empty()) return "";
  const std::string file = names_.file_of(function);
  return fmt::format("{}{} `{}`{}{}", field, is_class ? "class" : "an instance of", class_name,
                     file.empty() ? "" : " (" + file + ")", of.empty() ? "" : ", " + of);
}

bool HolderNames::is_still_there(const HolderPlace& place) {
  const std::optional<std::uint64_t> object =
      place.kind == HolderKind::kOutside ? names_.word(place.holder, 8) : std::optional(place.holder);
  return object && names_.word(*object, 8 * place.word) == place.value;
}

std::string HolderNames::text(const HolderPlace& place, const HolderPlace* of_object) {
  if (!is_still_there(place)) return "";
  const std::string text = place.kind == HolderKind::kVariable ? variable_text(place) : field_text(place, of_object);
  return place.is_inside && !text.empty() ? "inside " + text : text;
}

}  // namespace oomw::v8
