// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

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
};

// binary: node, or the library with V8. kUnsupported: no V8, or a build with another size of pointers or without these
// numbers; kInvalid: a file that contradicts itself.
[[nodiscard]] Result<Constants> read_constants(const ByteSource& binary);

// The same of names and values; for read_constants and tests.
[[nodiscard]] Result<Constants> constants_of(const std::map<std::string, std::int32_t>& values);

}  // namespace oomw::v8
