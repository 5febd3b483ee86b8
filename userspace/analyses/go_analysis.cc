// SPDX-License-Identifier: Apache-2.0
#include "analyses/go_analysis.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <fmt/format.h>

#include "analyses/holders_document.h"
#include "events/contents_file.h"
#include "facts/component_group.h"
#include "facts/operation.h"
#include "pprof/codec.h"
#include "runtimes/go/binary.h"
#include "runtimes/go/retention/goroutine_counts.h"

namespace oomw {
namespace {

using go::retention::GoroutineCounts, go::retention::GoroutineGroup;
using go::retention::Holder, go::retention::HolderLimits, go::retention::Holders, go::retention::HolderStep;

// The process runs on: what was torn once may be whole the next time. Not begun with less time left than this.
constexpr int kAttempts = 3;
constexpr Nanoseconds kLeastTime = std::chrono::milliseconds(200);

struct GoProgram {
  std::uint64_t load_bias = 0;
  double rate = 512 << 10;
};

Result<GoProgram> open_program(const AnalysisSubject& subject) {
  ASSIGN_OR_RETURN(const go::GoBinary binary, go::inspect_binary(subject.executable));
  GoProgram program;
  program.load_bias = subject.entry - binary.entry;
  std::int64_t rate = 0;
  if (!binary.variables.rate) return program;
  const auto bytes = std::as_writable_bytes(std::span(&rate, 1));
  const auto n = subject.memory.read_some(*binary.variables.rate + program.load_bias, bytes);
  if (n && *n == sizeof rate && rate > 0) program.rate = static_cast<double>(rate);
  return program;
}

// The qualified names in a root's or an object's text.
std::vector<std::string> words_of(std::string_view text) {
  constexpr std::string_view kBetween = " ,{}[]*~>";
  std::vector<std::string> words;
  for (std::size_t at = text.find_first_not_of(kBetween); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBetween, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBetween, end);
  }
  return words;
}

bool is_own_name(std::string_view word) {
  return word.find('.') != std::string_view::npos && role_of(word) != FrameRole::kStandard;
}

bool has_own_name(std::string_view text) { return std::ranges::any_of(words_of(text), is_own_name); }

// What every web service's handlers hang on. Names within another type's are without the path.
bool is_of_http(const HolderStep& step) {
  return std::ranges::any_of(words_of(step.object), [](const std::string& word) {
    return word.starts_with("net/http.") || word.starts_with("http.");
  });
}

// Where the standard library keeps it, in every program alike: a goroutine that stands in its code, whoever began it; a
// variable of its own; its timers.
bool is_standard_root(const std::string& root) {
  constexpr std::string_view kIn = " in ";
  const std::size_t in = root.rfind(kIn);
  return !has_own_name(in == std::string::npos ? root : root.substr(in + kIn.size()));
}

// "main.App (its method handleTrack)" of "closure main.(*App).handleTrack-fm", which is made of an object and a method
// of its type; "" = another one.
std::string receiver_of(const std::string& object) {
  constexpr std::string_view kClosure = "closure ", kEnd = "-fm", kOpen = ".(*", kClose = ").";
  if (!object.starts_with(kClosure) || !object.ends_with(kEnd)) return "";
  const std::string name = object.substr(kClosure.size(), object.size() - kClosure.size() - kEnd.size());
  const std::size_t open = name.find(kOpen), close = name.find(kClose, open);
  if (close == std::string::npos) return "";
  const std::string type = name.substr(0, open) + "." + name.substr(open + kOpen.size(), close - open - kOpen.size());
  return fmt::format("{} (its method {})", type, name.substr(close + kClose.size()));
}

std::string step_text(const HolderStep& step) {
  return fmt::format("{} -> {}{}", step.field, without_paths(step.object), step.is_list ? " (list)" : "");
}

// All names of a holder with their import paths, the root's first.
std::vector<std::string> names_of(const Holder& holder) {
  std::vector<std::string> names = {holder.root};
  for (const HolderStep& step : holder.steps) names.push_back(step.object);
  return names;
}

// By the types and functions on the way; the configuration's name for it where one of the same kind lies beside it.
std::string component_of(const Holder& holder) {
  std::string by_code = component_in(names_of(holder));
  const std::string kind = by_code.substr(0, by_code.find('/') + 1);
  return !kind.empty() && holder.component.starts_with(kind) ? holder.component : by_code;
}

void add_holders(const Holders& found, HeapAnalysed& heap) {
  heap.rooted_ratio = found.rooted_share;
  heap.samples = found.samples;
  heap.why_no_owner = found.why_not_named;
  for (const Holder& holder : found.holders) {
    HeapHolder one;
    one.share = holder.share;
    one.bytes = holder.bytes > 0 ? static_cast<std::uint64_t>(holder.bytes) : 0;
    one.samples = holder.samples;
    one.is_owner = found.is_named && heap.holders.empty();
    one.component = component_of(holder);
    one.chain = chain_of(holder);
    heap.holders.push_back(std::move(one));
  }
}

// What the owner keeps in a row, as one that fills the memory.
void add_queue(const Holders& found, HeapAnalysed& heap) {
  if (!found.is_named || !found.holders.front().queue) return;
  const go::retention::Queue& queue = *found.holders.front().queue;
  const HeapHolder& owner = heap.holders.front();
  heap.fillers.push_back(
      {"holder", fmt::format("{} of {}", queue.is_channel ? "channel" : "list", without_paths(queue.item)),
       owner.component.empty() ? owner.chain.front() : owner.component, owner.bytes, queue.length, owner.share});
}

GoroutineStack stack_of(const GoroutineGroup& group) {
  GoroutineStack one;
  one.count = group.count;
  one.state = to_string(group.state);
  std::vector<std::string> names;
  for (const std::string& name : {group.blocked_in, group.function, group.outermost}) {
    if (!name.empty() && (names.empty() || names.back() != name)) names.push_back(name);
  }
  one.component = component_in(names);
  for (const std::string& name : names) one.stack.push_back(without_paths(name));
  one.created_by = without_paths(group.created_by);
  return one;
}

void add_goroutines(const GoroutineCounts& counts, HeapAnalysed& heap) {
  heap.goroutine_count = counts.total + counts.not_read;
  if (counts.list) heap.goroutine_list = {*counts.list};
  for (const GoroutineGroup& group : counts.groups) {
    if (heap.goroutines.size() == HeapAnalysed::kMaxGoroutines) break;
    heap.goroutines.push_back(stack_of(group));
  }
}

HolderLimits limits_for(const AnalysisSubject& subject, int attempt) {
  HolderLimits limits;
  limits.budget = subject.deadline - subject.clock.now();
  limits.seed = static_cast<std::uint64_t>(attempt) + 1;
  return limits;
}

Result<Holders> search(const AnalysisSubject& subject, const go::retention::Subject& program) {
  Result<Holders> best = fail(ErrorCode::kTimeout, "no time for a search");
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (subject.deadline - subject.clock.now() < kLeastTime) break;
    Result<Holders> found = go::retention::find_holders(program, subject.clock, limits_for(subject, attempt));
    const bool is_better = !best || (found && (found->is_named || found->rooted_share > best->rooted_share));
    const bool is_final = found ? found->is_named : found.error().code == ErrorCode::kUnsupported;
    if (is_better) best = std::move(found);
    if (is_final) break;
  }
  return best;
}

}  // namespace

bool is_go_program(const AnalysisSubject& subject) {
  CachedReader reader(subject.executable, 4u << 20, 16u << 10);
  const auto elf = elf::File::open(reader);
  if (!elf) return false;
  return std::ranges::any_of(std::to_array({".gopclntab", ".go.buildinfo", ".data.rel.ro.gopclntab"}),
                             [&](const char* name) { return elf->find_section(name) != nullptr; });
}

// Goroutines first: 10 ms, and they say something also where no owner can be named.
Result<> analyse_go_heap(const AnalysisSubject& subject, AnalysisResult& result) {
  ASSIGN_OR_RETURN(const GoProgram program, open_program(subject));
  const go::retention::Subject read{subject.memory, subject.page_map, subject.executable, program.load_bias,
                                    program.rate};
  const auto counts = go::retention::count_goroutines(read, subject.clock, limits_for(subject, 0));
  if (counts) add_goroutines(*counts, result.heap);
  if (!counts) result.heap.notes.push_back("goroutines: " + counts.error().message);
  auto found = search(subject, read);
  if (!found && !counts) return tl::make_unexpected(std::move(found).error());
  if (!found) {
    result.heap.notes.push_back("holders: not found: " + found.error().message);
    return {};
  }
  add_holders(*found, result.heap);
  add_queue(*found, result.heap);
  result.files[0] = holders_document(*found, counts ? &*counts : nullptr);
  result.files[1] = pprof::write(holders_profile(*found));
  return {};
}

std::string without_paths(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != '/') {
      out += c;
      continue;
    }
    while (!out.empty() && (std::isalnum(static_cast<unsigned char>(out.back())) ||
                            std::string_view("._-~%").find(out.back()) != std::string_view::npos)) {
      out.pop_back();
    }
  }
  return out;
}

std::vector<std::string> chain_of(const Holder& holder) {
  std::string first = holder.root;
  auto step = holder.steps.begin();
  if (is_standard_root(holder.root)) {
    const auto behind_http = std::find_if(holder.steps.rbegin(), holder.steps.rend(), is_of_http).base();
    const auto has_own = [](const HolderStep& one) { return has_own_name(one.object); };
    auto own = std::find_if(behind_http, holder.steps.end(), has_own);
    if (own == holder.steps.end()) own = std::find_if(step, own, has_own);
    if (own != holder.steps.end()) {
      step = own + 1;
      const std::string receiver = receiver_of(own->object);
      const bool is_next = !receiver.empty() && step != holder.steps.end() && step->object.starts_with(kUnnamedObject);
      if (is_next) ++step;
      first = is_next ? receiver : own->object;
    }
  }
  std::vector<std::string> chain = {without_paths(first)};
  for (; step != holder.steps.end() && chain.size() < HeapAnalysed::kMaxChain; ++step)
    chain.push_back(step_text(*step));
  return chain;
}

std::string component_in(const std::vector<std::string>& texts) {
  std::string helper;
  for (const std::string& text : texts) {
    for (const std::string& word : words_of(text)) {
      const pprof::Group group = component_group_of(word);
      if (!group.name.empty() && !group.is_helper) return group.name;
      if (!group.name.empty() && helper.empty()) helper = group.name;
    }
  }
  return helper;
}

}  // namespace oomw
