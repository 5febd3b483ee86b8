// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/containers.h"

#include <bit>

namespace oomw::v8 {
namespace {

// Every object begins with its shape, its properties and its elements; then a list's length, a Map's table.
constexpr std::uint64_t kPropertiesAt = 8, kElementsAt = 16, kOwnAt = 24;
constexpr std::uint64_t kLengthAt = 8, kItemsAt = 16;  // of an array
constexpr std::uint64_t kMostNumber = 1u << 27;
constexpr std::uint64_t kLeastPrefix = 3, kMostPrefix = 8;  // words before the entries of a table of properties

// A number of V8's small ones: in the upper half of the word.
std::optional<std::uint64_t> number(std::optional<std::uint64_t> word) {
  if (!word || (*word & 0xffffffff) != 0 || *word >> 32 > kMostNumber) return std::nullopt;
  return *word >> 32;
}

struct Table {
  ConstructorNames& memory;
  std::uint64_t tagged = 0, length = 0;
  [[nodiscard]] std::optional<std::uint64_t> number_at(std::uint64_t index) const {
    return number(memory.word(tagged, kItemsAt + 8 * index));
  }
  [[nodiscard]] std::uint64_t address_of(std::uint64_t index) const { return tagged - 1 + kItemsAt + 8 * index; }
  [[nodiscard]] std::uint64_t bytes() const { return kItemsAt + 8 * length; }
};

std::optional<Table> table_at(ConstructorNames& memory, const Constants& constants,
                              std::optional<std::uint64_t> tagged) {
  const Shape* shape = tagged ? memory.shape_of(*tagged) : nullptr;
  if (shape == nullptr || nature_of(constants, *shape) != Nature::kArray) return std::nullopt;
  const auto length = number(memory.word(*tagged, kLengthAt));
  if (!length) return std::nullopt;
  return Table{memory, *tagged, *length};
}

std::optional<Container> list_at(ConstructorNames& memory, const Constants& constants, std::uint64_t tagged) {
  const auto elements = memory.word(tagged, kElementsAt);
  const auto table = table_at(memory, constants, elements);
  const auto length = number(memory.word(tagged, kOwnAt));
  if (!table || !length || *length > table->length) return std::nullopt;
  Container list{"array", *length, *length, table->bytes(), table->address_of(0)};
  list.is_of_numbers = memory.shape_of(*elements)->type != constants.type_array;
  return list;
}

// How many there are, how many were deleted, chains of the hash table; then entries in the order in which they were
// added, each with the next of its chain.
std::optional<Container> ordered_at(ConstructorNames& memory, const Constants& constants, std::uint64_t tagged,
                                    bool is_map) {
  const auto table = table_at(memory, constants, memory.word(tagged, kOwnAt));
  if (!table) return std::nullopt;
  const auto count = table->number_at(0), deleted = table->number_at(1), chains = table->number_at(2);
  const std::uint64_t words = is_map ? 3 : 2;
  if (!count || !deleted || !chains || !std::has_single_bit(*chains)) return std::nullopt;
  const std::uint64_t room = 2 * *chains;
  if (table->length != 3 + *chains + room * words || *count + *deleted > room) return std::nullopt;
  Container found{is_map ? "Map" : "Set", *count, *count + *deleted, table->bytes(), table->address_of(3 + *chains)};
  found.entry_bytes = 8 * words;
  found.has_keys = is_map;
  return found;
}

// Some numbers of the table's own, then a key, a value and what is known of the property, for each place.
std::optional<Container> properties_at(ConstructorNames& memory, const Constants& constants, std::uint64_t tagged) {
  const auto table = table_at(memory, constants, memory.word(tagged, kPropertiesAt));
  if (!table) return std::nullopt;
  const auto count = table->number_at(0), deleted = table->number_at(1), room = table->number_at(2);
  if (!count || !deleted || !room || !std::has_single_bit(*room) || *count + *deleted > *room) return std::nullopt;
  if (table->length < 3 * *room + kLeastPrefix || table->length > 3 * *room + kMostPrefix) return std::nullopt;
  Container found{"object", *count, *room, table->bytes(), table->address_of(table->length - 3 * *room)};
  found.entry_bytes = 24;
  found.has_keys = true;
  return found;
}

}  // namespace

std::optional<Container> container_at(ConstructorNames& memory, const Constants& constants, std::uint64_t tagged) {
  const Shape* shape = memory.shape_of(tagged);
  if (shape == nullptr || !constants.names.is_known) return std::nullopt;
  const Constants::Names& names = constants.names;
  std::optional<Container> found;
  if (shape->type == names.type_list) found = list_at(memory, constants, tagged);
  if (shape->type == names.type_js_map) found = ordered_at(memory, constants, tagged, true);
  if (shape->type == names.type_js_set) found = ordered_at(memory, constants, tagged, false);
  if (shape->type == names.type_object) found = properties_at(memory, constants, tagged);
  return found && found->count > 0 ? found : std::nullopt;
}

std::vector<std::uint64_t> entry_of(ConstructorNames& memory, const Container& container, std::uint64_t place) {
  const std::uint64_t at = container.entries + place * container.entry_bytes + 1;
  std::vector<std::uint64_t> words;
  if (container.has_keys) {
    if (const auto value = memory.word(at, 8)) words.push_back(*value);
  }
  if (const auto first = memory.word(at, 0)) words.push_back(*first);
  return words;
}

}  // namespace oomw::v8
