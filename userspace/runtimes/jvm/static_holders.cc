// SPDX-License-Identifier: Apache-2.0
#include "runtimes/jvm/static_holders.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "events/contents_names.h"
#include "runtimes/jvm/java_fields.h"

namespace oomw::jvm {
namespace {

constexpr int kMaxOwnObjects = 2;             // between a static field and the collection
constexpr int kMaxInside = 3;                 // a map of a set, of a wrapper
constexpr int kMaxSuperclasses = 4;           // LinkedHashMap counts in HashMap
constexpr std::size_t kMaxPath = 160;         // what tells most stands at its end
constexpr std::uint64_t kMaxSteps = 200'000;  // references that are looked at; forged ones may lead everywhere
constexpr std::size_t kMaxFields = 50'000;    // of all classes

// The numbers that collections of java.util count their entries in; of an AtomicInteger, where threads share it. A long
// of such a name belongs to statistics.
constexpr std::array<std::string_view, 3> kCounters = {"size", "count", "elementCount"};
// Where threads count at the same time, each goes on in a cell of its own.
constexpr std::string_view kSharedCounter = "baseCount", kCells = "counterCells", kCellValue = "value";
constexpr std::uint64_t kMaxCells = 1024;
// What a wrapper or a set keeps them in.
constexpr std::array<std::string_view, 6> kInside = {"map", "m", "c", "list", "q", "al"};
// Where nothing counts: the array.
constexpr std::array<std::string_view, 2> kArrays = {"elements", "array"};
// A ring, whose array is as long as it ever had to be, has entries from the first place to before the other.
constexpr std::string_view kRing = "elements", kRingFirst = "head", kRingEnd = "tail";
constexpr std::uint64_t kLengthAt = 12, kFirstOfArray = 16;  // behind a header with a narrow class

bool is_one_of(std::string_view name, const auto& names) { return std::ranges::find(names, name) != names.end(); }

class HolderSearch {
 public:
  HolderSearch(const Jvm& jvm, NarrowEncoding classes)
      : jvm_(jvm), classes_(classes), objects_(jvm.object_encoding()) {}

  void search(std::uint64_t klass) {
    const Result<std::uint64_t> handle = jvm_.word(klass, "Klass", "_java_mirror");
    if (!handle.has_value()) return;
    const auto mirror = jvm_.memory().get<std::uint64_t>(*handle);
    const auto name = jvm_.class_name(klass);
    if (!mirror.has_value() || !name.has_value() || !jvm_.heap_span().contains(*mirror)) return;
    if (class_name_of(*mirror) != "java/lang/Class") return;
    for (const JavaField& field : fields(klass)) {
      if (!field.is_static || !field.is_object()) continue;
      follow(*mirror + field.offset, readable_class_name(*name) + "." + field.name, kMaxOwnObjects);
    }
  }

  std::vector<StaticHolder> found;

 private:
  const std::vector<JavaField>& fields(std::uint64_t klass) {
    const auto [known, is_new] = fields_.try_emplace(klass);
    if (!is_new || kept_fields_ > kMaxFields) return known->second;
    if (auto read = fields_of(jvm_, klass)) known->second = std::move(*read);
    kept_fields_ += known->second.size() + 1;
    return known->second;
  }

  // 0: null, or nothing that can be an object.
  std::uint64_t object_at(std::uint64_t address) const {
    std::uint64_t object = 0;
    if (jvm_.flags().has_compressed_oops) {
      const auto narrow = jvm_.memory().get<std::uint32_t>(address);
      if (narrow.has_value() && *narrow != 0) object = objects_.base + (std::uint64_t{*narrow} << objects_.shift);
    } else {
      object = jvm_.memory().get<std::uint64_t>(address).value_or(0);
    }
    return object % 8 == 0 && jvm_.heap_span().contains(object) ? object : 0;
  }
  std::uint64_t class_of(std::uint64_t object) const {
    const auto narrow = jvm_.memory().get<std::uint32_t>(object + 8);
    return narrow.has_value() && *narrow != 0 ? classes_.base + (std::uint64_t{*narrow} << classes_.shift) : 0;
  }
  // "" where there is none.
  std::string class_name_of(std::uint64_t object) const {
    const std::uint64_t klass = class_of(object);
    return klass == 0 ? "" : jvm_.class_name(klass).value_or("");
  }

  void follow(std::uint64_t reference, const std::string& path, int more) {
    const std::uint64_t object = ++steps_ > kMaxSteps ? 0 : object_at(reference);
    if (object == 0 || seen_.size() >= StaticHolders::kMaxObjects || !seen_.insert(object).second) return;
    const std::uint64_t klass = class_of(object);
    const Result<std::string> name = klass == 0 ? fail(ErrorCode::kInvalid, "") : jvm_.class_name(klass);
    if (!name.has_value() || name->starts_with('[')) return;
    if (name->starts_with("java/util/")) {
      const auto entries = entries_of(object, klass, kMaxInside);
      if (!entries || *entries < StaticHolders::kFewestEntries) return;
      found.push_back({"`" + printable(path, kMaxPath) + "`", readable_class_name(*name), *entries});
    } else if (!is_of_jdk(*name) && more > 0) {
      for (const JavaField& field : fields(klass)) {
        if (!field.is_static && field.kind == 'L') follow(object + field.offset, path + "." + field.name, more - 1);
      }
    }
  }

  static const JavaField* field_named(const std::vector<JavaField>& fields, std::string_view name) {
    const auto found = std::ranges::find(fields, name, &JavaField::name);
    return found == fields.end() ? nullptr : &*found;
  }

  std::optional<std::uint64_t> entries_of(std::uint64_t object, std::uint64_t klass, int inside) {
    for (int i = 0; i < kMaxSuperclasses && klass != 0; ++i) {
      const std::vector<JavaField>& of_class = fields(klass);
      if (field_named(of_class, kRingFirst) != nullptr && field_named(of_class, kRing) != nullptr) {
        return ring_entries(object, of_class);
      }
      if (field_named(of_class, kSharedCounter) != nullptr) return shared_count(object, of_class);
      const bool is_counted = std::ranges::any_of(
          of_class, [](const JavaField& field) { return !field.is_static && is_one_of(field.name, kCounters); });
      for (const JavaField& field : of_class) {
        if (field.is_static || (is_counted && is_one_of(field.name, kArrays))) continue;
        if (const auto entries = entries_by(object + field.offset, field, inside)) return entries;
      }
      klass = jvm_.word(klass, "Klass", "_super").value_or(0);
    }
    return std::nullopt;
  }

  std::optional<std::uint64_t> entries_by(std::uint64_t at, const JavaField& field, int inside) {
    const bool is_counter = is_one_of(field.name, kCounters);
    if (is_counter && field.kind == 'I') return number<std::int32_t>(at);
    const std::uint64_t object = field.is_object() && ++steps_ <= kMaxSteps ? object_at(at) : 0;
    if (object == 0) return std::nullopt;
    constexpr std::uint64_t kFirstNumber = 12;  // behind a header with a narrow class
    const std::string name = class_name_of(object);
    if (is_counter) {
      return name == "java/util/concurrent/atomic/AtomicInteger" ? number<std::int32_t>(object + kFirstNumber)
                                                                 : std::nullopt;
    }
    if (is_one_of(field.name, kArrays) && name.starts_with('[')) return number<std::int32_t>(object + kLengthAt);
    const bool is_inside = inside > 0 && is_one_of(field.name, kInside) && name.starts_with("java/util/");
    return is_inside ? entries_of(object, class_of(object), inside - 1) : std::nullopt;
  }

  // 0: none, or no array.
  std::uint64_t array_at(std::uint64_t at) const {
    const std::uint64_t object = object_at(at);
    return object != 0 && class_name_of(object).starts_with('[') ? object : 0;
  }

  std::optional<std::uint64_t> ring_entries(std::uint64_t object, const std::vector<JavaField>& of_class) const {
    const JavaField *first = field_named(of_class, kRingFirst), *end = field_named(of_class, kRingEnd);
    const std::uint64_t array = array_at(object + field_named(of_class, kRing)->offset);
    if (array == 0 || first == nullptr || end == nullptr) return std::nullopt;
    constexpr std::uint64_t kNone = ~std::uint64_t{0};
    const std::uint64_t room = number<std::int32_t>(array + kLengthAt).value_or(0);
    const std::uint64_t from = number<std::int32_t>(object + first->offset).value_or(kNone);
    const std::uint64_t to = number<std::int32_t>(object + end->offset).value_or(kNone);
    if (from > room || to > room) return std::nullopt;
    return to >= from ? to - from : to + room - from;
  }

  // Each cell counts what its threads added and took away.
  std::optional<std::uint64_t> shared_count(std::uint64_t object, const std::vector<JavaField>& of_class) {
    const auto base = jvm_.memory().get<std::int64_t>(object + field_named(of_class, kSharedCounter)->offset);
    const JavaField* cells = field_named(of_class, kCells);
    const std::uint64_t array = cells == nullptr ? 0 : array_at(object + cells->offset);
    const std::uint64_t count = array == 0 ? 0 : number<std::int32_t>(array + kLengthAt).value_or(kMaxCells + 1);
    if (!base.has_value() || count > kMaxCells) return std::nullopt;
    const std::uint64_t reference_bytes = jvm_.flags().has_compressed_oops ? 4 : 8;
    auto sum = static_cast<std::uint64_t>(*base);
    for (std::uint64_t i = 0; i < count && ++steps_ <= kMaxSteps; ++i) {
      const std::uint64_t cell = object_at(array + kFirstOfArray + reference_bytes * i);
      const JavaField* value = cell == 0 ? nullptr : field_named(fields(class_of(cell)), kCellValue);
      if (value != nullptr) sum += jvm_.memory().get<std::uint64_t>(cell + value->offset).value_or(0);
    }
    constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
    return sum <= kMost ? std::optional(sum) : std::nullopt;
  }

  template <typename T>
  std::optional<std::uint64_t> number(std::uint64_t at) const {
    const auto value = jvm_.memory().get<T>(at);
    return value.has_value() && *value >= 0 ? std::optional(static_cast<std::uint64_t>(*value)) : std::nullopt;
  }

  const Jvm& jvm_;
  const NarrowEncoding classes_, objects_;
  std::map<std::uint64_t, std::vector<JavaField>> fields_;  // of each class
  std::set<std::uint64_t> seen_;
  std::uint64_t steps_ = 0;
  std::size_t kept_fields_ = 0;
};

}  // namespace

Result<std::vector<StaticHolder>> read_static_holders(const Jvm& jvm, const Jvm& again,
                                                      const std::vector<std::uint64_t>& own_classes) {
  const auto encoding = jvm.class_encoding();
  if (!encoding) return fail(ErrorCode::kUnsupported, "the objects' headers have a layout that is not known");
  HolderSearch search(jvm, *encoding), second(again, *encoding);
  for (const std::uint64_t klass : own_classes) search.search(klass), second.search(klass);
  std::set<std::pair<std::string, std::string>> agreed;
  for (const StaticHolder& one : second.found) agreed.emplace(one.held_as, one.type);
  std::erase_if(search.found, [&](const StaticHolder& one) { return !agreed.contains({one.held_as, one.type}); });
  std::ranges::stable_sort(search.found, std::greater<>(), &StaticHolder::entries);
  if (search.found.size() > StaticHolders::kMaxShown) search.found.resize(StaticHolders::kMaxShown);
  return std::move(search.found);
}

}  // namespace oomw::jvm
