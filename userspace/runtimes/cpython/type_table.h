// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "memory/address_space.h"
#include "memory/cached_reader.h"

namespace oomw::cpython {

// How an object continues behind its head; subclasses have the layout of their base.
enum class Layout { kOther, kList, kDict, kTuple, kStr, kBytes, kInt, kSet, kDeque, kByteArray, kModule, kType };

struct TypeInfo {
  std::uint64_t address = 0;
  std::string name;  // an identifier, with dots, or "MODULE.?": nothing else is shown
  std::uint64_t basic_bytes = 0, item_bytes = 0;
  std::uint64_t flags = 0;
  Layout layout = Layout::kOther;
  std::int64_t kept_from = 16;        // what an instance refers to between its head and this offset it does not keep
  std::uint32_t list_references = 0;  // to an instance, of a list that it is linked into by its container
  bool has_frame = false;             // a generator or a coroutine
  std::int64_t weak_list_at = 0;  // where an instance has its list of weak references; negative: before it; 0: nowhere

  // Whether what an instance refers to at this offset is kept by it.
  [[nodiscard]] bool keeps_at(std::int64_t offset) const {
    return (offset < 0 || offset >= kept_from) && (offset != weak_list_at || weak_list_at == 0);
  }
  [[nodiscard]] bool has_flag(unsigned bit) const { return (flags >> bit & 1) != 0; }
  // Written in Python, or made at run time.
  [[nodiscard]] bool is_heap_type() const { return has_flag(9); }
  // What lies before an object: the collector's links, and since 3.11 the attributes of instances.
  [[nodiscard]] std::uint64_t head_bytes() const {
    return (has_flag(14) ? 16 : 0) + (has_flag(3) || has_flag(4) ? 16 : 0);
  }
};

// An identifier of ASCII letters, digits and '_'; with_dots: several of them. Anything else may be a user's data.
[[nodiscard]] bool is_identifier(std::string_view text, bool with_dots = false);

// The interpreter's own writable data, of its program or library, the part without a file among it; not above 8 MiB
// each.
[[nodiscard]] std::vector<Mapping> data_of_python(const AddressSpace& space);

// The types of a Python process, found by what every type has: its own type leads to `type`, which is its own type.
// No symbols and no version: 3.9 to 3.14 with the usual build. Bounded; what is no type is remembered, too.
// Borrows the reader.
class TypeTable {
 public:
  static constexpr std::size_t kMaxLookups = 32u << 10, kMaxName = 100;

  // kNotFound: no Python, or not one of those.
  [[nodiscard]] static Result<TypeTable> find(const AddressSpace& space, CachedReader& reader);

  // The same process read once more: of what was read before only the names that were given are remembered.
  [[nodiscard]] TypeTable read_again(CachedReader& reader) const {
    TypeTable again{*space_, reader, type_type_, tuple_items_at_};
    again.given_names_ = given_names_;
    return again;
  }
  // Types known by now that are called "MODULE.?": the addresses, and of each that module.
  [[nodiscard]] std::unordered_map<std::uint64_t, std::string> unnamed() const;
  // From now on, for one of these.
  void give_name(std::uint64_t address, const std::string& name);
  // Where a tuple has its first item, in bytes; 0: not known.
  [[nodiscard]] std::uint64_t tuple_items_at() const { return tuple_items_at_; }

  TypeTable(TypeTable&&) = default;
  TypeTable& operator=(TypeTable&&) = default;

  // Address of the type of types.
  [[nodiscard]] std::uint64_t type_type() const { return type_type_; }

  // The type at an address; null if there is none. Pointers stay valid.
  [[nodiscard]] const TypeInfo* at(std::uint64_t address) {
    Recent& recent = recent_[address / 16 % recent_.size()];
    if (recent.address != address) recent = {address, look_up(address)};
    return recent.type;
  }

 private:
  // Every object asks for its type, and most are of a few types.
  struct Recent {
    std::uint64_t address = 0;
    const TypeInfo* type = nullptr;
  };

  TypeTable(const AddressSpace& space, CachedReader& reader, std::uint64_t type_type, std::uint64_t tuple_items_at)
      : space_(&space), reader_(&reader), type_type_(type_type), tuple_items_at_(tuple_items_at) {}
  [[nodiscard]] const TypeInfo* look_up(std::uint64_t address);
  [[nodiscard]] std::optional<TypeInfo> read(std::uint64_t address);
  // "" if it is none that may be shown. Of most types of an extension module the name is in its file, which is not
  // read: "_decimal.?".
  [[nodiscard]] std::string name_at(std::uint64_t address);
  [[nodiscard]] bool leads_to_type(std::uint64_t metatype);
  [[nodiscard]] bool may_be_weak_reference(std::uint64_t type);

  const AddressSpace* space_;
  CachedReader* reader_;
  std::uint64_t type_type_, tuple_items_at_;
  std::unordered_map<std::uint64_t, std::optional<TypeInfo>> known_;
  std::unordered_map<std::uint64_t, std::string> given_names_;
  std::array<Recent, 1024> recent_{};  // into known_, whose nodes stay where they are
};

}  // namespace oomw::cpython
