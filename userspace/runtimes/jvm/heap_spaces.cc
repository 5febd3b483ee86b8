// SPDX-License-Identifier: Apache-2.0
#include "runtimes/jvm/heap_spaces.h"

#include <array>
#include <string>
#include <utility>

namespace oomw::jvm {
namespace {

constexpr std::uint64_t kMaxRegions = 65'536;  // G1 aims at 2,048
// HeapRegionType::Tag. Bits that are the same from 17 to 25: a large object begins in a region of tag 12 and goes on in
// those of 13, later 4 and 5; eden has 2, survivors 3.
constexpr std::uint32_t kFreeRegion = 0, kYoungBit = 2, kHumongousBit = 4, kRestBit = 1;

Generation generation_of(std::uint32_t tag) {
  if ((tag & kHumongousBit) != 0) return Generation::kHumongous;
  return (tag & kYoungBit) != 0 ? Generation::kYoung : Generation::kOld;
}

class SpaceReader {
 public:
  explicit SpaceReader(const Jvm& jvm) : jvm_(jvm) {}

  Result<> read_g1() {
    const std::string manager_type = first_type({"HeapRegionManager", "G1HeapRegionManager"}, "_regions");
    region_type_ = first_type({"HeapRegion", "G1HeapRegion"}, "_type");
    tag_type_ = first_type({"HeapRegionType", "G1HeapRegionType"}, "_tag");
    ASSIGN_OR_RETURN(const std::uint64_t manager, jvm_.offset("G1CollectedHeap", "_hrm"));
    ASSIGN_OR_RETURN(const std::uint64_t regions, jvm_.offset(manager_type, "_regions"));
    const std::uint64_t table = jvm_.heap() + manager + regions;
    ASSIGN_OR_RETURN(const std::uint64_t base, jvm_.word(table, "G1HeapRegionTable", "_base"));
    ASSIGN_OR_RETURN(const std::uint64_t length, jvm_.word(table, "G1HeapRegionTable", "_length"));
    if (length > kMaxRegions) return fail(ErrorCode::kInvalid, std::to_string(length) + " regions");
    for (std::uint64_t i = 0; i < length; ++i) {
      ASSIGN_OR_RETURN(const auto region, jvm_.memory().get<std::uint64_t>(base + 8 * i));
      if (region != 0) RETURN_IF_ERROR(add_region(region));
    }
    return {};
  }

  Result<> read_parallel() {
    ASSIGN_OR_RETURN(const std::uint64_t young, jvm_.word("ParallelScavengeHeap", "_young_gen"));
    ASSIGN_OR_RETURN(const std::uint64_t old, jvm_.word("ParallelScavengeHeap", "_old_gen"));
    for (const char* space : {"_eden_space", "_from_space", "_to_space"}) {
      RETURN_IF_ERROR(add_space(young, "PSYoungGen", space, kSpaceOfParallel, Generation::kYoung));
    }
    return add_space(old, "PSOldGen", "_object_space", kSpaceOfParallel, Generation::kOld);
  }

  Result<> read_serial() {
    ASSIGN_OR_RETURN(const auto generations, serial_generations());
    const auto [young, old] = generations;
    for (const char* space : {"_eden_space", "_from_space", "_to_space"}) {
      RETURN_IF_ERROR(add_space(young, "DefNewGeneration", space, kSpaceOfSerial, Generation::kYoung));
    }
    const std::string type = first_type({"TenuredGeneration", "OneContigSpaceCardGeneration"}, "_the_space");
    return add_space(old, type.c_str(), "_the_space", kSpaceOfSerial, Generation::kOld);
  }

  std::vector<HeapSpace> spaces;

 private:
  // A type and the bases that fields of it may be declared in.
  using Types = std::array<const char*, 2>;
  static constexpr Types kSpaceOfParallel = {"MutableSpace", "ImmutableSpace"};
  static constexpr Types kSpaceOfSerial = {"ContiguousSpace", "Space"};

  // The young and the old one.
  Result<std::pair<std::uint64_t, std::uint64_t>> serial_generations() const {
    if (const auto both = jvm_.structs().offset("GenCollectedHeap", "_gens")) {  // 8
      ASSIGN_OR_RETURN(const auto young, jvm_.memory().get<std::uint64_t>(jvm_.heap() + *both));
      ASSIGN_OR_RETURN(const auto old, jvm_.memory().get<std::uint64_t>(jvm_.heap() + *both + 8));
      return std::pair(young, old);
    }
    const std::string heap = first_type({"SerialHeap", "GenCollectedHeap"}, "_young_gen");
    ASSIGN_OR_RETURN(const std::uint64_t young, jvm_.word(jvm_.heap(), heap, "_young_gen"));
    ASSIGN_OR_RETURN(const std::uint64_t old, jvm_.word(jvm_.heap(), heap, "_old_gen"));
    return std::pair(young, old);
  }

  // Types were renamed between versions.
  std::string first_type(const Types& types, const char* field) const {
    return jvm_.structs().offset(types[0], field) ? types[0] : types[1];
  }

  Result<> add(AddressSpan objects, Generation generation) {
    const AddressSpan heap = jvm_.heap_span();
    if (objects.begin == objects.end) return {};
    const bool is_sound = objects.begin < objects.end && objects.begin >= heap.begin && objects.end <= heap.end;
    if (!is_sound || objects.begin % 8 != 0) return fail(ErrorCode::kInvalid, "a space outside of the heap");
    spaces.push_back({objects, generation});
    return {};
  }

  Result<> add_region(std::uint64_t region) {
    ASSIGN_OR_RETURN(const std::uint64_t type, jvm_.offset(region_type_, "_type"));
    ASSIGN_OR_RETURN(const auto tag, jvm_.number(region + type, tag_type_, "_tag"));
    const auto kind = static_cast<std::uint32_t>(tag);
    const Generation generation = generation_of(kind);
    const bool is_rest = generation == Generation::kHumongous && (kind & kRestBit) != 0;
    if (kind == kFreeRegion || is_rest) return {};
    const char* own = region_type_.c_str();
    ASSIGN_OR_RETURN(const std::uint64_t bottom, jvm_.word(region, first_type({own, "Space"}, "_bottom"), "_bottom"));
    ASSIGN_OR_RETURN(const std::uint64_t top,
                     jvm_.word(region, first_type({own, "G1ContiguousSpace"}, "_top"), "_top"));
    return add({bottom, top}, generation);
  }

  Result<> add_space(std::uint64_t owner, const char* owner_type, const char* field, const Types& types,
                     Generation generation) {
    ASSIGN_OR_RETURN(const std::uint64_t space, jvm_.word(owner, owner_type, field));
    ASSIGN_OR_RETURN(const std::uint64_t bottom, jvm_.word(space, first_type(types, "_bottom"), "_bottom"));
    ASSIGN_OR_RETURN(const std::uint64_t top, jvm_.word(space, types[0], "_top"));
    return add({bottom, top}, generation);
  }

  const Jvm& jvm_;
  std::string region_type_, tag_type_;
};

}  // namespace

Result<std::vector<HeapSpace>> read_heap_spaces(const Jvm& jvm) {
  SpaceReader reader(jvm);
  switch (jvm.flags().collector) {
    case Collector::kG1:
      RETURN_IF_ERROR(reader.read_g1());
      break;
    case Collector::kParallel:
      RETURN_IF_ERROR(reader.read_parallel());
      break;
    case Collector::kSerial:
      RETURN_IF_ERROR(reader.read_serial());
      break;
    default:
      return fail(ErrorCode::kUnsupported,
                  "the heap of the " + std::string(to_string(jvm.flags().collector)) + " collector cannot be walked");
  }
  return std::move(reader.spaces);
}

}  // namespace oomw::jvm
