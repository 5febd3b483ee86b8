// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/retention/component_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace oomw::go::retention {
namespace {

constexpr std::size_t kMaxObjects = 512, kMaxObjectBytes = 2048, kMaxName = 128;
constexpr int kMaxDistance = 4;
constexpr std::array<std::string_view, 4> kKinds = {"exporter", "processor", "receiver", "connector"};
constexpr std::array<std::string_view, 4> kSignals = {"/traces", "/metrics", "/logs", "/profiles"};
constexpr std::uint64_t kStringType = 4;  // attribute.STRING

// Words of an attribute from its key on: address, length, type, number, address, length.
constexpr std::size_t kAttributeWords = 6;

bool is_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("_-./").find(c) != std::string_view::npos;
  });
}

class ComponentSearch {
 public:
  ComponentSearch(const SpanTable& spans, CachedReader& memory) : spans_(spans), memory_(memory) {}

  std::optional<std::string> run(std::span<const std::uint64_t> from) {
    for (const std::uint64_t address : from) add(address);
    for (int step = 0; step <= kMaxDistance && found_.empty(); ++step) {
      const std::vector<ObjectAt> level = std::exchange(next_, {});
      for (const ObjectAt& object : level) visit(object);
    }
    return found_.size() == 1 ? std::optional(*found_.begin()) : std::nullopt;
  }

 private:
  void add(std::uint64_t address) {
    const auto object = spans_.object_at(address);
    if (!object || seen_.size() >= kMaxObjects || !spans_.span(object->span).has_pointers()) return;
    if (seen_.insert(object->base).second) next_.push_back(*object);
  }

  void visit(const ObjectAt& object) {
    const Span& span = spans_.span(object.span);
    std::vector<std::uint64_t> words(std::min<std::uint64_t>(span.slot_bytes, kMaxObjectBytes) / 8);
    if (!memory_.read(object.base, std::as_writable_bytes(std::span(words))).has_value()) return;
    for (std::size_t i = 0; i < words.size(); ++i) {
      note_name(std::span(words).subspan(i));
      add(words[i]);
    }
  }

  void note_name(std::span<const std::uint64_t> words) {
    if (words.size() < 2 || words[1] < kKinds[1].size() - 1 || words[1] > kMaxName) return;
    if (words.size() >= kAttributeWords && words[2] == kStringType && words[3] == 0) note_attribute(words);
    note_span_name(words);
  }

  void note_attribute(std::span<const std::uint64_t> words) {
    const std::string key = text(words[0], words[1]);
    if (std::ranges::find(kKinds, key) == kKinds.end() || words[5] > kMaxName) return;
    const std::string id = text(words[4], words[5]);
    if (is_name(id)) found_.insert(key + "/" + id);
  }

  void note_span_name(std::span<const std::uint64_t> words) {
    if (words[1] < 16) return;  // exporter/x/traces
    const std::string name = text(words[0], words[1]);
    const std::string_view kind = std::string_view(name).substr(0, name.find('/'));
    const auto signal = std::ranges::find_if(kSignals, [&](std::string_view s) { return name.ends_with(s); });
    if (std::ranges::find(kKinds, kind) == kKinds.end() || signal == kSignals.end() || !is_name(name)) return;
    if (name.size() <= kind.size() + 1 + signal->size()) return;
    found_.insert(name.substr(0, name.size() - signal->size()));
  }

  // "" if it cannot be read.
  std::string text(std::uint64_t address, std::uint64_t bytes) {
    std::string text(bytes, '\0');
    if (address == 0 || !memory_.read(address, std::as_writable_bytes(std::span(text))).has_value()) return "";
    return text;
  }

  const SpanTable& spans_;
  CachedReader& memory_;
  std::unordered_set<std::uint64_t> seen_;
  std::vector<ObjectAt> next_;
  std::set<std::string> found_;  // at the step that found any
};

}  // namespace

std::optional<std::string> component_near(std::span<const std::uint64_t> from, const SpanTable& spans,
                                          CachedReader& memory) {
  return ComponentSearch(spans, memory).run(from);
}

}  // namespace oomw::go::retention
