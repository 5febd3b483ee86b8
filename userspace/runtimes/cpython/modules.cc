// SPDX-License-Identifier: Apache-2.0
#include "runtimes/cpython/modules.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text.h"

namespace oomw::cpython {
namespace {

constexpr std::size_t kDictOfModuleAt = 16;
constexpr std::uint64_t kFirstGlobals = 64, kMaxGlobals = 4096;

// Debian's packages, others' and the language's own lie in such folders.
bool is_own_file(std::string_view path) {
  constexpr std::array<std::string_view, 4> kLibraries = {"/lib/python3", "/site-packages/", "/dist-packages/", "<"};
  return !path.empty() && std::ranges::none_of(kLibraries, [&](std::string_view part) {
    return path.find(part) != std::string_view::npos;
  });
}

// "_decimal" of ".../_decimal.cpython-311-x86_64-linux-gnu.so"; behind what a module of C has made itself.
std::string file_of(ObjectReader& objects, const Module& module) {
  for (std::uint64_t i = 0; i < std::min(module.keys.count, kMaxGlobals); ++i) {
    const auto entry = objects.entry(module.globals, module.keys, i);
    if (!entry || objects.identifier(entry->key) != "__file__") continue;
    const std::string path = objects.ascii(entry->value), file(base_name(path));
    return file.substr(0, file.find('.'));
  }
  return "";
}

}  // namespace

std::optional<Module> module_at(ObjectReader& objects, std::uint64_t address) {
  const std::optional<Object> module = objects.object(address);
  if (!module || module->type->layout != Layout::kModule) return std::nullopt;
  const std::optional<Object> dict = objects.object(module->word_at(kDictOfModuleAt));
  if (!dict || dict->type->layout != Layout::kDict) return std::nullopt;
  const std::optional<KeyTable> keys = objects.keys_of(*dict);
  if (!keys) return std::nullopt;
  Module found{*dict, *keys, "", false};
  for (std::uint64_t i = 0; i < std::min(keys->count, kFirstGlobals); ++i) {
    const auto entry = objects.entry(*dict, *keys, i);
    if (!entry) continue;
    const std::string key = objects.identifier(entry->key);
    if (key == "__name__") found.name = objects.identifier(entry->value, true);
    if (key == "__file__") found.is_own = is_own_file(objects.ascii(entry->value));
    if (key == "__file__" && !found.name.empty()) break;
  }
  if (found.name.empty()) return std::nullopt;
  if (found.name == "__main__") found.is_own = true;
  return found;
}

void name_types_by_modules(TypeTable& types, ObjectReader& objects, std::span<const std::uint64_t> modules) {
  std::unordered_map<std::uint64_t, std::string> unnamed = types.unnamed();
  for (auto address = modules.begin(); address != modules.end() && !unnamed.empty(); ++address) {
    const std::optional<Module> module = module_at(objects, *address);
    if (!module) continue;
    std::vector<DictEntry> found;
    std::string file;
    for (std::uint64_t i = 0; i < std::min(module->keys.count, kMaxGlobals); ++i) {
      const auto entry = objects.entry(module->globals, module->keys, i);
      if (entry && unnamed.contains(entry->value)) found.push_back(*entry);
    }
    if (!found.empty()) file = file_of(objects, *module);
    for (const DictEntry& entry : found) {
      const auto type = unnamed.find(entry.value);
      if (type == unnamed.end() || type->second != file) continue;
      const std::string name = objects.identifier(entry.key);
      if (name.empty()) continue;
      types.give_name(type->first, module->name + "." + name);
      unnamed.erase(type);
    }
  }
}

}  // namespace oomw::cpython
