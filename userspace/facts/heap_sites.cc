// SPDX-License-Identifier: Apache-2.0
#include "facts/heap_sites.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "facts/growth_pprof.h"
#include "facts/operation.h"
#include "pprof/frame_names.h"
#include "pprof/saturating.h"

namespace oomw {
namespace {

using Stack = std::vector<StackReader::Frame>;

std::string code_of(const StackReader::Frame& frame) {
  if (frame.file.empty()) return printable_function(frame.function);
  return fmt::format("{} ({}:{})", printable_function(frame.function), printable(base_name(frame.file), kMaxCodeName),
                     frame.line);
}

// The functions from the own frame to the allocation, repetitions once; the innermost are kept of a long one.
std::vector<std::string> path_of(const Stack& stack, std::size_t own) {
  std::vector<std::string> path;
  for (std::size_t i = own + 1; i-- > 0;) {
    std::string name = printable_function(stack[i].function);
    if (path.empty() || path.back() != name) path.push_back(std::move(name));
  }
  if (path.size() > HeapSites::kMaxPath) path.erase(path.begin() + 1, path.end() - HeapSites::kMaxPath + 1);
  return path;
}

// A program can lay out a list of a hundred thousand functions; what lies beyond those of a real one is left out.
constexpr std::size_t kMaxFunctions = 16'384, kMaxOperationNames = 1'024, kMaxParts = 65'536;
// An allocator of the program's own, and a constructor that calls it.
constexpr std::size_t kMaxHelpers = 2;

void add_to(std::uint64_t& sum, std::uint64_t bytes) { sum = pprof::saturating_add(sum, bytes); }

// What the stacks with the same own functions next to the allocation hold for one operation.
struct Part {
  std::uint64_t bytes = 0;
  std::uint64_t largest = 0;              // of its stacks
  const pprof::Sample* sample = nullptr;  // that one
  std::size_t helpers = 0;                // own functions that are passed over
};
// Own functions, innermost first, "" = there is no further one; the operation's number, 0 = none.
using PartKey = std::pair<std::array<std::string_view, kMaxHelpers + 1>, std::size_t>;
using PartsByKey = std::map<PartKey, Part>;

// What a function holds, and for whom it allocated it.
struct Helped {
  std::uint64_t bytes = 0;
  std::map<std::string_view, std::uint64_t> callers;  // own ones; "" = the operation's own function, or none
};

bool is_helper(const Helped& helped) {
  constexpr std::size_t kMany = 3;  // two may be how a cache is filled at first and then used
  return helped.callers.size() >= kMany && std::ranges::any_of(helped.callers, [&](const auto& caller) {
           return !caller.first.empty() && caller.second >= helped.bytes - helped.bytes / 2;
         });
}

// Of the parts that have passed over so many.
std::set<std::string_view> helpers_of(const PartsByKey& parts, std::size_t passed) {
  std::map<std::string_view, Helped> functions;
  for (const auto& [key, part] : parts) {
    if (part.helpers != passed) continue;
    Helped& helped = functions[key.first[passed]];
    add_to(helped.bytes, part.bytes);
    add_to(helped.callers[key.first[passed + 1]], part.bytes);
  }
  std::set<std::string_view> helpers;
  for (const auto& [function, helped] : functions) {
    if (is_helper(helped)) helpers.insert(function);
  }
  return helpers;
}

void pass_over_helpers(PartsByKey& parts) {
  for (std::size_t passed = 0; passed < kMaxHelpers; ++passed) {
    const auto helpers = helpers_of(parts, passed);
    for (auto& [key, part] : parts) {
      const bool has_caller = part.helpers == passed && !key.first[passed + 1].empty();
      if (has_caller && helpers.contains(key.first[passed])) ++part.helpers;
    }
  }
}

// Sums first; the texts of the few that are kept are made at the end.
class Table {
 public:
  explicit Table(const StackReader& reader) : reader_(reader) {}

  void add(const Stack& stack, const pprof::Sample& sample, std::uint64_t bytes) {
    PartKey key{{}, add_operation(stack, bytes)};
    const auto own = own_frames_of(stack);
    if (own.empty()) return;
    // The last of them is the operation's function, so it is no caller that a site may be moved to.
    for (std::size_t i = 0; i < std::min(own.size(), key.first.size()); ++i) {
      if (i == 0 || i + 1 < own.size()) key.first[i] = stack[own[i]].function;
    }
    if (functions_.size() >= kMaxFunctions && !functions_.contains(key.first[0])) return;
    functions_.insert(key.first[0]);
    if (parts_.size() < kMaxParts || parts_.contains(key)) add_part(parts_[key], sample, bytes);
  }

  [[nodiscard]] HeapSites take(std::uint64_t total) && {
    const auto share = [&](std::uint64_t bytes) { return static_cast<double>(bytes) / static_cast<double>(total); };
    HeapSites all;
    for (const auto& [name, sum] : operations_) {
      all.operations.push_back({name.first, name.second, sum.bytes, share(sum.bytes)});
    }
    keep_largest(all.operations, HeapSites::kMaxOperations);
    std::vector<Site> largest = sites();
    keep_largest(largest, HeapSites::kMaxSites);
    for (const Site& site : largest) all.sites.push_back(site_of(site, share(site.bytes)));
    return all;
  }

 private:
  using OperationName = std::pair<std::string, std::string>;  // kind, name
  struct OperationSum {
    std::size_t number;  // in the order of the profile
    std::uint64_t bytes = 0;
  };
  struct Site {
    std::uint64_t bytes = 0;
    std::map<std::size_t, Part> parts;  // by operation: a function that all endpoints call is one site
  };

  // Its number.
  std::size_t add_operation(const Stack& stack, std::uint64_t bytes) {
    auto operation = operation_of(stack);
    if (!operation) return 0;
    OperationName name(std::move(operation->kind), std::move(operation->name));
    if (operations_.size() >= kMaxOperationNames && !operations_.contains(name)) return 0;
    const auto [it, is_new] = operations_.try_emplace(std::move(name), OperationSum{operations_.size() + 1});
    if (is_new) names_.push_back(&it->first);
    OperationSum& sum = it->second;
    add_to(sum.bytes, bytes);
    return sum.number;
  }

  static void add_part(Part& part, const pprof::Sample& sample, std::uint64_t bytes) {
    add_to(part.bytes, bytes);
    if (bytes <= part.largest) return;
    part.largest = bytes;
    part.sample = &sample;
  }

  // One for each function that is named: the allocating one, or the caller that took the place of a helper.
  std::vector<Site> sites() {
    pass_over_helpers(parts_);
    std::map<std::string_view, Site> by_function;
    for (const auto& [key, part] : parts_) {
      Site& site = by_function[key.first[part.helpers]];
      add_to(site.bytes, part.bytes);
      Part& sum = site.parts[key.second];
      const bool is_larger = part.largest > sum.largest;
      add_to(sum.bytes, part.bytes);
      if (is_larger) sum.largest = part.largest, sum.sample = part.sample, sum.helpers = part.helpers;
    }
    std::vector<Site> sites;
    for (auto& [function, site] : by_function) sites.push_back(std::move(site));
    return sites;
  }

  static void keep_largest(auto& list, std::size_t most) {
    std::ranges::stable_sort(list, [](const auto& a, const auto& b) { return a.bytes > b.bytes; });
    if (list.size() > most) list.resize(most);
  }

  static const Part& largest_part(const Site& site) {
    const auto less = [](const auto& a, const auto& b) {
      return std::pair(a.second.bytes, a.second.largest) < std::pair(b.second.bytes, b.second.largest);
    };
    return std::ranges::max_element(site.parts, less)->second;
  }

  // The operation that half of it or more was allocated for, or the largest of several that have half together, most
  // first: "main.order, main.review and 2 others". Their kind is "" unless they have one in common.
  [[nodiscard]] Operation operation_for(const Site& of) const {
    constexpr std::size_t kMost = 3;
    std::vector<std::pair<std::size_t, std::uint64_t>> largest;  // number, bytes
    for (const auto& [number, part] : of.parts) {
      if (number != 0) largest.emplace_back(number, part.bytes);
    }
    std::ranges::stable_sort(largest, std::ranges::greater(), [](const auto& one) { return one.second; });
    Operation sum;
    std::uint64_t bytes = 0;
    std::size_t named = 0;
    for (; named < std::min(largest.size(), kMost) && bytes < of.bytes / 2; ++named) {
      const OperationName& name = *names_[largest[named].first - 1];
      add_to(bytes, largest[named].second);
      sum.kind = named == 0 || sum.kind == name.first ? name.first : "";
      sum.name += (named == 0 ? "" : ", ") + name.second;
    }
    if (bytes < of.bytes / 2) return {};
    const std::size_t others = largest.size() - named;
    if (named > 1 && others > 0) sum.name += fmt::format(" and {} other{}", others, others == 1 ? "" : "s");
    return sum;
  }

  // With the largest stack of the operation that has most.
  [[nodiscard]] HeapSite site_of(const Site& of, double share) const {
    const Part& part = largest_part(of);
    const Stack stack = reader_.frames_of(*part.sample);
    const std::size_t own = own_frames_of(stack)[part.helpers];
    HeapSite site;
    site.code = code_of(stack[own]);
    site.path = path_of(stack, own);
    site.bytes = of.bytes;
    site.share = share;
    Operation operation = operation_for(of);
    site.operation_kind = std::move(operation.kind);
    site.operation = std::move(operation.name);
    return site;
  }

  const StackReader& reader_;
  std::set<std::string_view> functions_;  // that are nearest to an allocation
  PartsByKey parts_;
  std::map<OperationName, OperationSum> operations_;
  std::vector<const OperationName*> names_;  // by their number, from 1 on; of operations_
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

HeapSites grown_sites_of(const pprof::Profile& profile) {
  if (profile.type_index(kGrowthType) != 0) return {};
  std::map<std::string_view, std::uint64_t> sums;
  std::uint64_t total = 0;
  for (const pprof::Sample& sample : profile.samples) {
    if (sample.values.empty() || sample.values[0] <= 0) continue;
    const auto bytes = static_cast<std::uint64_t>(sample.values[0]);
    add_to(total, bytes);
    const auto label = std::ranges::find(sample.labels, kCodeLabel, &pprof::Label::key);
    if (label != sample.labels.end()) add_to(sums[label->text], bytes);
  }
  HeapSites found;
  for (const auto& [code, bytes] : sums) {
    HeapSite& site = found.sites.emplace_back();
    site.code = printable(code, kMaxCodeName);
    site.bytes = bytes;
    site.share = static_cast<double>(bytes) / static_cast<double>(total);
  }
  std::ranges::stable_sort(found.sites, std::ranges::greater(), &HeapSite::bytes);
  found.sites.resize(std::min(found.sites.size(), HeapSites::kMaxSites));
  return found;
}

}  // namespace oomw
