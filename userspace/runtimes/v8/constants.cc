// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/constants.h"

#include <elf.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "elf/elf_file.h"
#include "memory/cached_reader.h"

namespace oomw::v8 {
namespace {

using Values = std::map<std::string, std::int32_t>;

// Node 20 has 75,000 dynamic symbols, whose names take 6 MiB.
constexpr std::uint64_t kMaxBytes = 96u << 20, kMaxTable = 16u << 20, kMaxNames = 32u << 20;
constexpr std::size_t kMaxValues = 2'000, kMaxConstantName = 128;
constexpr std::string_view kPrefix = "v8dbg_";
constexpr std::int32_t kMaxOffset = 1024;

// The name at a place of the table of names, if it is one of V8's.
std::optional<std::string> name_at(std::string_view names, std::uint64_t at) {
  if (at >= names.size() || !names.substr(at).starts_with(kPrefix)) return std::nullopt;
  const std::string_view rest = names.substr(at + kPrefix.size(), kMaxConstantName);
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos || end == 0) return std::nullopt;
  return std::string(rest.substr(0, end));
}

Result<Values> values_of(const elf::File& elf, const elf::Section& table, const elf::Section& names) {
  if (table.entry_size != sizeof(Elf64_Sym) || table.size > kMaxTable || names.size > kMaxNames) return Values();
  std::vector<Elf64_Sym> symbols(table.size / sizeof(Elf64_Sym));
  std::string text(names.size, '\0');
  RETURN_IF_ERROR(elf.reader().read(table.offset, std::as_writable_bytes(std::span(symbols))));
  RETURN_IF_ERROR(elf.reader().read(names.offset, std::as_writable_bytes(std::span(text))));
  Values values;
  for (const Elf64_Sym& symbol : symbols) {
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_size != sizeof(std::int32_t)) continue;
    std::optional<std::string> name = name_at(text, symbol.st_name);
    if (!name) continue;
    if (values.size() >= kMaxValues) return fail(ErrorCode::kInvalid, "too many numbers of V8");
    const auto value = elf.get_at<std::int32_t>(symbol.st_value);
    if (value.has_value()) values.emplace(std::move(*name), *value);
  }
  return values;
}

// Of the only name that begins so; types of fields are part of names and differ by version.
class Lookup {
 public:
  explicit Lookup(const Values& values) : values_(values) {}

  template <typename T>
  void get(std::string_view prefix, std::int32_t most, T& into) {
    const auto found = values_.lower_bound(std::string(prefix));
    if (found == values_.end() || !found->first.starts_with(prefix) || found->second < 0 || found->second > most) {
      if (missing_.empty()) missing_ = prefix;
      return;
    }
    into = static_cast<T>(found->second);
  }
  void offset(std::string_view prefix, std::uint32_t& into) { get(prefix, kMaxOffset, into); }
  void type(std::string_view prefix, std::uint16_t& into) { get(prefix, 0xffff, into); }
  [[nodiscard]] const std::string& missing() const { return missing_; }

 private:
  const Values& values_;
  std::string missing_;
};

bool is_type_name(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

// "type_FixedArray__FIXED_ARRAY_TYPE" -> FixedArray.
void add_type_names(const Values& values, Constants& constants) {
  constexpr std::string_view kType = "type_";
  constants.first_object = constants.type_buffer;
  for (const auto& [name, value] : values) {
    if (!name.starts_with(kType) || value < 0 || value > 0xffff) continue;
    const std::string type = name.substr(kType.size(), name.find("__") - kType.size());
    if (!is_type_name(type)) continue;
    const auto number = static_cast<std::uint16_t>(value);
    constants.type_names.emplace(number, type);
    // Objects have the highest numbers.
    if (type.starts_with("JS") && number < constants.first_object) constants.first_object = number;
  }
}

void read_offsets(Lookup& lookup, Constants& into) {
  lookup.offset("class_Map__instance_type__", into.map_type);
  lookup.offset("class_Map__instance_size_in_words__", into.map_words);
  lookup.offset("class_Map__constructor_or_back_pointer__", into.map_constructor);
  lookup.offset("class_JSFunction__shared__", into.function_shared);
  lookup.offset("class_SharedFunctionInfo__name_or_scope_info__", into.shared_name);
  lookup.offset("scopeinfo_idx_ncontextlocals", into.scope_locals_index);
  lookup.offset("class_String__length__", into.string_length);
  lookup.offset("class_SeqOneByteString__chars__", into.string_chars);
  lookup.offset("class_JSArrayBuffer__byte_length__", into.buffer_length);
  lookup.offset("class_JSArrayBuffer__backing_store__", into.buffer_memory);
}

void read_types(Lookup& lookup, Constants& into) {
  lookup.type("type_Map__", into.type_map);
  lookup.type("type_SharedFunctionInfo__", into.type_shared);
  lookup.type("type_ScopeInfo__", into.type_scope);
  lookup.type("type_JSArrayBuffer__", into.type_buffer);
  lookup.type("type_FixedArray__", into.type_array);
  lookup.type("type_ByteArray__", into.type_bytes);
  lookup.type("type_HeapNumber__", into.type_number);
  lookup.type("FirstNonstringType", into.first_non_string);
  lookup.type("StringEncodingMask", into.string_one_byte);
  lookup.type("StringRepresentationMask", into.string_kind_mask);
}

Constants::Names names_of(const Values& values) {
  Lookup lookup(values);
  Constants::Names names;
  lookup.offset("class_JSFunction__context__", names.function_context);
  lookup.offset("class_JSFunction__prototype_or_initial_map__", names.function_map);
  lookup.offset("class_SharedFunctionInfo__script", names.shared_script);
  lookup.offset("class_Script__name__", names.script_name);
  lookup.offset("class_Map__prototype__", names.map_prototype);
  lookup.offset("class_Map__instance_descriptors__", names.map_descriptors);
  lookup.offset("class_Map__bit_field3__", names.map_bits);
  lookup.offset("class_Map__inobject_properties_start_or_constructor_function_index__", names.map_fields_from);
  constexpr std::int32_t kAnyMask = 0x7fffffff, kMostShift = 31;
  lookup.get("bit_field3_number_of_own_descriptors_mask", kAnyMask, names.own_mask);
  lookup.get("bit_field3_number_of_own_descriptors_shift", kMostShift, names.own_shift);
  lookup.get("bit_field3_is_dictionary_map_shift", kMostShift, names.dictionary_shift);
  lookup.get("prop_index_mask", kAnyMask, names.index_mask);
  lookup.get("prop_index_shift", kMostShift, names.index_shift);
  lookup.get("prop_location_mask", kAnyMask, names.location_mask);
  lookup.type("FirstContextType", names.first_context);
  lookup.type("LastContextType", names.last_context);
  lookup.type("type_JSObject__", names.type_object);
  lookup.type("type_JSArray__", names.type_list);
  lookup.type("type_JSMap__", names.type_js_map);
  lookup.type("type_JSSet__", names.type_js_set);
  lookup.type("type_Script__", names.type_script);
  names.is_known = lookup.missing().empty();
  return names;
}

// Node 24 does not export it. The numbers follow the names: FeedbackVector, Filler, FreeSpace, Hole (18 to 22).
void find_free_space(const Values& values, Lookup& lookup, Constants& into) {
  std::uint16_t before = 0, after = 0;
  const auto next = values.lower_bound("type_FreeSpace__");
  if (next != values.end() && next->first.starts_with("type_FreeSpace__")) {
    lookup.type("type_FreeSpace__", into.type_free);
    return;
  }
  lookup.type("type_FeedbackVector__", before);
  lookup.type("type_Hole__", after);
  if (after == before + 3) into.type_free = static_cast<std::uint16_t>(after - 1);
}

}  // namespace

Result<Constants> constants_of(const std::map<std::string, std::int32_t>& values) {
  Constants constants;
  Lookup lookup(values);
  read_offsets(lookup, constants);
  read_types(lookup, constants);
  find_free_space(values, lookup, constants);
  if (!lookup.missing().empty()) return fail(ErrorCode::kUnsupported, "V8 does not export " + lookup.missing());
  if (constants.type_free == 0) return fail(ErrorCode::kUnsupported, "V8 does not export type_FreeSpace");
  // Compressed pointers are of four bytes.
  const auto tagged = values.find("TaggedSize");
  if (tagged != values.end() && tagged->second != 8) {
    return fail(ErrorCode::kUnsupported, "V8 was built with compressed pointers");
  }
  add_type_names(values, constants);
  constants.names = names_of(values);
  return constants;
}

Result<Constants> read_constants(const ByteSource& binary) {
  CachedReader reader(binary, kMaxBytes);
  ASSIGN_OR_RETURN(const elf::File elf, elf::File::open(reader));
  for (const auto& [table_name, names_name] : {std::pair(".dynsym", ".dynstr"), std::pair(".symtab", ".strtab")}) {
    const elf::Section* table = elf.find_section(table_name);
    const elf::Section* names = elf.find_section(names_name);
    if (table == nullptr || names == nullptr) continue;
    ASSIGN_OR_RETURN(const Values values, values_of(elf, *table, *names));
    if (!values.empty()) return constants_of(values);
  }
  return fail(ErrorCode::kUnsupported, "no V8 that describes itself");
}

}  // namespace oomw::v8
