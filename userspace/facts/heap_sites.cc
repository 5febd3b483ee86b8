// SPDX-License-Identifier: Apache-2.0
#include "facts/heap_sites.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "facts/call_sites.h"
#include "facts/operation.h"
#include "pprof/frame_names.h"
#include "pprof/saturating.h"

namespace oomw {
namespace {

using Stack = std::vector<StackReader::Frame>;

constexpr std::size_t kMaxName = 160;

std::string printable_name(std::string_view name) { return printable(std::string(name), kMaxName); }

std::string function_name(std::string_view function) { return printable_name(without_type_arguments(function)); }

std::string code_of(const StackReader::Frame& frame) {
  if (frame.file.empty()) return function_name(frame.function);
  return fmt::format("{} ({}:{})", function_name(frame.function),
                     printable_name(frame.file.substr(frame.file.rfind('/') + 1)), frame.line);
}

// The functions from the own frame to the allocation, repetitions once; the innermost are kept of a long one.
std::vector<std::string> path_of(const Stack& stack, std::size_t own) {
  std::vector<std::string> path;
  for (std::size_t i = own + 1; i-- > 0;) {
    std::string name = function_name(stack[i].function);
    if (path.empty() || path.back() != name) path.push_back(std::move(name));
  }
  if (path.size() > HeapSites::kMaxPath) path.erase(path.begin() + 1, path.end() - HeapSites::kMaxPath + 1);
  return path;
}

// A program can lay out a list of a hundred thousand functions; what lies beyond those of a real one is left out.
constexpr std::size_t kMaxFunctions = 16'384, kMaxOperationNames = 1'024, kMaxParts = 65'536;

// Sums first; the texts of the few that are kept are made at the end.
class Table {
 public:
  explicit Table(const StackReader& reader) : reader_(reader) {}

  void add(const Stack& stack, const pprof::Sample& sample, std::uint64_t bytes) {
    const std::size_t operation = add_operation(stack, bytes);
    const auto own = own_frames_of(stack);
    if (own.empty()) return;
    const std::string_view function = stack[own.front()].function;
    if (sites_.size() >= kMaxFunctions && !sites_.contains(function)) return;
    std::uint64_t& sum = sites_[function];
    sum = pprof::saturating_add(sum, bytes);
    add_part({function, operation}, sample, bytes);
  }

  [[nodiscard]] HeapSites take(std::uint64_t total) && {
    const auto share = [&](std::uint64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(total); };
    HeapSites all;
    for (const auto& [name, sum] : operations_) {
      all.operations.push_back({name.first, name.second, sum.bytes, share(sum.bytes)});
    }
    keep_largest(all.operations, HeapSites::kMaxOperations);
    std::vector<Site> largest;
    for (const auto& [function, bytes] : sites_) largest.push_back({function, bytes});
    keep_largest(largest, HeapSites::kMaxSites);
    for (const Site& site : largest) {
      if (const Part* part = largest_part_of(site.function))
        all.sites.push_back(site_of(site, *part, share(site.bytes)));
    }
    return all;
  }

 private:
  using OperationName = std::pair<std::string, std::string>;  // kind, name
  using PartKey = std::pair<std::string_view, std::size_t>;   // own function; the operation's number, 0 = none
  struct OperationSum {
    std::size_t number;  // in the order of the profile
    std::uint64_t bytes = 0;
  };
  struct Site {
    std::string_view function;
    std::uint64_t bytes = 0;
  };
  // What a site holds for one operation. A helper that all endpoints call is one site.
  struct Part {
    std::uint64_t bytes = 0;
    std::uint64_t largest = 0;              // of its stacks
    const pprof::Sample* sample = nullptr;  // that one
  };

  // Its number.
  std::size_t add_operation(const Stack& stack, std::uint64_t bytes) {
    auto operation = operation_of(stack);
    if (!operation) return 0;
    OperationName name(std::move(operation->kind), std::move(operation->name));
    if (operations_.size() >= kMaxOperationNames && !operations_.contains(name)) return 0;
    OperationSum& sum = operations_.try_emplace(std::move(name), OperationSum{operations_.size() + 1}).first->second;
    sum.bytes = pprof::saturating_add(sum.bytes, bytes);
    return sum.number;
  }

  void add_part(const PartKey& key, const pprof::Sample& sample, std::uint64_t bytes) {
    if (parts_.size() >= kMaxParts && !parts_.contains(key)) return;
    Part& part = parts_[key];
    part.bytes = pprof::saturating_add(part.bytes, bytes);
    if (bytes <= part.largest) return;
    part.largest = bytes;
    part.sample = &sample;
  }

  [[nodiscard]] const Part* largest_part_of(std::string_view function) const {
    const Part* most = nullptr;
    for (auto part = parts_.lower_bound({function, 0}); part != parts_.end() && part->first.first == function; ++part) {
      const auto as_good = [&] { return part->second.bytes == most->bytes && part->second.largest > most->largest; };
      if (most == nullptr || part->second.bytes > most->bytes || as_good()) most = &part->second;
    }
    return most;
  }

  static void keep_largest(auto& list, std::size_t most) {
    std::ranges::stable_sort(list, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    if (list.size() > most) list.resize(most);
  }

  // The operation that half of it or more was allocated for, and the largest stack of that which has most.
  [[nodiscard]] HeapSite site_of(const Site& of, const Part& part, double share) const {
    const Stack stack = reader_.frames_of(*part.sample);
    const std::size_t own = own_frames_of(stack).front();
    HeapSite site;
    site.code = code_of(stack[own]);
    site.path = path_of(stack, own);
    site.bytes = of.bytes;
    site.share = share;
    if (auto operation = part.bytes >= of.bytes / 2 ? operation_of(stack) : std::nullopt) {
      site.operation_kind = std::move(operation->kind);
      site.operation = std::move(operation->name);
    }
    return site;
  }

  const StackReader& reader_;
  std::map<std::string_view, std::uint64_t> sites_;  // by the own frame's function
  std::map<PartKey, Part> parts_;
  std::map<OperationName, OperationSum> operations_;
};

}  // namespace

HeapSites heap_sites_of(const pprof::Profile& profile, const OperationPatterns& patterns) {
  const int column = profile.type_index("inuse_space");
  if (column < 0) return {};
  const StackReader reader(profile, patterns);
  pprof::FrameBudget budget;
  Table table(reader);
  std::uint64_t total = 0;
  for (const pprof::Sample& sample : profile.samples) {
    const auto index = static_cast<std::size_t>(column);
    if (index >= sample.values.size() || sample.values[index] <= 0) continue;
    const auto bytes = static_cast<std::uint64_t>(sample.values[index]);
    total = pprof::saturating_add(total, bytes);
    const Stack stack = reader.frames_of(sample);
    if (budget.take(stack.size())) table.add(stack, sample, bytes);
  }
  return total == 0 ? HeapSites{} : std::move(table).take(total);
}

}  // namespace oomw
