// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/data_references.h"

#include <array>
#include <cstring>
#include <optional>

namespace oomw::go {

namespace {

template <typename T>
T load(std::span<const std::byte> bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(value));
  return value;
}

std::vector<DataReference> amd64_loads(std::span<const std::byte> code, std::uint64_t address) {
  constexpr std::byte kMov{0x8b};          // MOV reg, r/m
  constexpr std::byte kRipRelative{0x05};  // mod 00, r/m 101
  std::vector<DataReference> loads;
  for (std::size_t i = 0; i + 6 <= code.size(); ++i) {
    if (code[i] != kMov || (code[i + 1] & std::byte{0xc7}) != kRipRelative) continue;
    // REX.W is 0100 1R0B: 48 or 4c here, since no base register is extended.
    const bool is_wide = i > 0 && (code[i - 1] & std::byte{0xfb}) == std::byte{0x48};
    const auto displacement = static_cast<std::uint64_t>(std::int64_t{load<std::int32_t>(code, i + 2)});
    loads.push_back({address + i + 6 + displacement, static_cast<std::uint8_t>(is_wide ? 8 : 4)});
  }
  return loads;
}

std::int64_t sign_extend(std::uint64_t value, int bits) {
  return static_cast<std::int64_t>(value << (64 - bits)) >> (64 - bits);
}

// What each register is known to hold: the page or address that ADRP and ADD put there.
class Arm64Registers {
 public:
  // Applies one instruction; returns a load of a known address.
  std::optional<DataReference> step(std::uint32_t word, std::uint64_t pc) {
    const unsigned rd = word & 31, rn = (word >> 5) & 31;
    if ((word & 0x9f000000) == 0x90000000) {  // ADRP
      const std::uint64_t pages = ((word >> 5) & 0x7ffff) << 2 | ((word >> 29) & 3);
      known_[rd] = (pc & ~std::uint64_t{0xfff}) + (static_cast<std::uint64_t>(sign_extend(pages, 21)) << 12);
      return std::nullopt;
    }
    if ((word & 0xff800000) == 0x91000000) {  // ADD (immediate), 64-bit
      const std::uint64_t immediate = ((word >> 10) & 0xfff) << ((word & (1U << 22)) ? 12 : 0);
      known_[rd] = known_[rn] ? std::optional(*known_[rn] + immediate) : std::nullopt;
      return std::nullopt;
    }
    const auto reference = load_of(word, rn);
    if (reference) known_[rd].reset();
    return reference;
  }

 private:
  [[nodiscard]] std::optional<DataReference> load_of(std::uint32_t word, unsigned rn) const {
    if (!known_[rn]) return std::nullopt;
    const bool is_wide = (word & (1U << 30)) != 0;
    const auto bytes = static_cast<std::uint8_t>(is_wide ? 8 : 4);
    if ((word & 0xbfc00000) == 0xb9400000) {  // LDR (unsigned offset, scaled by the width)
      return DataReference{*known_[rn] + std::uint64_t{(word >> 10) & 0xfff} * bytes, bytes};
    }
    if ((word & 0xbffffc00) == 0x88dffc00) return DataReference{*known_[rn], bytes};  // LDAR
    return std::nullopt;
  }

  std::array<std::optional<std::uint64_t>, 32> known_;
};

std::vector<DataReference> arm64_loads(std::span<const std::byte> code, std::uint64_t address) {
  std::vector<DataReference> loads;
  Arm64Registers registers;
  for (std::size_t i = 0; i + 4 <= code.size(); i += 4) {
    if (const auto reference = registers.step(load<std::uint32_t>(code, i), address + i)) loads.push_back(*reference);
  }
  return loads;
}

}  // namespace

std::vector<DataReference> find_loads(elf::Machine machine, std::span<const std::byte> code,
                                      std::uint64_t code_address) {
  return machine == elf::Machine::kAmd64 ? amd64_loads(code, code_address) : arm64_loads(code, code_address);
}

}  // namespace oomw::go
