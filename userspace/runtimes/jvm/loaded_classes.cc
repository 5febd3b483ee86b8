// SPDX-License-Identifier: Apache-2.0
#include "runtimes/jvm/loaded_classes.h"

#include <algorithm>

#include "events/contents_names.h"
#include "runtimes/jvm/static_holders.h"

namespace oomw::jvm {
namespace {

constexpr std::int32_t kMaxStaticOops = 64;
constexpr std::uint64_t kFirstField = 16;   // a long behind the header of 12 bytes
constexpr std::uint32_t kBlocksSince = 16;  // the version whose metaspace has blocks

// Notices that a list leads in a circle, within three times its length (Brent's algorithm): a forged list ends early.
class CircleGuard {
 public:
  [[nodiscard]] bool comes_back_to(std::uint64_t address) {
    if (address == mark_) return true;
    if (++steps_ == lap_) {
      mark_ = address;
      lap_ *= 2;
      steps_ = 0;
    }
    return false;
  }

 private:
  std::uint64_t mark_ = 0, steps_ = 0, lap_ = 1;
};

class ClassWalk {
 public:
  explicit ClassWalk(const Jvm& jvm) : jvm_(jvm), archive_(jvm.class_archive()) {}

  Result<> run() {
    ASSIGN_OR_RETURN(constants_at_, jvm_.offset("InstanceKlass", "_constants"));
    ASSIGN_OR_RETURN(std::uint64_t loader, jvm_.word("ClassLoaderDataGraph", "_head"));
    CircleGuard circle;
    while (loader != 0 && classes.is_complete) {
      if (++classes.loaders > LoadedClasses::kMaxLoaders || circle.comes_back_to(loader)) classes.is_complete = false;
      RETURN_IF_ERROR(add_classes_of(loader));
      ASSIGN_OR_RETURN(loader, jvm_.word(loader, "ClassLoaderData", "_next"));
    }
    return {};
  }

  LoadedClasses classes;
  std::uint64_t bits = 0, java_class = 0;  // java.nio.Bits and java.lang.Class

 private:
  Result<> add_classes_of(std::uint64_t loader) {
    ASSIGN_OR_RETURN(std::uint64_t klass, jvm_.word(loader, "ClassLoaderData", "_klasses"));
    CircleGuard circle;
    while (klass != 0) {
      if (classes.count >= LoadedClasses::kMaxClasses || circle.comes_back_to(klass)) {
        classes.is_complete = false;
        return {};
      }
      RETURN_IF_ERROR(add(klass));
      ASSIGN_OR_RETURN(klass, jvm_.word(klass, "Klass", "_next_link"));
    }
    return {};
  }

  Result<> add(std::uint64_t klass) {
    ++classes.count;
    ASSIGN_OR_RETURN(const std::int32_t layout, jvm_.number(klass, "Klass", "_layout_helper"));
    add_block(klass);
    if (layout <= 0) return {};  // an array, or abstract
    ASSIGN_OR_RETURN(const auto constants, jvm_.memory().get<std::uint64_t>(klass + constants_at_));
    add_block(constants);
    const Result<std::string> name = jvm_.class_name(klass);
    if (!name.has_value()) return tl::unexpected(name.error());
    if (*name == "java/nio/Bits") bits = klass;
    if (*name == "java/lang/Class") java_class = klass;
    if (classes.own.size() < StaticHolders::kMaxClasses && !is_of_jdk(*name) && may_hold(klass)) {
      classes.own.push_back(klass);
    }
    return {};
  }
  // It has static fields that refer to objects, as far as the JVM says.
  [[nodiscard]] bool may_hold(std::uint64_t klass) const {
    const auto count_at = jvm_.structs().offset("InstanceKlass", "_static_oop_field_count");
    return !count_at || jvm_.memory().get<std::uint16_t>(klass + *count_at).value_or(0) > 0;
  }
  void add_block(std::uint64_t address) {
    if (address == 0 || (archive_ && archive_->contains(address))) return;
    if (jvm_.version().value_or(0) < kBlocksSince) return;
    classes.metaspace_blocks.insert(address / LoadedClasses::kMetaspaceBlock * LoadedClasses::kMetaspaceBlock);
  }

  const Jvm& jvm_;
  const std::optional<AddressSpan> archive_;
  std::uint64_t constants_at_ = 0;
};

// The objects that the static fields of java.nio.Bits refer to.
Result<std::vector<std::uint64_t>> static_objects(const Jvm& jvm, const ClassWalk& walk) {
  ASSIGN_OR_RETURN(const std::uint64_t handle, jvm.word(walk.bits, "Klass", "_java_mirror"));
  ASSIGN_OR_RETURN(const auto mirror, jvm.memory().get<std::uint64_t>(handle));
  if (!jvm.heap_span().contains(mirror)) return fail(ErrorCode::kInvalid, "a class object outside of the heap");
  ASSIGN_OR_RETURN(const std::int32_t size, jvm.number(walk.java_class, "Klass", "_layout_helper"));
  ASSIGN_OR_RETURN(const std::int32_t count_at, jvm.number("java_lang_Class", "_static_oop_field_count_offset"));
  ASSIGN_OR_RETURN(const auto count, jvm.memory().get<std::int32_t>(mirror + static_cast<std::uint32_t>(count_at)));
  if (size <= 0 || count < 0 || count > kMaxStaticOops) return fail(ErrorCode::kInvalid, "static fields of nonsense");
  const std::uint64_t fields = mirror + (static_cast<std::uint32_t>(size) & ~7u);
  const bool is_narrow = jvm.flags().has_compressed_oops;
  const NarrowEncoding encoding = jvm.object_encoding();
  std::vector<std::uint64_t> objects;
  for (std::int32_t i = 0; i < count; ++i) {
    std::uint64_t object = 0;
    if (is_narrow) {
      ASSIGN_OR_RETURN(const auto narrow, jvm.memory().get<std::uint32_t>(fields + 4 * static_cast<std::uint32_t>(i)));
      if (narrow != 0) object = encoding.base + (std::uint64_t{narrow} << encoding.shift);
    } else {
      ASSIGN_OR_RETURN(object, jvm.memory().get<std::uint64_t>(fields + 8 * static_cast<std::uint32_t>(i)));
    }
    if (jvm.heap_span().contains(object)) objects.push_back(object);
  }
  return objects;
}

// Three counters: reserved, capacity, count, in the order of their fields.
Result<DirectBuffers> read_direct_buffers(const Jvm& jvm, const ClassWalk& walk) {
  const auto encoding = jvm.class_encoding();
  if (walk.java_class == 0 || !encoding) return fail(ErrorCode::kUnsupported, "objects of another layout");
  ASSIGN_OR_RETURN(const std::vector<std::uint64_t> objects, static_objects(jvm, walk));
  std::vector<std::uint64_t> counters;
  for (const std::uint64_t object : objects) {
    ASSIGN_OR_RETURN(const auto narrow, jvm.memory().get<std::uint32_t>(object + 8));
    const auto name = jvm.class_name(encoding->base + (std::uint64_t{narrow} << encoding->shift));
    if (!name.has_value() || *name != "java/util/concurrent/atomic/AtomicLong") continue;
    ASSIGN_OR_RETURN(const auto value, jvm.memory().get<std::uint64_t>(object + kFirstField));
    counters.push_back(value);
  }
  if (counters.size() != 3) return fail(ErrorCode::kInvalid, "not the counters of java.nio.Bits");
  const DirectBuffers buffers{counters[0], counters[1], counters[2]};
  const bool is_sound = buffers.reserved_bytes >= buffers.capacity_bytes && buffers.reserved_bytes >> 44 == 0 &&
                        buffers.count <= buffers.reserved_bytes;
  if (!is_sound) return fail(ErrorCode::kInvalid, "counters of java.nio.Bits that do not agree");
  return buffers;
}

}  // namespace

Result<LoadedClasses> read_loaded_classes(const Jvm& jvm) {
  ClassWalk walk(jvm);
  RETURN_IF_ERROR(walk.run());
  if (walk.bits == 0 && walk.classes.is_complete) {
    walk.classes.direct_buffers = DirectBuffers{};
  } else if (walk.bits != 0) {
    const Result<DirectBuffers> buffers = read_direct_buffers(jvm, walk);
    if (buffers.has_value()) walk.classes.direct_buffers = *buffers;
  }
  return std::move(walk.classes);
}

}  // namespace oomw::jvm
