// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/buildinfo.h"

#include <array>
#include <cstring>

#include "base/text.h"

namespace oomw::go {

namespace {
constexpr char kMagic[] = "\xff Go buildinf:";
constexpr std::size_t kMagicBytes = sizeof(kMagic) - 1;
constexpr std::size_t kFlagsAt = 15, kTextAt = 32;
constexpr std::uint8_t kInlineText = 2;
constexpr std::size_t kMaxVersion = 64;
}  // namespace

Result<std::string> read_go_version(const ElfFile& elf) {
  const Section* section = elf.find_section(".go.buildinfo");
  if (!section) return fail(ErrorCode::kNotFound, "no .go.buildinfo section");
  std::array<std::byte, kTextAt + 1 + kMaxVersion> bytes{};
  ASSIGN_OR_RETURN(const std::size_t n, elf.reader().read_some(section->offset, bytes));
  if (n < kTextAt + 1 || std::memcmp(bytes.data(), kMagic, kMagicBytes) != 0) {
    return fail(ErrorCode::kInvalid, ".go.buildinfo without its magic");
  }
  if ((static_cast<std::uint8_t>(bytes[kFlagsAt]) & kInlineText) == 0) {
    return fail(ErrorCode::kUnsupported, "build information of Go 1.17 or older");
  }
  // A length above 127 takes two bytes; no version is that long.
  const auto length = static_cast<std::size_t>(bytes[kTextAt]);
  if (length == 0 || length > kMaxVersion || kTextAt + 1 + length > n) {
    return fail(ErrorCode::kInvalid, "length of the Go version");
  }
  return printable({reinterpret_cast<const char*>(bytes.data()) + kTextAt + 1, length}, kMaxVersion);
}

}  // namespace oomw::go
