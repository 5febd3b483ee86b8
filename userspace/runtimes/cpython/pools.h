// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "memory/address_space.h"
#include "runtimes/cpython/type_table.h"
#include "runtimes/native/composition.h"
#include "runtimes/native/glibc_chunks.h"
#include "runtimes/sample.h"

namespace oomw::cpython {

// Where obmalloc's pools lie among mappings without a name: blocks in which a pool's head is sound.
class PoolRegions final : public native::RangeOwner {
 public:
  static constexpr std::uint64_t kBlockBytes = 256u << 10;

  // kNotFound: no pools.
  [[nodiscard]] static Result<PoolRegions> find(const AddressSpace& space);
  // For tests: known ranges.
  PoolRegions(std::vector<PageRange> ranges, std::uint64_t pool_bytes)
      : ranges_(std::move(ranges)), pool_bytes_(pool_bytes) {}

  [[nodiscard]] std::uint64_t claim(std::uint64_t begin, std::uint64_t end) const override;
  [[nodiscard]] std::uint64_t next(std::uint64_t begin, std::uint64_t end) const override;
  [[nodiscard]] bool contains(std::uint64_t address) const;
  [[nodiscard]] const std::vector<PageRange>& ranges() const { return ranges_; }
  [[nodiscard]] std::uint64_t pool_bytes() const { return pool_bytes_; }

 private:
  std::vector<PageRange> ranges_;  // in order, apart
  std::uint64_t pool_bytes_;       // 16 KiB since 3.10, 4 KiB before
};

struct TypeAmount {
  std::uint64_t count = 0, bytes = 0;
  std::uint64_t first = 0;  // the address of one object, of a class that Python code made; 0: none
  double squares = 0;       // of a sample: the squares of its bytes in each pool
};

// A list, dict, set or deque with many entries.
struct BigContainer {
  std::uint64_t address = 0, entries = 0;
  const TypeInfo* type = nullptr;
};

// Generators or coroutines of one function.
struct CallGroup {
  static constexpr std::size_t kMaxKnown = 4;
  std::uint64_t count = 0, bytes = 0;
  std::vector<std::uint64_t> known;  // the first of them
};

// By their type and the address of their name.
using CallGroups = std::map<std::pair<const TypeInfo*, std::uint64_t>, CallGroup>;

// Counts objects by type: in blocks of pools, and in blocks of malloc that it is given. A block belongs to a type if an
// object's head with a sound type stands at one of the three places where heads stand.
class ObjectCensus final : public native::ChunkSink {
 public:
  static constexpr std::size_t kMaxContainers = 64, kMaxModules = 4096, kMaxCallGroups = 4096;
  static constexpr std::uint64_t kManyEntries = 256;

  ObjectCensus(const AddressSpace& space, TypeTable& types, const PoolRegions& regions)
      : space_(space), types_(types), regions_(regions) {}

  // Whole, or a sample of them: then all that is counted is of the pools that were read, see sampled().
  [[nodiscard]] Result<> scan_pools(SampleRate rate = {});
  [[nodiscard]] const SampledUnits& sampled() const { return sampled_; }
  // Of all pools, by those that were read.
  [[nodiscard]] Estimate estimate(const TypeAmount& amount) const {
    return estimate_of({static_cast<double>(amount.bytes), amount.squares}, sampled_);
  }

  void begin() override { pending_ = {}; }
  void chunk(std::uint64_t address, std::uint64_t bytes, std::span<const std::uint64_t, kWords> words) override;
  void keep() override;

  [[nodiscard]] const std::unordered_map<const TypeInfo*, TypeAmount>& amounts() const { return kept_.amounts; }
  // The most entries first.
  [[nodiscard]] std::vector<BigContainer> containers() const;
  [[nodiscard]] const std::vector<std::uint64_t>& modules() const { return kept_.modules; }
  [[nodiscard]] const CallGroups& calls() const { return kept_.calls; }
  [[nodiscard]] const TypeAmount& key_tables() const { return kept_.key_tables; }
  [[nodiscard]] std::uint64_t free_bytes() const { return kept_.free.bytes; }
  [[nodiscard]] Estimate estimated_free() const { return estimate(kept_.free); }
  [[nodiscard]] std::uint64_t pool_block_bytes() const { return pool_block_bytes_; }
  [[nodiscard]] std::uint64_t pools() const { return pools_; }
  [[nodiscard]] std::uint64_t bad_pools() const { return bad_pools_; }

 private:
  struct Counted {
    std::unordered_map<const TypeInfo*, TypeAmount> amounts;
    TypeAmount key_tables;
    TypeAmount free;                       // blocks of pools
    std::vector<BigContainer> containers;  // a heap, the fewest entries first
    std::vector<std::uint64_t> modules;
    CallGroups calls;
  };

  void count(Counted& into, std::uint64_t address, std::uint64_t bytes, std::span<const std::uint64_t> words);
  void note(Counted& into, std::uint64_t object, std::uint64_t bytes, const TypeInfo& type,
            std::span<const std::uint64_t> words);
  [[nodiscard]] Result<> sample_pools(SampleRate rate);
  static void note_call(Counted& into, std::uint64_t object, std::uint64_t bytes, const TypeInfo& type,
                        std::span<const std::uint64_t> words);
  static void keep_container(Counted& into, const BigContainer& container);
  void scan_pool(std::uint64_t address, std::span<const std::byte> bytes, Counted& into);

  const AddressSpace& space_;
  TypeTable& types_;
  const PoolRegions& regions_;
  Counted kept_, pending_;
  SampledUnits sampled_;
  std::uint64_t pool_block_bytes_ = 0, pools_ = 0, bad_pools_ = 0;
};

// A pool's head, if it is sound.
struct PoolHead {
  static constexpr std::uint64_t kBytes = 48;
  std::uint64_t block_bytes = 0, carved = 0, used = 0, first_free = 0;
};
[[nodiscard]] std::optional<PoolHead> parse_pool_head(std::span<const std::byte> bytes, std::uint64_t pool_bytes);

}  // namespace oomw::cpython
