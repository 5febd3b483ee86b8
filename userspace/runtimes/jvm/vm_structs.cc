// SPDX-License-Identifier: Apache-2.0
#include "runtimes/jvm/vm_structs.h"

#include <algorithm>
#include <array>

namespace oomw::jvm {
namespace {

constexpr std::size_t kMaxTableName = 160;
constexpr std::size_t kLeastFields = 200;

bool is_name(std::string_view text) {
  return !text.empty() && text.size() < kMaxTableName &&
         std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

std::string key_of(std::string_view type, std::string_view field) {
  return std::string(type).append(1, '.').append(field);
}

tl::unexpected<Error> unknown(const std::string& why) { return fail(ErrorCode::kUnsupported, "unknown JVM: " + why); }

}  // namespace

// One of the two tables: records with a pointer to a name in each, the last one has none.
class VmStructs::TableReader {
 public:
  TableReader(CachedReader& memory, const VmSymbols& symbols, std::string prefix)
      : memory_(memory), symbols_(symbols), prefix_(std::move(prefix)) {}

  Result<> open(std::string_view table) {
    ASSIGN_OR_RETURN(at_, value(table));
    ASSIGN_OR_RETURN(stride_, value(prefix_ + "ArrayStride"));
    if (stride_ < 16 || stride_ > 256) return unknown("a record of " + std::to_string(stride_) + " B");
    return {};
  }
  Result<std::uint64_t> column(std::string_view name) {
    ASSIGN_OR_RETURN(const std::uint64_t offset, value(prefix_ + std::string(name) + "Offset"));
    if (offset > stride_ - 4) return unknown("a column outside of its record");
    return offset;
  }
  template <typename T>
  Result<T> get(std::uint64_t column) {
    return memory_.get<T>(at_ + column);
  }
  // nullopt: null.
  Result<std::optional<std::string>> name(std::uint64_t column) {
    ASSIGN_OR_RETURN(const auto address, get<std::uint64_t>(column));
    if (address == 0) return std::optional<std::string>();
    ASSIGN_OR_RETURN(std::string text, memory_.c_string(address, kMaxTableName));
    if (!is_name(text)) return unknown("a name that is none");
    return std::optional<std::string>(std::move(text));
  }
  void next() { at_ += stride_; }

 private:
  Result<std::uint64_t> value(std::string_view symbol) {
    const auto found = symbols_.find(symbol);
    if (found == symbols_.end()) return unknown("no " + std::string(symbol));
    return memory_.get<std::uint64_t>(found->second);
  }

  CachedReader& memory_;
  const VmSymbols& symbols_;
  const std::string prefix_;
  std::uint64_t at_ = 0, stride_ = 0;
};

Result<> VmStructs::read_fields(CachedReader& memory, const VmSymbols& symbols) {
  TableReader table(memory, symbols, "gHotSpotVMStructEntry");
  RETURN_IF_ERROR(table.open("gHotSpotVMStructs"));
  ASSIGN_OR_RETURN(const std::uint64_t type_name, table.column("TypeName"));
  ASSIGN_OR_RETURN(const std::uint64_t field_name, table.column("FieldName"));
  ASSIGN_OR_RETURN(const std::uint64_t is_static, table.column("IsStatic"));
  ASSIGN_OR_RETURN(const std::uint64_t offset, table.column("Offset"));
  ASSIGN_OR_RETURN(const std::uint64_t address, table.column("Address"));
  for (std::uint64_t i = 0; i < kMaxFields; ++i, table.next()) {
    ASSIGN_OR_RETURN(const auto type, table.name(type_name));
    if (!type) return {};
    ASSIGN_OR_RETURN(const auto field, table.name(field_name));
    if (!field) return unknown("a field without a name");
    Field entry;
    ASSIGN_OR_RETURN(const auto is_static_field, table.get<std::int32_t>(is_static));
    entry.is_static = is_static_field != 0;
    ASSIGN_OR_RETURN(entry.offset, table.get<std::uint64_t>(offset));
    ASSIGN_OR_RETURN(entry.address, table.get<std::uint64_t>(address));
    fields_.emplace(key_of(*type, *field), entry);
  }
  return unknown("a table without an end");
}

Result<> VmStructs::read_types(CachedReader& memory, const VmSymbols& symbols) {
  TableReader table(memory, symbols, "gHotSpotVMTypeEntry");
  RETURN_IF_ERROR(table.open("gHotSpotVMTypes"));
  ASSIGN_OR_RETURN(const std::uint64_t name, table.column("TypeName"));
  ASSIGN_OR_RETURN(const std::uint64_t size, table.column("Size"));
  for (std::uint64_t i = 0; i < kMaxTypes; ++i, table.next()) {
    ASSIGN_OR_RETURN(auto type, table.name(name));
    if (!type) return {};
    ASSIGN_OR_RETURN(sizes_[*type], table.get<std::uint64_t>(size));
  }
  return unknown("a table without an end");
}

Result<VmStructs> VmStructs::read(CachedReader& memory, const VmSymbols& symbols) {
  VmStructs structs;
  RETURN_IF_ERROR(structs.read_fields(memory, symbols));
  RETURN_IF_ERROR(structs.read_types(memory, symbols));
  RETURN_IF_ERROR(structs.check());
  return structs;
}

// What HotSpot has had since version 8.
Result<> VmStructs::check() const {
  if (fields_.size() < kLeastFields) return unknown(std::to_string(fields_.size()) + " fields");
  static constexpr std::array kOffsets = {std::pair("Klass", "_layout_helper"), std::pair("Klass", "_name"),
                                          std::pair("Symbol", "_length"), std::pair("CollectedHeap", "_reserved")};
  for (const auto& [type, field] : kOffsets) {
    if (!offset(type, field)) return unknown("no " + key_of(type, field));
  }
  if (!address("Universe", "_collectedHeap")) return unknown("no heap");
  if (!size_of("Klass")) return unknown("no size of a class");
  return {};
}

const VmStructs::Field* VmStructs::find(std::string_view type, std::string_view field) const {
  const auto found = fields_.find(key_of(type, field));
  return found == fields_.end() ? nullptr : &found->second;
}

std::optional<std::uint64_t> VmStructs::offset(std::string_view type, std::string_view field) const {
  const Field* found = find(type, field);
  if (found == nullptr || found->is_static || found->offset > kMaxOffset) return std::nullopt;
  return found->offset;
}

std::optional<std::uint64_t> VmStructs::address(std::string_view type, std::string_view field) const {
  const Field* found = find(type, field);
  if (found == nullptr || !found->is_static || found->address == 0) return std::nullopt;
  return found->address;
}

std::optional<std::uint64_t> VmStructs::size_of(std::string_view type) const {
  const auto found = sizes_.find(type);
  if (found == sizes_.end()) return std::nullopt;
  return found->second;
}

}  // namespace oomw::jvm
