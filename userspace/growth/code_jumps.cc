// SPDX-License-Identifier: Apache-2.0
#include "growth/code_jumps.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace oomw::growth {
namespace {

constexpr std::size_t kOffsetBytes = 4;

// E9, or 0F with one of 80 to 8F.
bool is_jump(std::uint8_t before, std::uint8_t last) {
  return last == 0xe9 || (before == 0x0f && (last & 0xf0) == 0x80);
}

}  // namespace

std::vector<std::uint64_t> jumps_out_of(const elf::File& file, elf::AddressRange code) {
  std::vector<std::uint64_t> targets;
  std::vector<std::uint8_t> bytes(std::min(code.size(), kMaxJumpingCode));
  if (!file.read_at(code.begin, std::as_writable_bytes(std::span(bytes)))) return targets;
  for (std::size_t at = 1; at + kOffsetBytes < bytes.size(); ++at) {
    if (!is_jump(bytes[at - 1], bytes[at])) continue;
    std::int32_t offset = 0;
    std::memcpy(&offset, &bytes[at + 1], sizeof offset);
    const std::uint64_t target = code.begin + at + 1 + kOffsetBytes + static_cast<std::uint64_t>(std::int64_t{offset});
    if (!code.contains(target)) targets.push_back(target);
  }
  std::ranges::sort(targets);
  targets.erase(std::unique(targets.begin(), targets.end()), targets.end());
  return targets;
}

}  // namespace oomw::growth
