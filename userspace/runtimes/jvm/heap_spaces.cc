// SPDX-License-Identifier: Apache-2.0
#include "runtimes/jvm/heap_spaces.h"

#include <array>
#include <string>

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
    region_type_ = first_type({"HeapRegion", "G1HeapRegion"}, "_bottom");
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
      RETURN_IF_ERROR(add_space(young, "PSYoungGen", space, "MutableSpace", Generation::kYoung));
    }
    return add_space(old, "PSOldGen", "_object_space", "MutableSpace", Generation::kOld);
  }

  Result<> read_serial() {
    const std::string heap = first_type({"SerialHeap", "GenCollectedHeap"}, "_young_gen");
    ASSIGN_OR_RETURN(const std::uint64_t young, jvm_.word(jvm_.heap(), heap, "_young_gen"));
    ASSIGN_OR_RETURN(const std::uint64_t old, jvm_.word(jvm_.heap(), heap, "_old_gen"));
    for (const char* space : {"_eden_space", "_from_space", "_to_space"}) {
      RETURN_IF_ERROR(add_space(young, "DefNewGeneration", space, "ContiguousSpace", Generation::kYoung));
    }
    return add_space(old, "TenuredGeneration", "_the_space", "ContiguousSpace", Generation::kOld);
  }

  std::vector<HeapSpace> spaces;

 private:
  // Types were renamed between versions.
  std::string first_type(const std::array<const char*, 2>& types, const char* field) const {
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
    ASSIGN_OR_RETURN(const std::uint64_t bottom, jvm_.word(region, region_type_, "_bottom"));
    ASSIGN_OR_RETURN(const std::uint64_t top, jvm_.word(region, region_type_, "_top"));
    return add({bottom, top}, generation);
  }

  Result<> add_space(std::uint64_t owner, const char* owner_type, const char* field, const std::string& type,
                     Generation generation) {
    ASSIGN_OR_RETURN(const std::uint64_t space, jvm_.word(owner, owner_type, field));
    const std::string bottom_type = jvm_.structs().offset(type, "_bottom") ? type : "Space";
    ASSIGN_OR_RETURN(const std::uint64_t bottom, jvm_.word(space, bottom_type, "_bottom"));
    ASSIGN_OR_RETURN(const std::uint64_t top, jvm_.word(space, type, "_top"));
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
