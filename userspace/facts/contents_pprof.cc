// SPDX-License-Identifier: Apache-2.0
#include "facts/contents_pprof.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "events/memory_part.h"
#include "pprof/estimate.h"
#include "pprof/saturating.h"
#include "pprof/text_stacks.h"

namespace oomw {
namespace {

constexpr const char* kRest = "(not listed: smaller types, free space)";

// Where a runtime's objects lie. A type's objects may lie in several parts, and nothing shows how many in which: those
// parts are one frame.
struct ObjectMemory {
  RuntimeKind of;
  const char* frame;
  std::array<std::string_view, 3> parts;
};
constexpr ObjectMemory kObjectMemory[] = {
    {RuntimeKind::kCpython,
     "Python objects, malloc",
     {"python objects: in use", "malloc: in use", "malloc: large blocks"}},
    {RuntimeKind::kJvm, "Java heap", {memory_part::kJavaHeap}},
    {RuntimeKind::kV8, "V8 heap, ArrayBuffers", {"V8 heap: objects", "ArrayBuffers"}},
    {RuntimeKind::kNative, "allocated blocks", {"malloc: in use", "malloc: large blocks"}},
};

const ObjectMemory& object_memory_of(RuntimeKind of) {
  const auto found = std::ranges::find(kObjectMemory, of, &ObjectMemory::of);
  return found == std::end(kObjectMemory) ? std::end(kObjectMemory)[-1] : *found;
}

std::string frame(const std::string& text) {
  return text.empty() ? "(no name)" : printable(text, HeapAnalysed::kMaxText);
}

template <typename T>
std::span<const T> first_of(const std::vector<T>& all) {
  return std::span(all).first(std::min(all.size(), kMaxContents));
}

std::uint64_t sum_of(const HeapAnalysed& found, std::string_view kind) {
  std::uint64_t sum = 0;
  for (const HeapFiller& filler : first_of(found.fillers)) sum += filler.kind == kind ? filler.bytes : 0;
  return sum;
}

class Contents {
 public:
  // Blocks of a size and the objects in them are the same memory: what names more of it counts.
  Contents(const HeapAnalysed& found, pprof::Profile& profile)
      : found_(found),
        memory_(object_memory_of(found.of)),
        kind_(sum_of(found, "size") > sum_of(found, "type") ? "size" : "type"),
        objects_(sum_of(found, kind_)),
        stacks_(profile) {}

  void add() {
    std::uint64_t left = add_parts();
    for (const HeapFiller& filler : first_of(found_.fillers)) {
      if (filler.kind == "holder" && filler.bytes > 0) add_holder(filler);
      if (filler.kind == kind_) left -= add_objects(filler, left);
    }
    if (left > 0) stacks_.add({memory_.frame, runtime(), kRest}, {pprof::clamped(left), 0, 0});
  }

 private:
  [[nodiscard]] std::string runtime() const { return std::string(to_string(found_.of)); }

  // Adds the parts without objects; the bytes of the others. Where the objects are more than the parts that are known
  // to have them (another allocator than glibc's), they take from the other parts, the largest first.
  std::uint64_t add_parts() {
    std::uint64_t taken = 0;
    for (const MemoryShare& part : first_of(found_.parts)) taken += has_objects(part) ? part.bytes : 0;
    for (const MemoryShare& part : first_of(found_.parts)) {
      if (has_objects(part)) continue;
      const std::uint64_t here = std::min(part.bytes, objects_ - std::min(objects_, taken));
      taken += here;
      if (part.bytes > here) stacks_.add({frame(part.name)}, {pprof::clamped(part.bytes - here), 0, 0});
    }
    return taken;
  }
  [[nodiscard]] bool has_objects(const MemoryShare& part) const {
    if (objects_ == 0 || part.name.empty()) return false;
    return std::ranges::find(memory_.parts, std::string_view(part.name)) != memory_.parts.end();
  }

  std::uint64_t add_objects(const HeapFiller& filler, std::uint64_t left) {
    const std::uint64_t bytes = std::min(filler.bytes, left);
    stacks_.add({memory_.frame, runtime(), frame(filler.name)},
                {pprof::clamped(bytes), pprof::clamped(filler.count), 0});
    return bytes;
  }
  void add_holder(const HeapFiller& filler) {
    std::vector<std::string> stack = {memory_.frame, runtime(), frame(filler.name)};
    if (!filler.held_as.empty()) stack.push_back("held as " + frame(filler.held_as));
    stacks_.add(stack, {0, 0, pprof::clamped(filler.bytes)});
  }

  const HeapAnalysed& found_;
  const ObjectMemory& memory_;
  const std::string_view kind_;
  const std::uint64_t objects_;
  pprof::TextStacks stacks_;
};

}  // namespace

pprof::Profile contents_profile(const HeapAnalysed& found, WallTime taken) {
  pprof::Profile profile;
  profile.sample_types = {{kContentsType, "bytes"}, {"objects", "count"}, {kHeldType, "bytes"}};
  profile.default_sample_type = kContentsType;
  profile.period_type = {"space", "bytes"};
  profile.time_nanos = taken.ns;
  Contents(found, profile).add();
  profile.comments = {
      fmt::format("oomwitness: what fills the memory ({}): parts, and in them types or sizes; no code is in the stacks",
                  to_string(found.of)),
      "oomwitness: held/bytes is what holders hold, among the contents; one may be within another"};
  if (found.sampled_ratio && *found.sampled_ratio > 0) {
    profile.comments.push_back(
        fmt::format("{}{:.1f} % of the objects' memory was read, and the rest is taken to be like it",
                    pprof::kEstimateComment, 100 * *found.sampled_ratio));
  }
  for (const std::string& note : std::span(found.notes).first(std::min(found.notes.size(), HeapAnalysed::kMaxNotes))) {
    profile.comments.push_back(frame(note));
  }
  return profile;
}

}  // namespace oomw
