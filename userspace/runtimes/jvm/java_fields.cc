// SPDX-License-Identifier: Apache-2.0
#include "runtimes/jvm/java_fields.h"

#include <algorithm>
#include <array>
#include <span>

#include "runtimes/jvm/compressed_numbers.h"

namespace oomw::jvm {
namespace {

constexpr std::uint32_t kStatic = 0x8;
constexpr std::uint64_t kMaxOffset = 1u << 20;

// The names in a class's pool of constants.
class Names {
 public:
  Names(const Jvm& jvm, std::uint64_t pool) : jvm_(jvm), pool_(pool) {}
  [[nodiscard]] Result<std::string> at(std::uint32_t number) const { return jvm_.constant_text(pool_, number); }

 private:
  const Jvm& jvm_;
  std::uint64_t pool_;
};

Result<> add_field(std::vector<JavaField>& fields, const Names& names, std::uint32_t name, std::uint32_t signature,
                   std::uint64_t offset, bool is_static) {
  if (fields.size() >= kMaxJavaFields || offset >= kMaxOffset) return fail(ErrorCode::kInvalid, "fields of nonsense");
  constexpr std::size_t kMaxName = 128;
  ASSIGN_OR_RETURN(std::string text, names.at(name));
  if (text.size() > kMaxName) text.resize(kMaxName);
  ASSIGN_OR_RETURN(const std::string type, names.at(signature));
  fields.push_back({std::move(text), offset, is_static, type.front()});
  return {};
}

// Six numbers each: access, name, signature, initial value, and the offset in two, above two bits of its kind.
Result<std::vector<JavaField>> of_table(const Jvm& jvm, std::uint64_t klass, const Names& names) {
  using Record = std::array<std::uint16_t, 6>;
  ASSIGN_OR_RETURN(const std::uint64_t table, jvm.word(klass, "InstanceKlass", "_fields"));
  ASSIGN_OR_RETURN(const std::uint64_t count_at, jvm.offset("InstanceKlass", "_java_fields_count"));
  ASSIGN_OR_RETURN(const std::uint64_t data_at, jvm.offset("Array<u2>", "_data"));
  ASSIGN_OR_RETURN(const auto count, jvm.memory().get<std::uint16_t>(klass + count_at));
  std::vector<JavaField> fields;
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(count, kMaxJavaFields); ++i) {
    ASSIGN_OR_RETURN(const auto record, jvm.memory().get<Record>(table + data_at + i * sizeof(Record)));
    const std::uint64_t offset = ((std::uint32_t{record[5]} << 16) | record[4]) >> 2;
    RETURN_IF_ERROR(add_field(fields, names, record[1], record[2], offset, (record[0] & kStatic) != 0));
  }
  return fields;
}

Result<std::vector<JavaField>> of_stream(const Jvm& jvm, std::uint64_t klass, const Names& names) {
  constexpr std::uint32_t kHasValue = 1, kHasGeneric = 4, kHasGroup = 16;
  constexpr std::int32_t kMostBytes = 16 << 10;
  ASSIGN_OR_RETURN(const std::uint64_t array, jvm.word(klass, "InstanceKlass", "_fieldinfo_stream"));
  ASSIGN_OR_RETURN(const std::uint64_t data_at, jvm.offset("Array<u1>", "_data"));
  ASSIGN_OR_RETURN(const auto length, jvm.memory().get<std::int32_t>(array));
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(std::clamp(length, 0, kMostBytes)));
  RETURN_IF_ERROR(jvm.memory().read(array + data_at, std::as_writable_bytes(std::span(bytes))));
  CompressedNumbers stream(bytes, false);
  ASSIGN_OR_RETURN(const std::uint32_t count, stream.next());
  RETURN_IF_ERROR(stream.next());  // how many the JVM added
  std::vector<JavaField> fields;
  for (std::uint32_t i = 0; i < std::min<std::uint32_t>(count, kMaxJavaFields); ++i) {
    std::array<std::uint32_t, 5> record{};  // name, signature, offset, access, flags
    for (std::uint32_t& number : record) {
      ASSIGN_OR_RETURN(number, stream.next());
    }
    for (const std::uint32_t flag : {kHasValue, kHasGeneric, kHasGroup}) {
      if ((record[4] & flag) != 0) RETURN_IF_ERROR(stream.next());
    }
    RETURN_IF_ERROR(add_field(fields, names, record[0], record[1], record[2], (record[3] & kStatic) != 0));
  }
  return fields;
}

}  // namespace

Result<std::vector<JavaField>> fields_of(const Jvm& jvm, std::uint64_t klass) {
  ASSIGN_OR_RETURN(const std::uint64_t pool, jvm.word(klass, "InstanceKlass", "_constants"));
  const Names names(jvm, pool);
  if (jvm.structs().offset("InstanceKlass", "_fieldinfo_stream")) return of_stream(jvm, klass, names);
  return of_table(jvm, klass, names);
}

}  // namespace oomw::jvm
