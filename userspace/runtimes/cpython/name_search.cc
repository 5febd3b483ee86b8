// SPDX-License-Identifier: Apache-2.0
#include "runtimes/cpython/name_search.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "runtimes/cpython/modules.h"

namespace oomw::cpython {
namespace {

constexpr std::size_t kDictOfTypeAt = 264;
// Where a class made at run time keeps the keys that its instances share: behind the part that every type has.
constexpr std::size_t kKeysFrom = 400, kKeysTo = 1120;
constexpr std::uint64_t kMaxAttributes = 30;  // that the instances of a class share
constexpr unsigned kHasManagedDict = 4, kHasValuesInside = 2;

std::string of_instance(const std::string& type, const std::string& of) {
  return fmt::format(" of an instance of `{}`{}{}", type, of.empty() ? "" : ", ", of);
}

bool is_private_to_python(const std::string& name) { return name.starts_with("__"); }

}  // namespace

std::string NameSearch::name_of(std::uint64_t address) const {
  const auto found = by_address_.find(address);
  return found == by_address_.end() ? "" : named_[found->second].held_as;
}

void NameSearch::follow_table(std::uint64_t dict_address, const std::string& of, int depth) {
  const std::optional<Object> dict = objects_.object(dict_address);
  if (!dict || dict->type->layout != Layout::kDict) return;
  const std::optional<KeyTable> keys = objects_.keys_of(*dict);
  if (!keys) return;
  for (std::uint64_t i = 0; i < std::min(keys->count, kMaxEntries) && !objects_.is_used_up(); ++i) {
    const auto entry = objects_.entry(*dict, *keys, i);
    if (!entry || seen_.contains(entry->value)) continue;
    const std::string name = objects_.identifier(entry->key);
    if (!name.empty() && !is_private_to_python(name)) add(entry->value, "`" + name + "`" + of, depth);
  }
}

void NameSearch::add(std::uint64_t address, const std::string& text, int depth) {
  if (seen_.size() >= kMaxObjects || !seen_.insert(address).second) return;
  const std::optional<Object> object = objects_.object(address);
  if (!object) return;
  const TypeInfo& type = *object->type;
  const bool is_container = ObjectReader::is_container(type);
  if (is_container && named_.size() < kMaxNamed) {
    by_address_.emplace(address, named_.size());
    named_.push_back({address, text});
  }
  const bool is_followed = (is_container && ObjectReader::length(*object) <= kFewEntries) ||
                           type.layout == Layout::kType || (type.is_heap_type() && type.layout == Layout::kOther) ||
                           (follows_functions_ && type.name == "function");
  if (is_followed && depth < kMaxDepth) waiting_.push_back({*object, text, depth + 1});
}

std::optional<KeyTable> NameSearch::shared_keys(const TypeInfo& type) {
  const auto known = keys_.find(&type);
  if (known != keys_.end()) return known->second;
  std::optional<KeyTable> found;
  for (std::size_t at = kKeysFrom; at < kKeysTo && !found; at += 8) {
    found = objects_.key_table(objects_.word(type.address + at));
    if (found && !found->is_shared) found.reset();
  }
  keys_.emplace(&type, found);
  return found;
}

void NameSearch::follow_values(const Place& place, std::uint64_t values, std::uint64_t capacity) {
  const std::optional<KeyTable> keys = shared_keys(*place.object.type);
  if (!keys) return;
  for (std::uint64_t i = 0; i < std::min({keys->count, capacity, kMaxAttributes}); ++i) {
    const std::uint64_t value = objects_.word(values + i * 8);
    if (value == 0) continue;
    if (!objects_.object(value)) return;  // not the values after all
    const auto entry = objects_.entry(*keys, i);
    const std::string name = entry ? objects_.identifier(entry->key) : "";
    if (!name.empty()) add(value, "`" + name + "`" + of_instance(place.object.type->name, place.text), place.depth);
  }
}

void NameSearch::follow_instance(const Place& place) {
  const TypeInfo& type = *place.object.type;
  const std::string of = of_instance(place.object.type->name, place.text);
  const std::uint64_t body = std::min<std::uint64_t>(type.basic_bytes, 512);
  for (std::uint64_t at = 16; at + 8 <= body; at += 8) {
    if (!type.keeps_at(static_cast<std::int64_t>(at))) continue;
    const std::uint64_t value = objects_.word(place.object.address + at);
    const std::optional<Object> object = objects_.object(value);
    if (!object) continue;
    // Before 3.11 the attributes are a dict in the object; of other dicts the keys are data.
    const bool is_attributes = object->type->layout == Layout::kDict && at + 16 >= body && object->word_at(40) != 0;
    is_attributes ? follow_table(value, of, place.depth) : add(value, "an attribute" + of, place.depth);
  }
  if (!type.has_flag(kHasManagedDict)) return;
  if (type.has_flag(kHasValuesInside)) {
    const std::uint64_t values = place.object.address + (type.basic_bytes + 7) / 8 * 8;
    follow_values(place, values + 8, objects_.word(values) & 0xff);
  }
  for (const std::int64_t at : {-24, -32}) {
    if (!type.keeps_at(at)) continue;
    const std::uint64_t reference = (objects_.word(place.object.address + static_cast<std::uint64_t>(at)) + 7) / 8 * 8;
    if (reference < 4096) continue;
    if (objects_.object(reference)) {
      follow_table(reference, of, place.depth);
    } else {
      follow_values(place, reference, kMaxAttributes);
    }
  }
}

void NameSearch::follow(const Place& place) {
  if (place.object.type->layout == Layout::kType) {
    const TypeInfo* type = types_.at(place.object.address);
    if (type == nullptr || !type->is_heap_type()) return;
    follow_table(objects_.word(type->address + kDictOfTypeAt), " of class " + place.text, place.depth);
    return;
  }
  if (place.object.type->name == "function") {
    for (const auto& [name, value] : frames_.closure_of(place.object)) {
      add(value, "`" + name + "` shared by function " + place.text, place.depth);
    }
    return;
  }
  const std::uint64_t places = objects_.places(place.object);
  if (places == 0) return follow_instance(place);
  for (std::uint64_t i = 0; i < std::min(places, kFewEntries * 4); ++i) {
    const std::vector<std::uint64_t> found = objects_.elements(place.object, i);
    if (!found.empty()) add(found.front(), "inside " + place.text, place.depth);
  }
}

void NameSearch::follow_all() {
  while (!waiting_.empty() && !objects_.is_used_up() && seen_.size() < kMaxObjects) {
    const Place place = std::move(waiting_.front());
    waiting_.pop_front();
    follow(place);
  }
}

void NameSearch::add_locals(const Frame& frame) {
  const std::string of = fmt::format(" of function `{}` in module `{}`", frame.function, frame.module);
  for (const auto& [name, value] : frame.locals) add(value, "`" + name + "`" + of, 0);
}

void NameSearch::follow_frames(const NameRoots& roots) {
  std::unordered_set<std::uint64_t> seen;
  std::map<std::pair<bool, std::uint64_t>, Frame> frames;  // the program's own first; callers lie before what they call
  for (std::uint64_t address : roots.frames) {
    while (address != 0 && seen.size() < kMaxFrames && seen.insert(address).second) {
      std::optional<Frame> frame = frames_.at(address);
      if (!frame) break;
      const std::pair place{!own_modules_.contains(frame->module), address};
      address = frame->previous;
      if (!frame->function.empty()) frames.emplace(place, std::move(*frame));
    }
  }
  // What is called has the same objects as arguments.
  for (const auto& [place, frame] : frames) add_locals(frame);
  for (const std::uint64_t generator : roots.generators) {
    const std::optional<Frame> frame = frames_.of_generator(generator);
    if (frame && !frame->function.empty()) add_locals(*frame);
  }
}

void NameSearch::run(const NameRoots& roots) {
  std::vector<Module> modules;
  for (const std::uint64_t address : roots.modules) {
    if (auto module = module_at(objects_, address)) modules.push_back(std::move(*module));
  }
  for (const Module& module : modules) {
    seen_.insert(module.globals.address);
    if (module.is_own) own_modules_.insert(module.name);
  }
  for (const bool is_own : {true, false}) {
    follows_functions_ = is_own;
    for (const Module& module : modules) {
      if (module.is_own == is_own) follow_table(module.globals.address, fmt::format(" in module `{}`", module.name), 0);
    }
    follow_all();
    if (is_own) follow_frames(roots);
    follow_all();
  }
  for (const std::uint64_t address : roots.instances) {
    const std::optional<Object> object = objects_.object(address);
    if (object && seen_.insert(address).second) waiting_.push_back({*object, "", 1});
  }
  follow_all();
}

}  // namespace oomw::cpython
