// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "memory/cached_reader.h"
#include "runtimes/jvm/libjvm.h"

namespace oomw::jvm {

// Where a JVM has its fields, from its own tables (788 fields in OpenJDK 17): nothing depends on its version.
//
// The tables lie in memory that the workload can write, so they count only as a whole: every name is an identifier, the
// tables end within bounds, and fields that every HotSpot has are where a field can be. Else: kUnsupported.
class VmStructs {
 public:
  static constexpr std::uint64_t kMaxFields = 4'000, kMaxTypes = 3'000;

  [[nodiscard]] static Result<VmStructs> read(CachedReader& memory, const VmSymbols& symbols);

  // A field within an object; below kMaxOffset.
  [[nodiscard]] std::optional<std::uint64_t> offset(std::string_view type, std::string_view field) const;
  // A static field.
  [[nodiscard]] std::optional<std::uint64_t> address(std::string_view type, std::string_view field) const;
  [[nodiscard]] std::optional<std::uint64_t> size_of(std::string_view type) const;
  [[nodiscard]] std::size_t fields() const { return fields_.size(); }

 private:
  static constexpr std::uint64_t kMaxOffset = 64u << 10;

  struct Field {
    bool is_static = false;
    std::uint64_t offset = 0, address = 0;
  };
  class TableReader;

  [[nodiscard]] const Field* find(std::string_view type, std::string_view field) const;
  [[nodiscard]] Result<> read_fields(CachedReader& memory, const VmSymbols& symbols);
  [[nodiscard]] Result<> read_types(CachedReader& memory, const VmSymbols& symbols);
  [[nodiscard]] Result<> check() const;

  std::map<std::string, Field, std::less<>> fields_;  // "Type.field"
  std::map<std::string, std::uint64_t, std::less<>> sizes_;
};

}  // namespace oomw::jvm
