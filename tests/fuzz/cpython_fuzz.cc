// SPDX-License-Identifier: Apache-2.0
// The memory of a process that is, or claims to be, a Python program: sound types, then pools whose heads are sound and
// whose blocks are anything; and its map, with what glibc's malloc would have. Reading must end, within its cost.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "fuzz/cost_oracle.h"
#include "runtimes/cpython/cpython_contents.h"
#include "runtimes/native/class_counts.h"
#include "runtimes/native/native_contents.h"

namespace {

using namespace oomw;

constexpr std::uint64_t kTypes = 0x10000, kTypesBytes = 0x4000, kPools = 0x20000, kPoolBytes = 16U << 10;
constexpr std::size_t kMaxInput = 256U << 10;

struct KnownType {
  const char* name;
  unsigned flag;  // of the layout; 0: none
  std::uint64_t basic_bytes;
};
constexpr KnownType kKnown[] = {{"type", 31, 912}, {"list", 25, 40},  {"dict", 29, 48},
                                {"tuple", 26, 24}, {"str", 28, 80},   {"module", 0, 56},
                                {"set", 0, 200},   {"bytes", 27, 33}, {"Order", 9, 16}};
constexpr std::size_t kTypeSpace = 0x400;

void put(std::vector<std::byte>& bytes, std::size_t at, std::uint64_t value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

std::vector<std::byte> types() {
  std::vector<std::byte> bytes(kTypesBytes);
  std::size_t at = 0;
  for (const KnownType& type : kKnown) {
    const std::size_t name = at + kTypeSpace - 16;
    std::memcpy(bytes.data() + name, type.name, std::strlen(type.name));
    put(bytes, at, 1);
    put(bytes, at + 8, kTypes);
    put(bytes, at + 24, kTypes + name);
    put(bytes, at + 32, type.basic_bytes);
    put(bytes, at + 168, (std::uint64_t{1} << 12) | (type.flag ? std::uint64_t{1} << type.flag : 0));
    at += kTypeSpace;
  }
  return bytes;
}

// Heads of pools over the input; the size of blocks is the input's.
void make_pools(std::span<std::byte> pools) {
  for (std::size_t at = 0; at + kPoolBytes <= pools.size(); at += kPoolBytes) {
    const std::uint32_t number = std::to_integer<std::uint32_t>(pools[at]) % 32, block = (number + 1) * 16;
    const auto blocks = static_cast<std::uint32_t>((kPoolBytes - 48) / block);
    const std::uint32_t head[12] = {
        blocks, 0, 0, 0, 0, 0, 0, 0, 0, number, 48 + blocks * block, std::uint32_t{kPoolBytes} - block};
    std::memcpy(pools.data() + at, head, sizeof head);
  }
}

class TwoParts final : public ByteSource {
 public:
  TwoParts(std::span<const std::byte> first, std::span<const std::byte> second)
      : first_(first, kTypes), second_(second, kPools) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override {
    return address < kPools ? first_.read_some(address, out) : second_.read_some(address, out);
  }

 private:
  SpanSource first_, second_;
};

AddressSpace space_of(const ByteSource& memory, const std::string& map, std::size_t pool_bytes) {
  PresentPages present({{kTypes, kTypes + kTypesBytes}, {kPools, kPools + pool_bytes}});
  return {memory, MemoryMap::parse(map), std::move(present), {}, std::uint64_t{1} << 30};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A byte may be read once as memory, and by each of a bounded number of samples.
  const oomw::fuzz::CostOracle oracle(size, {.fixed_bytes = 48U << 20, .fixed_us = 3'000'000});
  (void)native::readable_type_name({reinterpret_cast<const char*>(data), size});
  static const std::vector<std::byte> kTypeBytes = types();
  std::vector<std::byte> pools(std::clamp<std::size_t>(size, 1, kMaxInput));
  if (size > 0) std::memcpy(pools.data(), data, std::min(size, kMaxInput));
  pools.resize((pools.size() + kPoolBytes - 1) / kPoolBytes * kPoolBytes);
  const bool has_glibc = std::to_integer<int>(pools[1]) % 4 == 0;
  make_pools(pools);
  const TwoParts memory(kTypeBytes, pools);
  const std::string end = fmt::format("{:x}", kPools + pools.size());
  const std::string map = "10000-14000 rw-p 00000000 00:01 7 /usr/lib/libpython3.11.so.1.0\n20000-" + end +
                          (has_glibc ? " rw-p 00000000 00:01 8 /usr/lib/libc.so.6\n" : " rw-p 00000000 00:00 0\n");
  (void)native::read_contents(space_of(memory, map, pools.size()));
  const AddressSpace space = space_of(memory, map, pools.size());
  (void)cpython::read_contents(space, space, {.one_in = 2, .seed = size});
  const auto contents = cpython::read_contents(space, space);
  if (!contents.has_value()) return 0;
  for (const ContentFiller& filler : contents->fillers) {
    if (filler.bytes > contents->anonymous_bytes && filler.kind == ContentKind::kHolder) __builtin_trap();
  }
  return 0;
}
