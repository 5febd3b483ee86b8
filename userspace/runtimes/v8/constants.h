// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "base/result.h"
#include "memory/byte_source.h"

namespace oomw::v8 {

// Where V8 has its fields and how it numbers its types, as the program itself exports it for debuggers (`v8dbg_...`,
// 390 to 460 numbers in Node 18 to 24). Offsets are from the beginning of an object, not from a tagged pointer.
struct Constants {
  // class Map, which describes the objects that point to it with their first word
  std::uint32_t map_type = 0, map_words = 0, map_constructor = 0;
  // function -> what is shared by its closures -> its name or the description of its scope
  std::uint32_t function_shared = 0, shared_name = 0, scope_locals_index = 0;
  std::uint32_t string_length = 0, string_chars = 0;
  std::uint32_t buffer_length = 0, buffer_memory = 0;
  // numbers of types
  std::uint16_t type_map = 0, type_shared = 0, type_scope = 0, type_buffer = 0, type_free = 0, type_number = 0;
  std::uint16_t type_array = 0, type_bytes = 0;  // what lies between are arrays, too
  std::uint16_t first_non_string = 0;
  std::uint16_t string_one_byte = 0, string_kind_mask = 0;
  std::uint16_t first_object = 0;                   // of what JavaScript calls an object
  std::map<std::uint16_t, std::string> type_names;  // "FixedArray"; identifiers only

  // What the names of variables and attributes are read by. A V8 that does not export all of it has none of them.
  struct Names {
    bool is_known = false;
    std::uint32_t function_context = 0, function_map = 0, shared_script = 0, script_name = 0;
    std::uint32_t map_prototype = 0, map_descriptors = 0, map_bits = 0, map_fields_from = 0;
    std::uint32_t own_mask = 0, own_shift = 0, dictionary_shift = 0;   // of a map's bits
    std::uint32_t index_mask = 0, index_shift = 0, location_mask = 0;  // of a field's details
    std::uint16_t first_context = 0, last_context = 0;                 // numbers of types
    std::uint16_t type_object = 0, type_list = 0, type_js_map = 0, type_js_set = 0, type_script = 0;
    [[nodiscard]] bool is_context(std::uint16_t type) const {
      return is_known && type >= first_context && type <= last_context;
    }
  };
  Names names;
};

// binary: node, or the library with V8. kUnsupported: no V8, or a build with another size of pointers or without these
// numbers; kInvalid: a file that contradicts itself.
[[nodiscard]] Result<Constants> read_constants(const ByteSource& binary);

// The same of names and values; for read_constants and tests.
[[nodiscard]] Result<Constants> constants_of(const std::map<std::string, std::int32_t>& values);

}  // namespace oomw::v8
