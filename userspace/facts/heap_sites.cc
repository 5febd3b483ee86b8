// SPDX-License-Identifier: Apache-2.0
#include "facts/heap_sites.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "facts/operation.h"
#include "pprof/frame_names.h"
#include "pprof/saturating.h"

namespace oomw {
namespace {

using Stack = std::vector<StackReader::Frame>;

constexpr std::size_t kMaxName = 160;

std::string printable_name(std::string_view name) { return printable(std::string(name), kMaxName); }

std::string code_of(const StackReader::Frame& frame) {
  if (frame.file.empty()) return printable_name(frame.function);
  return fmt::format("{} ({}:{})", printable_name(frame.function),
                     printable_name(frame.file.substr(frame.file.rfind('/') + 1)), frame.line);
}

// The functions from the own frame to the allocation, repetitions once; the innermost are kept of a long one.
std::vector<std::string> path_of(const Stack& stack, std::size_t own) {
  std::vector<std::string> path;
  for (std::size_t i = own + 1; i-- > 0;) {
    std::string name = printable_name(stack[i].function);
    if (path.empty() || path.back() != name) path.push_back(std::move(name));
  }
  if (path.size() > HeapSites::kMaxPath) path.erase(path.begin() + 1, path.end() - HeapSites::kMaxPath + 1);
  return path;
}

class Table {
 public:
  void add(const Stack& stack, std::uint64_t bytes) {
    const auto operation = operation_of(stack);
    if (operation) {
      std::uint64_t& sum = operations_[{operation->kind, operation->name}];
      sum = pprof::saturating_add(sum, bytes);
    }
    const auto own = own_frame_of(stack);
    if (!own) return;
    Entry& entry = sites_[stack[*own].function];
    entry.site.bytes = pprof::saturating_add(entry.site.bytes, bytes);
    if (bytes <= entry.largest) return;
    entry.largest = bytes;
    entry.site.code = code_of(stack[*own]);
    entry.site.path = path_of(stack, *own);
    entry.site.operation_kind = operation ? operation->kind : "";
    entry.site.operation = operation ? operation->name : "";
  }

  HeapSites take(std::uint64_t total) && {
    HeapSites all;
    const auto share = [&](std::uint64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(total); };
    for (auto& [function, entry] : sites_) {
      entry.site.share = share(entry.site.bytes);
      all.sites.push_back(std::move(entry.site));
    }
    for (const auto& [name, bytes] : operations_) {
      all.operations.push_back({name.first, name.second, bytes, share(bytes)});
    }
    const auto keep_largest = [](auto& list, std::size_t most) {
      std::ranges::stable_sort(list, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
      if (list.size() > most) list.resize(most);
    };
    keep_largest(all.sites, HeapSites::kMaxSites);
    keep_largest(all.operations, HeapSites::kMaxOperations);
    return all;
  }

 private:
  struct Entry {
    HeapSite site;
    std::uint64_t largest = 0;  // of its stacks
  };
  std::map<std::string_view, Entry> sites_;  // by the own frame's function
  std::map<std::pair<std::string, std::string>, std::uint64_t> operations_;
};

}  // namespace

HeapSites heap_sites_of(const pprof::Profile& profile) {
  const int column = profile.type_index("inuse_space");
  if (column < 0) return {};
  const StackReader reader(profile);
  pprof::FrameBudget budget;
  Table table;
  std::uint64_t total = 0;
  for (const pprof::Sample& sample : profile.samples) {
    const auto index = static_cast<std::size_t>(column);
    if (index >= sample.values.size() || sample.values[index] <= 0) continue;
    const auto bytes = static_cast<std::uint64_t>(sample.values[index]);
    total = pprof::saturating_add(total, bytes);
    const Stack stack = reader.frames_of(sample);
    if (budget.take(stack.size())) table.add(stack, bytes);
  }
  return total == 0 ? HeapSites{} : std::move(table).take(total);
}

}  // namespace oomw
