// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "memory/cached_reader.h"
#include "runtimes/cpython/type_table.h"

namespace oomw::cpython {

// The head of an object whose type is sound.
struct Object {
  std::uint64_t address = 0;
  const TypeInfo* type = nullptr;
  std::uint32_t references = 0;          // of immortal objects a very large number
  std::array<std::uint64_t, 4> words{};  // behind the head: of a list count, items, room
  [[nodiscard]] std::uint64_t word_at(std::size_t offset) const { return words[(offset - 16) / 8]; }
};

// The table of keys of a dict.
struct KeyTable {
  std::uint64_t entries = 0;  // address of the first
  std::uint64_t count = 0;    // of entries, with those that were deleted
  std::uint64_t entry_bytes = 0, key_offset = 0;
  std::uint64_t bytes = 0;
  bool is_shared = false;  // by the instances of a class: the values are elsewhere
};

struct DictEntry {
  std::uint64_t key = 0, value = 0;  // addresses of objects, not checked
};

// Objects of a living process, each checked as far as its layout allows. What is not sound is not there. Borrows all.
class ObjectReader {
 public:
  ObjectReader(CachedReader& reader, TypeTable& types) : reader_(reader), types_(types) {}

  [[nodiscard]] std::optional<Object> object(std::uint64_t address);
  // Of a str that is an identifier; "" for anything else, which is never shown.
  [[nodiscard]] std::string identifier(std::uint64_t address, bool with_dots = false);
  // Of a str of ASCII, whatever it says, to decide by; never to be shown. "" for any other and a long one.
  [[nodiscard]] std::string ascii(std::uint64_t address);
  // The keys of a dict are sound if used and free places add up to what a table of its size has.
  [[nodiscard]] std::optional<KeyTable> key_table(std::uint64_t address);
  [[nodiscard]] std::optional<KeyTable> keys_of(const Object& dict) { return key_table(dict.word_at(32)); }
  [[nodiscard]] std::optional<DictEntry> entry(const KeyTable& table, std::uint64_t index);
  // Entry of a dict, wherever its values are. Nothing where a key was deleted.
  [[nodiscard]] std::optional<DictEntry> entry(const Object& dict, const KeyTable& table, std::uint64_t index);

  // How many entries a list, tuple, dict, set or deque has room to hold them in: places that element() takes. 0: no
  // container.
  [[nodiscard]] std::uint64_t places(const Object& container);
  // What stands there: an object, or of a dict a key and a value. Empty places give nothing. Of a long deque only the
  // two ends have places: what lies between is reached block by block.
  [[nodiscard]] std::vector<std::uint64_t> elements(const Object& container, std::uint64_t place);
  [[nodiscard]] static bool is_container(const TypeInfo& type);
  // How many entries it has.
  [[nodiscard]] static std::uint64_t length(const Object& container);

  // What the attributes of an instance keep alive, without their names: at most kMaxAttributes.
  static constexpr std::size_t kMaxAttributes = 64;
  [[nodiscard]] std::vector<std::uint64_t> attributes(const Object& instance);

  // The bytes of the object itself, with what belongs to nobody else: its items, its key table.
  [[nodiscard]] std::uint64_t own_bytes(const Object& object);
  [[nodiscard]] std::uint64_t word(std::uint64_t address) { return reader_.get<std::uint64_t>(address).value_or(0); }
  [[nodiscard]] bool is_used_up() const { return reader_.is_used_up(); }

 private:
  [[nodiscard]] std::uint64_t text_bytes(const Object& text);
  [[nodiscard]] std::uint64_t deque_element(const Object& deque, std::uint64_t place);
  [[nodiscard]] std::uint64_t table_bytes(const Object& object);

  CachedReader& reader_;
  TypeTable& types_;
};

}  // namespace oomw::cpython
