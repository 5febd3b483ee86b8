// SPDX-License-Identifier: Apache-2.0
// One block of a heap as V8 lays it out, and the numbers of such a V8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "memory/address_space.h"
#include "runtimes/v8/constants.h"
#include "runtimes/v8/shapes.h"

namespace oomw::test {

// As Node 20 exports them.
inline std::map<std::string, std::int32_t> exported_by_v8() {
  return {{"class_Map__instance_type__uint16_t", 12},
          {"class_Map__instance_size_in_words__char", 8},
          {"class_Map__constructor_or_back_pointer__Object", 32},
          {"class_JSFunction__shared__SharedFunctionInfo", 24},
          {"class_SharedFunctionInfo__name_or_scope_info__Object", 16},
          {"scopeinfo_idx_ncontextlocals", 2},
          {"class_String__length__int32_t", 12},
          {"class_SeqOneByteString__chars__char", 16},
          {"class_JSArrayBuffer__byte_length__size_t", 32},
          {"class_JSArrayBuffer__backing_store__uintptr_t", 48},
          {"type_Map__MAP_TYPE", 255},
          {"type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", 262},
          {"type_ScopeInfo__SCOPE_INFO_TYPE", 261},
          {"type_JSArrayBuffer__JS_ARRAY_BUFFER_TYPE", 2062},
          {"type_JSFunction__JS_FUNCTION_TYPE", 2066},
          {"type_JSObject__JS_OBJECT_TYPE", 1057},
          {"type_FreeSpace__FREE_SPACE_TYPE", 251},
          {"type_FixedArray__FIXED_ARRAY_TYPE", 175},
          {"type_DescriptorArray__DESCRIPTOR_ARRAY_TYPE", 244},
          {"type_ByteArray__BYTE_ARRAY_TYPE", 190},
          {"type_HeapNumber__HEAP_NUMBER_TYPE", 130},
          {"FirstNonstringType", 128},
          {"StringEncodingMask", 8},
          {"StringRepresentationMask", 7},
          {"TaggedSize", 8},
          {"class_JSFunction__context__Context", 32},
          {"class_JSFunction__prototype_or_initial_map__HeapObject", 56},
          {"class_SharedFunctionInfo__script_or_debug_info__HeapObject", 24},
          {"class_Script__name__Object", 16},
          {"class_Map__prototype__HeapObject", 24},
          {"class_Map__instance_descriptors__DescriptorArray", 40},
          {"class_Map__bit_field3__int", 16},
          {"class_Map__inobject_properties_start_or_constructor_function_index__char", 9},
          {"bit_field3_number_of_own_descriptors_mask", 1047552},
          {"bit_field3_number_of_own_descriptors_shift", 10},
          {"bit_field3_is_dictionary_map_shift", 21},
          {"prop_index_mask", 536346624},
          {"prop_index_shift", 19},
          {"prop_location_mask", 32},
          {"FirstContextType", 205},
          {"LastContextType", 214},
          {"type_JSArray__JS_ARRAY_TYPE", 2113},
          {"type_JSMap__JS_MAP_TYPE", 2108},
          {"type_JSSet__JS_SET_TYPE", 2109},
          {"type_Script__SCRIPT_TYPE", 169}};
}

class FakeHeap {
 public:
  static constexpr std::uint64_t kBase = 0x40000, kHead = 0x200;
  static constexpr std::uint16_t kString = 40, kObject = 1057, kArray = 175, kFunction = 2066, kScope = 261,
                                 kShared = 262, kFree = 251, kBuffer = 2062, kDescriptors = 244, kList = 2113,
                                 kContext = 206;

  FakeHeap() : words_(v8::kBlockBytes / 8) {
    meta_ = take(80);
    set(meta_, 0, meta_);
    describe(meta_, 255, 80, 0);
    for (int i = 0; i < 40; ++i) (void)map(kObject, 16, 0);
    string_ = map(kString, 0, 0);
    array_ = map(kArray, 0, 0);
    function_ = map(kFunction, 32, 0);
    shared_ = map(kShared, 32, 0);
    scope_ = map(kScope, 0, 0);
    free_ = map(kFree, 0, 0);
    buffer_ = map(kBuffer, 64, 0);
    descriptors_ = map(kDescriptors, 0, 0);
    list_ = map(kList, 32, 0);
    context_ = map(kContext, 0, 0);
  }

  // All return tagged addresses.
  std::uint64_t map(std::uint16_t type, std::uint32_t bytes, std::uint64_t constructor) {
    const std::uint64_t at = take(80);
    set(at, 0, meta_);
    describe(at, type, bytes, constructor);
    return at;
  }
  std::uint64_t string(std::string_view text) {
    const std::uint64_t at = take(16 + (text.size() + 7) / 8 * 8);
    set(at, 0, string_);
    set(at, 8, std::uint64_t{text.size()} << 32);
    std::memcpy(reinterpret_cast<char*>(words_.data()) + (at - 1 - kBase) + 16, text.data(), text.size());
    return at;
  }
  std::uint64_t array(std::span<const std::uint64_t> elements) {
    const std::uint64_t at = array_of(elements.size(), 16 + 8 * elements.size());
    for (std::size_t i = 0; i < elements.size(); ++i) set(at, 16 + 8 * i, elements[i]);
    return at;
  }
  // Of a length that may be a lie.
  std::uint64_t array_of(std::uint64_t length, std::uint64_t bytes) { return sized(array_, length, bytes); }
  // What the properties of a shape are called and where they are. Its cache is another object.
  std::uint64_t descriptors(std::uint16_t count, std::uint64_t name) {
    const std::uint64_t at = object(descriptors_, 24 + 24 * std::uint64_t{count});
    set(at, 8, count | std::uint64_t{count} << 16);
    set(at, 16, name);
    for (std::uint64_t i = 0; i < count; ++i) set(at, 24 + 24 * i, name);
    return at;
  }
  std::uint64_t free_space(std::uint64_t bytes) { return sized(free_, bytes, bytes); }
  // name: a string or a scope.
  std::uint64_t function(std::uint64_t name) {
    const std::uint64_t shared = object(shared_, 32), at = object(function_, 32);
    set(shared, 16, name);
    set(at, 24, shared);
    return at;
  }
  std::uint64_t scope(std::span<const std::uint64_t> locals, std::uint64_t name) {
    const std::uint64_t words = 3 + 2 * locals.size() + 1, at = sized(scope_, words, 8 + 8 * words);
    set(at, 24, std::uint64_t{locals.size()} << 32);
    for (std::size_t i = 0; i < locals.size(); ++i) set(at, 32 + 8 * i, locals[i]);
    set(at, 32 + 16 * locals.size(), name);
    return at;
  }
  std::uint64_t class_named(std::uint64_t name, std::uint32_t bytes = 32) {
    return map(kObject, bytes, function(name));
  }
  std::uint64_t object(std::uint64_t of, std::uint64_t bytes) {
    const std::uint64_t at = take(bytes);
    set(at, 0, of);
    return at;
  }
  // A list of JavaScript, of a length that may be a lie.
  std::uint64_t list(std::uint64_t elements, std::uint64_t length) {
    const std::uint64_t at = object(list_, 32);
    set(at, 16, elements);
    set(at, 24, length << 32);
    return at;
  }
  // What closures share of the variables that a scope describes.
  std::uint64_t context(std::uint64_t scope, std::span<const std::uint64_t> values) {
    const std::uint64_t at = sized(context_, 2 + values.size(), 32 + 8 * values.size());
    set(at, 16, scope);
    for (std::size_t i = 0; i < values.size(); ++i) set(at, 32 + 8 * i, values[i]);
    return at;
  }
  std::uint64_t buffer(std::uint64_t memory, std::uint64_t bytes) {
    const std::uint64_t at = object(buffer_, 64);
    set(at, 32, bytes);
    set(at, 48, memory);
    return at;
  }
  void fill(std::uint64_t of, std::uint64_t bytes, std::uint64_t count) {
    for (std::uint64_t i = 0; i < count; ++i) (void)object(of, bytes);
  }
  void set(std::uint64_t tagged, std::uint64_t offset, std::uint64_t value) {
    const std::uint64_t at = (tagged - 1 + offset - kBase) / 8;
    if (at < words_.size()) words_[at] = value;
  }

  [[nodiscard]] std::uint64_t word(std::uint64_t tagged, std::uint64_t offset) const {
    return words_[(tagged - 1 + offset - kBase) / 8];
  }

  [[nodiscard]] std::uint64_t left() const { return kBase + v8::kBlockBytes - next_; }
  [[nodiscard]] std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(words_)); }
  // The process: this block as its only mapping, present to its end.
  [[nodiscard]] AddressSpace space(const ByteSource& memory) const {
    const std::uint64_t end = kBase + v8::kBlockBytes;
    return {
        memory, MemoryMap::parse("40000-80000 rw-p 00000000 00:00 0\n"), PresentPages({{kBase, end}}), {}, 1u << 28};
  }

 private:
  // What finds no room overlaps.
  std::uint64_t take(std::uint64_t bytes) {
    const std::uint64_t at = next_ + bytes <= kBase + v8::kBlockBytes ? next_ : kBase + kHead;
    next_ = at + bytes;
    return at + 1;
  }
  std::uint64_t sized(std::uint64_t of, std::uint64_t number, std::uint64_t bytes) {
    const std::uint64_t at = object(of, bytes);
    set(at, 8, number << 32);
    return at;
  }
  void describe(std::uint64_t at, std::uint16_t type, std::uint32_t bytes, std::uint64_t constructor) {
    set(at, 8, bytes / 8 | std::uint64_t{type} << 32);
    set(at, 32, constructor);
  }

  std::vector<std::uint64_t> words_;
  std::uint64_t next_ = kBase + kHead;
  std::uint64_t meta_ = 0, string_ = 0, array_ = 0, function_ = 0, shared_ = 0, scope_ = 0, free_ = 0, buffer_ = 0,
                descriptors_ = 0, list_ = 0, context_ = 0;
};

}  // namespace oomw::test
