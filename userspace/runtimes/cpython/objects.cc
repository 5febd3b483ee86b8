// SPDX-License-Identifier: Apache-2.0
#include "runtimes/cpython/objects.h"

#include <algorithm>
#include <span>

#include "runtimes/native/words.h"

namespace oomw::cpython {
namespace {

using native::number_at;

constexpr std::uint64_t kMaxEntries = std::uint64_t{1} << 32;
constexpr std::size_t kMaxIdentifier = 100, kMaxText = 1024;
constexpr std::uint64_t kMaxVariables = 24;  // of a frame
constexpr std::uint64_t kSmallBlock = 512;
// A deque's blocks: the one to the left, 64 items, the one to the right.
constexpr std::uint64_t kDequeItems = 64, kDequeBlock = 528, kDequeRight = 520, kDequeEnd = 32 * kDequeItems;

// As the allocators round: obmalloc to 16, malloc with a head of 8.
std::uint64_t rounded(std::uint64_t bytes) {
  return bytes <= kSmallBlock ? (bytes + 15) / 16 * 16 : (bytes + 8 + 15) / 16 * 16;
}

std::uint64_t usable(std::uint64_t size) { return size * 2 / 3; }

// 3.11 and later: logarithms of the size and of the index's bytes, the kind of entries.
std::optional<KeyTable> parse_new(std::span<const std::byte> head, std::uint64_t address) {
  const auto log2_size = number_at<std::uint8_t>(head, 8), log2_index = number_at<std::uint8_t>(head, 9);
  const auto kind = number_at<std::uint8_t>(head, 10);
  if (log2_size > 32 || kind > 2) return std::nullopt;
  const int wider = log2_size >= 32 ? 3 : log2_size >= 16 ? 2 : log2_size >= 8 ? 1 : 0;
  const std::uint64_t room = number_at(head, 16), used = number_at(head, 24),
                      all = usable(std::uint64_t{1} << log2_size);
  if (log2_size < 3 || log2_index != log2_size + wider || used > all || room > all - used) return std::nullopt;
  if (kind != 2 && room + used != all) return std::nullopt;
  KeyTable table;
  table.entries = address + 32 + (std::uint64_t{1} << log2_index);
  table.count = used;
  table.entry_bytes = kind == 0 ? 24 : 16;
  table.key_offset = kind == 0 ? 8 : 0;
  table.bytes = 32 + (std::uint64_t{1} << log2_index) + all * table.entry_bytes;
  table.is_shared = kind == 2;
  return table;
}

// Before 3.11: the size, a function to look up with.
std::optional<KeyTable> parse_old(std::span<const std::byte> head, std::uint64_t address) {
  const std::uint64_t size = number_at(head, 8), room = number_at(head, 24), used = number_at(head, 32);
  if (size < 8 || size > kMaxEntries || (size & (size - 1)) != 0) return std::nullopt;
  const std::uint64_t all = usable(size);
  if (used > all || room > all - used) return std::nullopt;
  const std::uint64_t index_bytes = size <= 0xff         ? size
                                    : size <= 0xffff     ? size * 2
                                    : size <= 0xffffffff ? size * 4
                                                         : size * 8;
  KeyTable table;
  table.entries = address + 40 + index_bytes;
  table.count = used;
  table.entry_bytes = 24;
  table.key_offset = 8;
  table.bytes = 40 + index_bytes + all * 24;
  return table;
}

}  // namespace

std::optional<Object> ObjectReader::object(std::uint64_t address) {
  if (address % 8 != 0 || address < 4096) return std::nullopt;
  std::array<std::uint64_t, 6> words{};
  const Result<std::size_t> n = reader_.read_some(address, std::as_writable_bytes(std::span(words)));
  if (!n.has_value() || *n < 16) return std::nullopt;
  Object object{address, nullptr, static_cast<std::uint32_t>(words[0]), {}};
  if (object.references == 0) return std::nullopt;
  object.type = types_.at(words[1]);
  if (object.type == nullptr) return std::nullopt;
  std::copy(words.begin() + 2, words.end(), object.words.begin());
  return object;
}

std::string ObjectReader::identifier(std::uint64_t address, bool with_dots) {
  const std::optional<Object> text = object(address);
  if (!text || text->type->layout != Layout::kStr) return "";
  const std::uint64_t length = text->word_at(16);
  if (length == 0 || length > kMaxIdentifier) return "";
  for (const std::uint64_t offset : {40, 48}) {  // 3.12 and later, before
    std::string bytes(length + 1, '\0');
    if (!reader_.read(address + offset, std::as_writable_bytes(std::span(bytes))).has_value()) continue;
    if (bytes.back() != '\0') continue;
    bytes.pop_back();
    if (is_identifier(bytes, with_dots)) return bytes;
  }
  return "";
}

std::string ObjectReader::ascii(std::uint64_t address) {
  const std::optional<Object> text = object(address);
  if (!text || text->type->layout != Layout::kStr) return "";
  const std::uint64_t length = text->word_at(16);
  if (length == 0 || length > kMaxText) return "";
  for (const std::uint64_t offset : {40, 48}) {  // 3.12 and later, before
    std::string bytes(length + 1, '\0');
    if (!reader_.read(address + offset, std::as_writable_bytes(std::span(bytes))).has_value()) continue;
    if (bytes.back() != '\0') continue;
    bytes.pop_back();
    const bool is_text = std::ranges::all_of(bytes, [](char c) { return c >= ' ' && c <= '~'; });
    if (is_text) return bytes;
  }
  return "";
}

std::optional<KeyTable> ObjectReader::key_table(std::uint64_t address) {
  if (address % 8 != 0 || address < 4096) return std::nullopt;
  std::array<std::byte, 40> head;
  if (!reader_.read(address, head).has_value()) return std::nullopt;
  if (auto table = parse_new(head, address)) return table;
  return parse_old(head, address);
}

std::optional<DictEntry> ObjectReader::entry(const KeyTable& table, std::uint64_t index) {
  if (index >= table.count) return std::nullopt;
  std::array<std::uint64_t, 2> words{};
  const std::uint64_t at = table.entries + index * table.entry_bytes + table.key_offset;
  if (!reader_.read(at, std::as_writable_bytes(std::span(words))).has_value()) return std::nullopt;
  return DictEntry{words[0], words[1]};
}

std::optional<DictEntry> ObjectReader::entry(const Object& dict, const KeyTable& table, std::uint64_t index) {
  std::optional<DictEntry> found = entry(table, index);
  const std::uint64_t values = dict.word_at(40);
  if (found && values != 0) found->value = word(values + index * 8);
  if (!found || found->key == 0 || found->value == 0) return std::nullopt;
  return found;
}

bool ObjectReader::is_container(const TypeInfo& type) {
  return type.layout == Layout::kList || type.layout == Layout::kDict || type.layout == Layout::kSet ||
         type.layout == Layout::kDeque;
}

std::uint64_t ObjectReader::length(const Object& container) {
  const std::uint64_t length = container.word_at(container.type->layout == Layout::kSet ? 24 : 16);
  return length < kMaxEntries ? length : 0;
}

std::uint64_t ObjectReader::places(const Object& container) {
  const std::uint64_t size = container.word_at(16);
  switch (container.type->layout) {
    case Layout::kList:
      return size <= container.word_at(32) && size < kMaxEntries ? size : 0;
    case Layout::kTuple:
      return size < kMaxEntries && types_.tuple_items_at() != 0 ? size : 0;
    case Layout::kDict: {
      const std::optional<KeyTable> table = keys_of(container);
      return table && size <= table->count ? table->count : 0;
    }
    case Layout::kSet: {
      const std::uint64_t mask = container.word_at(32);
      const bool is_sound = mask < kMaxEntries && (mask & (mask + 1)) == 0 && container.word_at(24) <= mask;
      return is_sound ? mask + 1 : 0;
    }
    case Layout::kDeque:
      return size < kMaxEntries && container.word_at(40) < kDequeItems ? std::min(size, 2 * kDequeEnd) : 0;
    default:
      return 0;
  }
}

std::vector<std::uint64_t> ObjectReader::elements(const Object& container, std::uint64_t place) {
  switch (container.type->layout) {
    case Layout::kList:
      return {word(container.word_at(24) + place * 8)};
    case Layout::kTuple:
      return {word(container.address + types_.tuple_items_at() + place * 8)};
    case Layout::kDict: {
      const std::optional<KeyTable> table = keys_of(container);
      const std::optional<DictEntry> found = table ? entry(container, *table, place) : std::nullopt;
      if (!found) return {};
      return {found->value, found->key};
    }
    case Layout::kSet: {
      const std::uint64_t key = word(container.word_at(40) + place * 16);
      return key == 0 ? std::vector<std::uint64_t>() : std::vector{key};
    }
    case Layout::kDeque:
      return {deque_element(container, place)};
    default:
      return {};
  }
}

// Places from the middle of those that there are on are counted from the right end.
std::uint64_t ObjectReader::deque_element(const Object& deque, std::uint64_t place) {
  const std::uint64_t left_at = deque.word_at(40), right_at = word(deque.address + 48);
  if (left_at >= kDequeItems || right_at >= kDequeItems) return 0;
  const bool is_left = place < kDequeEnd;
  const std::uint64_t steps = is_left ? left_at + place : kDequeItems - 1 - right_at + (place - kDequeEnd);
  std::uint64_t block = deque.word_at(is_left ? 24 : 32);
  for (std::uint64_t i = 0; i < steps / kDequeItems && block != 0; ++i)
    block = word(block + (is_left ? kDequeRight : 0));
  const std::uint64_t at = steps % kDequeItems;
  return block == 0 ? 0 : word(block + 8 + 8 * (is_left ? at : kDequeItems - 1 - at));
}

// Slots and a __dict__ lie in the object. Since 3.11 the values of attributes may lie beside it: in front of it there
// is a reference to them, and since 3.13 they are behind it. What is no sound object is passed over.
std::vector<std::uint64_t> ObjectReader::attributes(const Object& instance) {
  std::vector<std::uint64_t> found;
  const TypeInfo& type = *instance.type;
  if (type.layout != Layout::kOther) return found;
  const auto add = [&](std::uint64_t address) {
    if (address != 0 && found.size() < kMaxAttributes) found.push_back(address);
  };
  const std::uint64_t body = std::min<std::uint64_t>(type.basic_bytes, kMaxAttributes * 8);
  for (std::uint64_t at = 16; at + 8 <= body; at += 8) {
    if (type.keeps_at(static_cast<std::int64_t>(at))) add(word(instance.address + at));
  }
  // Since 3.11 the variables of a generator's frame lie behind all else; what is no object ends them.
  for (std::uint64_t at = type.basic_bytes; type.has_frame && at < type.basic_bytes + kMaxVariables * 8; at += 8) {
    const std::uint64_t value = word(instance.address + at) & ~std::uint64_t{3};
    if (value != 0 && !object(value)) break;
    add(value);
  }
  if (!type.has_flag(4)) return found;
  constexpr unsigned kValuesInside = 2;
  if (type.has_flag(kValuesInside)) {
    const std::uint64_t values = instance.address + (type.basic_bytes + 7) / 8 * 8;
    const std::uint64_t capacity = std::min<std::uint64_t>(word(values) & 0xff, 30);
    for (std::uint64_t i = 0; i < capacity; ++i) add(word(values + 8 + i * 8));
  }
  for (const std::int64_t at : {-24, -32}) {
    if (!type.keeps_at(at)) continue;
    const std::uint64_t before = word(instance.address + static_cast<std::uint64_t>(at));
    const std::uint64_t reference = (before + 7) / 8 * 8;  // its lowest bit is a mark in 3.12
    if (reference < 4096) continue;
    if (object(reference)) {
      add(reference);
      continue;
    }
    for (std::uint64_t i = 0; i < 30; ++i) {
      const std::uint64_t value = word(reference + i * 8);
      if (value != 0 && !object(value)) break;
      add(value);
    }
  }
  return found;
}

std::uint64_t ObjectReader::text_bytes(const Object& text) {
  const std::uint64_t length = std::min(text.word_at(16), kMaxEntries);
  const auto state = static_cast<std::uint32_t>(text.word_at(32));
  const std::uint64_t kind = state >> 2 & 7;
  const bool is_ascii = (state >> 6 & 1) != 0;
  return (is_ascii ? 41 : 57) + length * std::clamp<std::uint64_t>(kind, 1, 4);
}

// Memory beside the object that belongs to it.
std::uint64_t ObjectReader::table_bytes(const Object& object) {
  switch (object.type->layout) {
    case Layout::kList:
      return rounded(std::min(object.word_at(32), kMaxEntries) * 8);
    case Layout::kDeque:
      return (std::min(object.word_at(16), kMaxEntries) / kDequeItems + 1) * rounded(kDequeBlock);
    case Layout::kByteArray:
      return rounded(std::min(object.word_at(24), kMaxEntries));
    case Layout::kDict: {
      const std::optional<KeyTable> table = keys_of(object);
      if (!table) return 0;
      return object.word_at(40) != 0 ? rounded(table->count * 8) : rounded(table->bytes);
    }
    case Layout::kSet: {
      const std::uint64_t slots = places(object);
      return slots > 8 ? rounded(slots * 16) : 0;
    }
    default:
      return 0;
  }
}

std::uint64_t ObjectReader::own_bytes(const Object& object) {
  const TypeInfo& type = *object.type;
  std::uint64_t bytes = type.basic_bytes;
  if (type.layout == Layout::kStr) bytes = text_bytes(object);
  if (type.layout == Layout::kInt) bytes = 28;
  if (type.layout == Layout::kTuple || type.layout == Layout::kBytes) {
    bytes += std::min(object.word_at(16), kMaxEntries) * type.item_bytes;
  }
  if (type.has_flag(2)) bytes += 8 + (word(object.address + (bytes + 7) / 8 * 8) & 0xff) * 8;
  return rounded(bytes + type.head_bytes()) + table_bytes(object);
}

}  // namespace oomw::cpython
