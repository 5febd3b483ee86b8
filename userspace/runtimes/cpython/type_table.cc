// SPDX-License-Identifier: Apache-2.0
#include "runtimes/cpython/type_table.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "runtimes/native/words.h"

namespace oomw::cpython {
namespace {

using native::number_at;

constexpr std::uint64_t kMaxDataBytes = 8u << 20;
// Places in a type; the same in 3.9 to 3.14.
constexpr std::size_t kTypeAt = 8, kNameAt = 24, kBasicAt = 32, kItemAt = 40, kFlagsAt = 168, kWeakListAt = 208,
                      kTypeBytes = 216, kBaseAt = 256, kBasesAt = 344;
constexpr unsigned kIsHeapType = 9, kIsReady = 12, kIsInt = 24, kIsList = 25, kIsTuple = 26, kIsBytes = 27, kIsStr = 28,
                   kIsDict = 29, kIsType = 31;
// Its object, a callback that many share, a hash, its neighbours in the object's list; a subclass's attributes follow.
constexpr std::int64_t kBehindWeakReference = 56;
// Its neighbours in the list of a cache, which keeps them by its dict; its key and its result follow.
constexpr std::int64_t kBehindLruLinks = 32;
constexpr std::string_view kNameNotRead = ".?";  // behind the module's
constexpr int kMaxMetatypes = 3, kMaxBases = 32;

bool is_python(const Mapping& mapping) {
  const std::string_view name = mapping.file_name();
  return name.starts_with("libpython") || name.starts_with("python");
}

Layout layout_of(const TypeInfo& type) {
  static constexpr std::array<std::pair<unsigned, Layout>, 7> kByFlag = {{{kIsInt, Layout::kInt},
                                                                          {kIsList, Layout::kList},
                                                                          {kIsTuple, Layout::kTuple},
                                                                          {kIsBytes, Layout::kBytes},
                                                                          {kIsStr, Layout::kStr},
                                                                          {kIsDict, Layout::kDict},
                                                                          {kIsType, Layout::kType}}};
  for (const auto& [bit, layout] : kByFlag) {
    if (type.has_flag(bit)) return layout;
  }
  if (type.name == "collections.deque") return Layout::kDeque;  // made at run time since 3.12
  if (type.is_heap_type()) return Layout::kOther;
  if (type.name == "set" || type.name == "frozenset") return Layout::kSet;
  if (type.name == "bytearray") return Layout::kByteArray;
  return type.name == "module" ? Layout::kModule : Layout::kOther;
}

std::vector<std::uint64_t> own_types_in(const AddressSpace& space, CachedReader& reader, const Mapping& data) {
  std::vector<std::uint64_t> found;
  std::vector<std::byte> bytes(data.size());
  if (!space.read_present(data.begin, bytes).has_value()) return found;
  for (std::size_t at = 0; at + kTypeBytes <= bytes.size() && found.size() < 2; at += 8) {
    const std::uint64_t self = data.begin + at;
    if (number_at(bytes, at + kTypeAt) != self || (number_at(bytes, at + kFlagsAt) >> kIsType & 1) == 0) continue;
    const Result<std::string> name = reader.c_string(number_at(bytes, at + kNameAt), 8);
    if (name.has_value() && *name == "type") found.push_back(self);
  }
  return found;
}

// Since 3.14 a hash stands before a tuple's items. A type's search order is a tuple that begins with the type itself.
std::uint64_t find_tuple_items(CachedReader& reader, std::uint64_t type) {
  const std::uint64_t tuple = reader.get<std::uint64_t>(type + kBasesAt).value_or(0);
  for (const std::uint64_t at : {24, 32}) {
    if (tuple != 0 && reader.get<std::uint64_t>(tuple + at).value_or(0) == type) return at;
  }
  return 0;
}

}  // namespace

bool is_identifier(std::string_view text, bool with_dots) {
  if (text.empty() || std::isdigit(static_cast<unsigned char>(text.front()))) return false;
  return std::ranges::all_of(text, [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x80 && (std::isalnum(byte) || c == '_' || (with_dots && c == '.'));
  });
}

std::vector<Mapping> data_of_python(const AddressSpace& space) {
  std::vector<Mapping> found;
  bool is_behind_python = false;  // the .bss is a mapping of its own
  for (const Mapping& mapping : space.map().mappings()) {
    const bool is_own = is_python(mapping) || (is_behind_python && !mapping.has_file() && mapping.name.empty());
    is_behind_python = is_python(mapping);
    if (is_own && mapping.is_writable && mapping.size() <= kMaxDataBytes) found.push_back(mapping);
  }
  return found;
}

Result<TypeTable> TypeTable::find(const AddressSpace& space, CachedReader& reader) {
  std::vector<std::uint64_t> found;
  for (const Mapping& mapping : data_of_python(space)) {
    const auto more = own_types_in(space, reader, mapping);
    found.insert(found.end(), more.begin(), more.end());
  }
  if (found.size() != 1) return fail(ErrorCode::kNotFound, "no Python whose types could be found");
  return TypeTable(space, reader, found.front(), find_tuple_items(reader, found.front()));
}

bool TypeTable::leads_to_type(std::uint64_t metatype) {
  for (int i = 0; i < kMaxMetatypes; ++i) {
    if (metatype == type_type_) return true;
    const Result<std::uint64_t> next = reader_->get<std::uint64_t>(metatype + kTypeAt);
    if (!next.has_value() || *next == metatype) return false;
    metatype = *next;
  }
  return false;
}

std::string TypeTable::name_at(std::uint64_t address) {
  const Result<std::string> name = reader_->c_string(address, kMaxName);
  if (name.has_value()) return is_identifier(*name, true) ? *name : "";
  const Mapping* mapping = space_->map().at(address);
  if (name.error().code != ErrorCode::kInvalid || mapping == nullptr || is_python(*mapping)) return "";
  // "_decimal.cpython-311-x86_64-linux-gnu.so", "_rust.abi3.so"
  const std::string_view file = mapping->has_file() ? mapping->file_name() : "",
                         module = file.substr(0, file.find('.'));
  const bool is_library = file.substr(module.size()).find(".so") != std::string_view::npos;
  return is_library && is_identifier(module) ? std::string(module).append(kNameNotRead) : "";
}

std::unordered_map<std::uint64_t, std::string> TypeTable::unnamed() const {
  std::unordered_map<std::uint64_t, std::string> found;
  for (const auto& [address, type] : known_) {
    if (!type || !type->name.ends_with(kNameNotRead)) continue;
    found.emplace(address, type->name.substr(0, type->name.size() - kNameNotRead.size()));
  }
  return found;
}

void TypeTable::give_name(std::uint64_t address, const std::string& name) {
  given_names_[address] = name;
  const auto known = known_.find(address);
  if (known != known_.end() && known->second) known->second->name = name;
}

// An instance has the layout of its type's base, that of its base's base, and so on up to `object`. What does not lead
// there is torn, and counts as weak: so nothing is taken for a holder that is none.
bool TypeTable::may_be_weak_reference(std::uint64_t type) {
  // Since 3.10 or 3.12, before.
  static constexpr std::array<std::string_view, 6> kNames = {
      "weakref.ReferenceType", "weakref.ProxyType", "weakref.CallableProxyType", "weakref", "weakproxy",
      "weakcallableproxy"};
  for (int i = 0; i < kMaxBases; ++i) {
    const auto flags = reader_->get<std::uint64_t>(type + kFlagsAt), base = reader_->get<std::uint64_t>(type + kBaseAt);
    if (!flags.has_value() || !base.has_value()) return true;
    if ((*flags >> kIsHeapType & 1) == 0) {
      const std::string name = name_at(reader_->get<std::uint64_t>(type + kNameAt).value_or(0));
      if (name == "object") return false;
      if (name.empty() || std::ranges::find(kNames, name) != kNames.end()) return true;
    }
    type = *base;
  }
  return true;
}

std::optional<TypeInfo> TypeTable::read(std::uint64_t address) {
  if (address % 8 != 0 || space_->map().at(address) == nullptr) return std::nullopt;
  std::array<std::byte, kTypeBytes> bytes;
  if (!reader_->read(address, bytes).has_value()) return std::nullopt;
  TypeInfo type;
  type.address = address;
  type.basic_bytes = number_at(bytes, kBasicAt);
  type.item_bytes = number_at(bytes, kItemAt);
  type.flags = number_at(bytes, kFlagsAt);
  const bool is_sound = type.basic_bytes >= 16 && type.basic_bytes <= (1u << 20) && type.item_bytes <= (1u << 16) &&
                        type.has_flag(kIsReady) && leads_to_type(number_at(bytes, kTypeAt));
  if (!is_sound) return std::nullopt;
  type.name = name_at(number_at(bytes, kNameAt));
  if (type.name.empty()) return std::nullopt;
  const auto given = given_names_.find(address);
  if (given != given_names_.end() && type.name.ends_with(kNameNotRead)) type.name = given->second;
  type.layout = layout_of(type);
  if (type.layout == Layout::kOther && may_be_weak_reference(address)) type.kept_from = kBehindWeakReference;
  type.has_frame = type.name == "generator" || type.name == "coroutine" || type.name == "async_generator";
  if (type.name == "functools._lru_list_elem") {
    type.kept_from = kBehindLruLinks;
    type.list_references = 1;
  }
  type.weak_list_at = number_at<std::int64_t>(bytes, kWeakListAt);
  return type;
}

const TypeInfo* TypeTable::look_up(std::uint64_t address) {
  if (address < 4096) return nullptr;
  const auto found = known_.find(address);
  if (found != known_.end()) return found->second ? &*found->second : nullptr;
  if (known_.size() >= kMaxLookups) return nullptr;
  const auto& stored = known_.emplace(address, read(address)).first->second;
  return stored ? &*stored : nullptr;
}

}  // namespace oomw::cpython
