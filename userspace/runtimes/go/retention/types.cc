// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/retention/types.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "base/text.h"

namespace oomw::go::retention {

namespace {

constexpr std::uint64_t kMaxTypeRange = 256U << 20;
constexpr std::uint64_t kMaxTypeName = 1024, kMaxFields = 512;
constexpr std::size_t kMaxShownName = 160;
constexpr int kMaxDepth = 12;
constexpr std::uint8_t kHasUncommon = 1, kExtraStar = 2, kMaskOnDemand = 16;
constexpr std::uint8_t kGcProgram = 0x40;  // in the kind byte, until Go 1.23
// Offsets in a type record; behind the 48 common bytes come those of its kind.
constexpr std::uint64_t kTail = 48, kMapBlock = 64, kStructFields = 56, kStructPackage = 80;

struct TypeRecord {
  std::uint64_t size, pointer_bytes;
  std::uint32_t hash;
  std::uint8_t flags, align, field_align, kind;
  std::uint64_t equal, gc_data;
  std::int32_t name, pointer_to_this;
};
static_assert(sizeof(TypeRecord) == 48);

bool is_sound(const TypeRecord& r) {
  const std::uint8_t kind = r.kind & 31;
  return kind >= 1 && kind <= 26 && r.size <= (std::uint64_t{1} << 32) && r.pointer_bytes <= r.size && r.align >= 1 &&
         r.align <= 16 && (r.align & (r.align - 1)) == 0 && r.field_align >= 1 && r.field_align <= 16 && r.name > 0;
}

// "example.com/app/store.Cache" from the package's path and "store.Cache".
std::string full_name(const std::string& package, const std::string& name) {
  const std::size_t slash = package.rfind('/');
  if (slash == std::string::npos) return name;
  const std::string last = package.substr(slash + 1) + ".";
  return name.starts_with(last) ? package.substr(0, slash + 1) + name : name;
}

}  // namespace

bool is_map_block(const Type& type) { return is_swiss_group(type) || type.name.starts_with("map.bucket["); }

bool is_swiss_group(const Type& type) { return type.name.starts_with("map.group["); }

Result<std::unique_ptr<TypeTable>> TypeTable::find(Image& image, CachedReader& memory) {
  // The words moved in Go 1.20 and 1.27: types is one of 33 to 40, its end one of the next three.
  constexpr std::size_t kFirst = 33, kLast = 40, kMaxCandidates = 20'000, kEnough = 12;
  std::vector<std::uint64_t> words;
  std::vector<std::uint64_t> chunk(8192);
  for (std::uint64_t at = image.data().begin; at < image.data().end; at += chunk.size() * 8) {
    const std::size_t count = std::min<std::uint64_t>(chunk.size(), (image.data().end - at) / 8);
    RETURN_IF_ERROR(memory.read(at, std::as_writable_bytes(std::span(chunk).first(count))));
    words.insert(words.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(count));
    if (words.size() > (1U << 20)) break;
  }
  std::unique_ptr<TypeTable> best;
  std::size_t best_sound = 0;
  for (std::size_t i = kFirst; i <= kLast; ++i) {
    for (std::size_t j = i + 1; j <= i + 3; ++j) {
      const elf::AddressRange range{image.module_word(i), image.module_word(j)};
      if (range.end <= range.begin || range.size() > kMaxTypeRange || range.begin < 0x1000) continue;
      std::unique_ptr<TypeTable> table(new TypeTable(range, memory));
      std::size_t sound = 0, tried = 0;
      for (const std::uint64_t w : words) {
        if (!range.contains(w) || w % 8 != 0 || table->types_.contains(w)) continue;
        if (++tried > kMaxCandidates) break;
        sound += table->at(w) != nullptr ? 1 : 0;
      }
      sound += table->count_reachable();
      if (sound > best_sound || (sound == best_sound && best && range.size() > best->range_.size() && sound > 0 &&
                                 range.begin == best->range_.begin)) {
        best_sound = sound;
        best = std::move(table);
      }
    }
  }
  if (best) std::erase_if(best->types_, [](const auto& entry) { return entry.second == nullptr; });
  if (best_sound < kEnough) return fail(ErrorCode::kUnsupported, "the program's types were not found");
  return best;
}

// Types that those known so far are made of: a program's data may refer to as few as six.
std::size_t TypeTable::count_reachable() {
  constexpr std::size_t kMost = 256;
  std::vector<const Type*> work;
  for (const auto& [address, type] : types_) {
    if (type) work.push_back(type.get());
  }
  const std::size_t seeds = work.size();
  std::unordered_set<const Type*> seen(work.begin(), work.end());
  const auto visit = [&](const Type* type) {
    if (type && seen.insert(type).second) work.push_back(type);
  };
  for (std::size_t i = 0; i < work.size() && work.size() < seeds + kMost; ++i) {
    for (const Type::Field& field : fields(*work[i])) visit(field.type);
    const Kind kind = work[i]->kind();
    if (kind == Kind::kArray || kind == Kind::kChan || kind == Kind::kPointer || kind == Kind::kSlice ||
        kind == Kind::kMap) {
      visit(element(*work[i]));
    }
  }
  return work.size() - seeds;
}

std::optional<std::string> TypeTable::name_at(std::uint64_t address) {
  std::array<std::uint8_t, 4> head{};  // flags, then a varint
  if (!memory_.read(address, std::as_writable_bytes(std::span(head))).has_value()) return std::nullopt;
  std::uint64_t length = head[1] & 0x7f, prefix = 2;
  if (head[1] & 0x80) {
    length |= std::uint64_t{head[2] & 0x7fU} << 7;
    prefix = 3;
    if (head[2] & 0x80) return std::nullopt;
  }
  if (length == 0 || length > kMaxTypeName) return std::nullopt;
  std::string name(length, '\0');
  if (!memory_.read(address + prefix, std::as_writable_bytes(std::span(name.data(), name.size()))).has_value()) {
    return std::nullopt;
  }
  const bool is_text =
      std::all_of(name.begin(), name.end(), [](char c) { return (c & 0x80) || (c >= 32 && c != 127); });
  return is_text ? std::optional(name) : std::nullopt;
}

std::unique_ptr<Type> TypeTable::parse(std::uint64_t address) {
  const auto record = memory_.get<TypeRecord>(address);
  if (!record.has_value() || !is_sound(*record)) return nullptr;
  const auto offset = static_cast<std::uint64_t>(record->name);
  if (offset >= range_.size()) return nullptr;
  auto name = name_at(range_.begin + offset);
  if (!name) return nullptr;
  auto type = std::make_unique<Type>();
  type->address = address;
  type->size = record->size;
  type->pointer_bytes = record->pointer_bytes;
  type->gc_data = record->gc_data;
  type->hash = record->hash;
  type->kind_byte = record->kind;
  type->flags = record->flags;
  if ((record->flags & kExtraStar) && name->front() == '*') name->erase(0, 1);
  if (type->kind() == Kind::kStruct && (record->flags & kHasUncommon)) {
    const auto package = memory_.get<std::uint32_t>(address + kStructPackage);
    if (package.has_value() && *package != 0 && *package < range_.size()) {
      *name = full_name(name_at(range_.begin + *package).value_or(""), *name);
    }
  }
  type->name = printable(*name, kMaxShownName);
  return type;
}

const Type* TypeTable::at(std::uint64_t address) {
  if (!range_.contains(address) || address % 8 != 0) return nullptr;
  const auto it = types_.find(address);
  if (it != types_.end()) return it->second.get();
  if (types_.size() >= kMaxTypes || name_bytes_ >= kMaxNameBytes) return nullptr;
  auto type = parse(address);
  if (type) name_bytes_ += type->name.size();
  return types_.emplace(address, std::move(type)).first->second.get();
}

const Type* TypeTable::of_interface_word(std::uint64_t w) {
  struct Itab {
    std::uint64_t interface, type;
    std::uint32_t hash;
  };
  if (w < 0x1000 || w % 8 != 0) return nullptr;
  if (const Type* type = at(w)) return type;
  const auto it = itabs_.find(w);
  if (it != itabs_.end()) return it->second;
  if (itabs_.size() >= kMaxTypes) return nullptr;
  const Type* found = nullptr;
  const auto itab = memory_.get<Itab>(w);
  if (itab.has_value()) {
    const Type* interface = at(itab->interface);
    const Type* type = interface && interface->kind() == Kind::kInterface ? at(itab->type) : nullptr;
    if (type && type->hash == itab->hash) found = type;
  }
  itabs_.emplace(w, found);
  return found;
}

const Type* TypeTable::element(const Type& type) { return at(word(type.address + kTail)); }

const std::vector<Type::Field>& TypeTable::fields(const Type& constant) {
  Type& type = *types_.find(constant.address)->second;
  if (type.has_fields || type.kind() != Kind::kStruct) return type.fields;
  type.has_fields = true;
  const std::uint64_t first = word(type.address + kStructFields), count = word(type.address + kStructFields + 8);
  if (count > kMaxFields) return type.fields;
  for (std::uint64_t i = 0; i < count; ++i) {
    struct Raw {
      std::uint64_t name, type, offset;
    };
    const auto raw = memory_.get<Raw>(first + i * sizeof(Raw));
    if (!raw.has_value()) break;
    const Type* field = at(raw->type);
    if (!field || raw->offset > type.size || field->size > type.size - raw->offset) continue;
    auto name = name_at(raw->name);
    if (!name) continue;
    name_bytes_ += name->size();
    type.fields.push_back({field, raw->offset, printable(*name, kMaxShownName)});
  }
  return type.fields;
}

std::optional<Step> TypeTable::leaf_of_struct(const Type& type, std::uint64_t offset, int depth) {
  const Type* hinted = nullptr;  // atomic.Pointer[T] names T only in a field [0]*T
  for (const Type::Field& field : fields(type)) {
    if (field.type->kind() == Kind::kArray && field.type->size == 0) {
      const Type* pointer = element(*field.type);
      hinted = pointer && pointer->kind() == Kind::kPointer ? element(*pointer) : nullptr;
    }
    if (offset < field.offset || offset - field.offset >= field.type->size) continue;
    if (field.type->kind() == Kind::kUnsafePointer && hinted) return Step{{Shape::kValue, hinted}, "." + field.name};
    auto step = leaf(*field.type, offset - field.offset, depth + 1);
    if (step) step->field.insert(0, "." + field.name);
    return step;
  }
  return std::nullopt;
}

std::optional<Step> TypeTable::leaf(const Type& type, std::uint64_t offset, int depth) {
  if (depth > kMaxDepth || offset >= type.size) return std::nullopt;
  const auto to = [&](Shape shape, const Type* target) {
    return target ? std::optional(Step{{shape, target}, ""}) : std::nullopt;
  };
  switch (type.kind()) {
    case Kind::kPointer:
      return to(Shape::kValue, element(type));
    case Kind::kSlice:
      return offset == 0 ? to(Shape::kArray, element(type)) : std::nullopt;
    case Kind::kString:
      return offset == 0 ? std::optional(Step{{Shape::kBytes}, ""}) : std::nullopt;
    case Kind::kMap:
      return to(Shape::kMap, &type);
    case Kind::kChan:
      return to(Shape::kChan, element(type));
    case Kind::kStruct:
      return leaf_of_struct(type, offset, depth);
    case Kind::kArray: {
      const Type* item = element(type);
      if (!item || item->size == 0) return std::nullopt;
      auto step = leaf(*item, offset % item->size, depth + 1);
      if (step) step->field.insert(0, "[]");
      return step;
    }
    default:
      return std::nullopt;
  }
}

const Type* TypeTable::map_block(const Type& type) {
  const Type* block = at(word(type.address + kMapBlock));
  return block && is_map_block(*block) ? block : nullptr;
}

std::optional<Step> TypeTable::inside_map(const Described& object, std::uint64_t offset) {
  const Type* block = map_block(*object.type);
  if (!block) return std::nullopt;
  const Step entries{{Shape::kArray, block}, ""};
  if (!is_swiss_group(*block)) {  // buckets, and the old ones while it grows
    return offset == 16 || offset == 24 ? std::optional(entries) : std::nullopt;
  }
  if (object.shape == Shape::kMapDirectory) return Step{{Shape::kMapTable, object.type}, ""};
  if (offset != 16) return std::nullopt;
  if (object.shape == Shape::kMap) return Step{{Shape::kMapDirectory, object.type}, ""};
  return entries;
}

std::optional<Step> TypeTable::step(const Described& object, std::uint64_t offset) {
  switch (object.shape) {
    case Shape::kValue:
      return leaf(*object.type, offset, 0);
    case Shape::kArray: {
      if (object.type->size == 0) return std::nullopt;
      auto step = leaf(*object.type, offset % object.type->size, 0);
      if (step) step->field.insert(0, "[]");
      return step;
    }
    case Shape::kMap:
    case Shape::kMapDirectory:
    case Shape::kMapTable:
      return inside_map(object, offset);
    case Shape::kChan:
      return offset == 16 ? std::optional(Step{{Shape::kArray, object.type}, ""}) : std::nullopt;
    default:
      return std::nullopt;
  }
}

void TypeTable::append_field(const Type& type, std::uint64_t offset, int depth, std::string& path) {
  if (depth > kMaxDepth) return;
  if (type.kind() == Kind::kArray) path += "[]";
  if (type.kind() != Kind::kStruct) return;
  for (const Type::Field& field : fields(type)) {
    if (offset < field.offset || offset - field.offset >= field.type->size) continue;
    path += "." + field.name;
    return append_field(*field.type, offset - field.offset, depth + 1, path);
  }
}

std::string TypeTable::field_at(const Described& object, std::uint64_t offset) {
  std::string path;
  const bool is_array = object.shape == Shape::kArray;
  if ((object.shape != Shape::kValue && !is_array) || object.type->size == 0) return path;
  append_field(*object.type, is_array ? offset % object.type->size : offset, 0, path);
  return path;
}

bool TypeTable::may_point(const Type& type, std::uint64_t offset) {
  if (type.size == 0 || (type.kind_byte & kGcProgram)) return true;
  offset %= type.size;
  if (offset >= type.pointer_bytes) return false;
  std::uint64_t mask = type.gc_data;
  if (type.flags & kMaskOnDemand) mask = word(mask);  // built when first needed
  if (mask < 0x1000) return true;
  const auto byte = memory_.get<std::uint8_t>(mask + offset / 64);
  return !byte.has_value() || (*byte & (1U << (offset / 8 % 8))) != 0;
}

}  // namespace oomw::go::retention
