// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "memory/cached_reader.h"
#include "runtimes/go/retention/image.h"

namespace oomw::go::retention {

enum class Kind : std::uint8_t {
  kArray = 17,
  kChan = 18,
  kFunc = 19,
  kInterface = 20,
  kMap = 21,
  kPointer = 22,
  kSlice = 23,
  kString = 24,
  kStruct = 25,
  kUnsafePointer = 26,
};

// A type of the program, from its run-time type record. Names are printable and cut.
struct Type {
  struct Field {
    const Type* type = nullptr;
    std::uint64_t offset = 0;
    std::string name;
  };
  std::uint64_t address = 0, size = 0, pointer_bytes = 0, gc_data = 0;
  std::uint32_t hash = 0;
  std::uint8_t kind_byte = 0, flags = 0;
  std::string name;  // with its package's path if it has one
  bool has_fields = false;
  std::vector<Field> fields;  // filled by TypeTable::fields

  [[nodiscard]] Kind kind() const { return static_cast<Kind>(kind_byte & 31); }
};

// What an object or pointer target is.
enum class Shape : std::uint8_t {
  kUnknown,
  kValue,  // one value of the type
  kArray,  // values of the type, one after the other
  kMap,    // the header of a map; `type` is the map type here and in the next two
  kMapDirectory,
  kMapTable,
  kChan,     // the header of a channel of the element type
  kClosure,  // a function value: `function`
  kBytes,    // holds no pointers, or a string's bytes
};
struct Described {
  Shape shape = Shape::kUnknown;
  const Type* type = nullptr;
  const Function* function = nullptr;
  friend bool operator==(const Described&, const Described&) = default;
};

// A step down: what lies behind a pointer and which field holds it (".queue.items[]").
struct Step {
  Described child;
  std::string field;
};

// Types read from the process as they are needed. Every record is verified (kind, alignment, size, name) before it is
// used; what does not verify is null. At most 32 Ki types with 8 MiB of names. Pointers stay valid.
class TypeTable {
 public:
  static constexpr std::size_t kMaxTypes = 32U << 10, kMaxNameBytes = 8U << 20;

  // Finds where the types lie by testing which words of the module data make records verify that the program's data
  // refers to. kUnsupported if none does.
  [[nodiscard]] static Result<std::unique_ptr<TypeTable>> find(Image& image, CachedReader& memory);

  [[nodiscard]] const Type* at(std::uint64_t address);
  // The dynamic type behind the first word of an interface: a type, or an itab that proves itself by the type's hash.
  [[nodiscard]] const Type* of_interface_word(std::uint64_t word);
  [[nodiscard]] const Type* element(const Type& type);    // of a pointer, slice, array or channel
  [[nodiscard]] const Type* map_block(const Type& type);  // of a map type: see is_map_block
  [[nodiscard]] const std::vector<Type::Field>& fields(const Type& type);

  // The pointer at `offset` of an object; nothing if no pointer lies there.
  [[nodiscard]] std::optional<Step> step(const Described& object, std::uint64_t offset);
  // The field alone, as far as it can be named.
  [[nodiscard]] std::string field_at(const Described& object, std::uint64_t offset);
  // Whether an object of this type may have a pointer at `offset`; true where it is not known.
  [[nodiscard]] bool may_point(const Type& type, std::uint64_t offset);

 private:
  TypeTable(elf::AddressRange range, CachedReader& memory) : range_(range), memory_(memory) {}
  [[nodiscard]] std::size_t count_reachable();
  [[nodiscard]] std::optional<std::string> name_at(std::uint64_t address);
  [[nodiscard]] std::unique_ptr<Type> parse(std::uint64_t address);
  [[nodiscard]] std::optional<Step> leaf(const Type& type, std::uint64_t offset, int depth);
  [[nodiscard]] std::optional<Step> leaf_of_struct(const Type& type, std::uint64_t offset, int depth);
  [[nodiscard]] std::optional<Step> inside_map(const Described& object, std::uint64_t offset);
  void append_field(const Type& type, std::uint64_t offset, int depth, std::string& path);
  [[nodiscard]] std::uint64_t word(std::uint64_t address) { return memory_.get<std::uint64_t>(address).value_or(0); }

  elf::AddressRange range_;
  CachedReader& memory_;
  std::size_t name_bytes_ = 0;
  std::unordered_map<std::uint64_t, std::unique_ptr<Type>> types_;
  std::unordered_map<std::uint64_t, const Type*> itabs_;
};

// Whether the type is that of a map's blocks of entries: groups from Go 1.24 on (`is_swiss_group`), buckets before.
[[nodiscard]] bool is_map_block(const Type& type);
[[nodiscard]] bool is_swiss_group(const Type& type);

}  // namespace oomw::go::retention
