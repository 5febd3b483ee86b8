// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <toml++/toml.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/text.h"
#include "kernel/kernel_source.h"
#include "kubernetes/api_target.h"

namespace oomw {

// "file:line:column"
inline std::string position(const toml::source_region& where, std::string_view file) {
  return fmt::format("{}:{}:{}", file, where.begin.line, where.begin.column);
}

// Reads the keys of one table, remembers which it was asked for, and calls the rest unknown.
// The first problem wins; later calls do nothing, so a parser is a plain list of keys.
class TableReader {
 public:
  TableReader(const toml::table* table, std::string_view file, std::string name, std::optional<Error>& error)
      : table_(table), file_(file), name_(std::move(name)), error_(error) {}

  void text(std::string_view key, std::string& target) {
    if (const toml::node* node = take(key)) {
      if (const auto* value = node->as_string()) {
        target = value->get();
      } else {
        wrong_type(*node, key, "a string");
      }
    }
  }

  void flag(std::string_view key, bool& target) {
    if (const toml::node* node = take(key)) {
      if (const auto* value = node->as_boolean()) {
        target = value->get();
      } else {
        wrong_type(*node, key, "true or false");
      }
    }
  }

  // true, false or "auto"
  void automatic(std::string_view key, KubernetesMode& target) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    if (const auto* value = node->as_boolean()) {
      target = value->get() ? KubernetesMode::kOn : KubernetesMode::kOff;
    } else if (node->value_or(std::string()) == "auto") {
      target = KubernetesMode::kAuto;
    } else {
      wrong_type(*node, key, "true, false or \"auto\"");
    }
  }

  template <typename T>
  void integer(std::string_view key, T& target, std::int64_t low, std::int64_t high) {
    if (const toml::node* node = take(key)) {
      if (auto value = checked(*node, key, low, high)) target = static_cast<T>(*value);
    }
  }

  template <typename T>
  void integers(std::string_view key, std::vector<T>& target, std::int64_t low, std::int64_t high,
                std::size_t max_items, bool ascending) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const toml::array* array = node->as_array();
    if (array == nullptr || array->size() > max_items) {
      return wrong_type(*node, key, fmt::format("an array of at most {} integers", max_items));
    }
    std::vector<T> values;
    for (const toml::node& item : *array) {
      auto value = checked(item, key, low, high);
      if (!value) return;
      if (ascending && !values.empty() && static_cast<T>(*value) <= values.back()) {
        return wrong_type(item, key, "in ascending order");
      }
      values.push_back(static_cast<T>(*value));
    }
    target = std::move(values);
  }

  void seconds(std::string_view key, Nanoseconds& target, double low, double high) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const std::optional<double> value = node->value<double>();
    if (!value || !(*value >= low && *value <= high)) {
      return wrong_type(*node, key, fmt::format("a number of seconds from {} to {}", low, high));
    }
    target = Nanoseconds(static_cast<std::int64_t>(*value * 1e9));
  }

  void ratio(std::string_view key, double& target) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const std::optional<double> value = node->value<double>();
    if (!value || !(*value >= 0 && *value <= 1)) return wrong_type(*node, key, "a number from 0 to 1");
    target = *value;
  }

  // feature -> best rung allowed
  void rungs(std::string_view key, std::map<std::string, Rung>& target) {
    static const std::set<std::string, std::less<>> kFeatures = {
        "oom_kill", "watermark", "reclaim", "process_lifecycle", "cgroup_lifecycle", "heap_at_kill"};
    const toml::node* node = take(key);
    if (node == nullptr) return;
    const toml::table* table = node->as_table();
    if (table == nullptr) return wrong_type(*node, key, "a table of feature = rung");
    for (const auto& [feature, value] : *table) {
      const std::optional<Rung> rung = rung_of(value.value_or(std::string()));
      if (!kFeatures.contains(feature.str())) {
        return wrong_type(value, feature.str(),
                          "one of oom_kill, watermark, reclaim, process_lifecycle, cgroup_lifecycle, heap_at_kill");
      }
      if (!rung) return wrong_type(value, feature.str(), "one of fentry, tp_btf, raw_tp, files, none");
      target[std::string(feature.str())] = *rung;
    }
  }

  [[nodiscard]] TableReader table(std::string_view key) {
    const toml::table* inner = nullptr;
    if (const toml::node* node = take(key)) {
      inner = node->as_table();
      if (inner == nullptr) wrong_type(*node, key, "a table");
    }
    return {inner, file_, qualified(key), error_};
  }

  // Call last.
  void reject_unknown() {
    if (table_ == nullptr || error_) return;
    for (const auto& [key, node] : *table_) {
      if (taken_.contains(std::string(key.str()))) continue;
      error_ = Error{ErrorCode::kInvalid, fmt::format("{}: unknown key '{}'", position(key.source(), file_),
                                                      printable(qualified(key.str())))};
      return;
    }
  }

 private:
  static std::optional<Rung> rung_of(std::string_view text) {
    for (Rung rung : {Rung::kFentry, Rung::kTpBtf, Rung::kRawTp, Rung::kFiles, Rung::kNone}) {
      if (to_string(rung) == text) return rung;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::string qualified(std::string_view key) const {
    return name_.empty() ? std::string(key) : name_ + "." + std::string(key);
  }

  const toml::node* take(std::string_view key) {
    taken_.emplace(key);
    return table_ == nullptr || error_ ? nullptr : table_->get(key);
  }

  std::optional<std::int64_t> checked(const toml::node& node, std::string_view key, std::int64_t low,
                                      std::int64_t high) {
    const auto* value = node.as_integer();
    if (value != nullptr && value->get() >= low && value->get() <= high) return value->get();
    wrong_type(node, key, fmt::format("an integer from {} to {}", low, high));
    return std::nullopt;
  }

  void wrong_type(const toml::node& node, std::string_view key, std::string_view expected) {
    if (error_) return;
    error_ = Error{ErrorCode::kInvalid, fmt::format("{}: '{}' must be {}", position(node.source(), file_),
                                                    printable(qualified(key)), expected)};
  }

  const toml::table* table_;
  std::string file_;
  std::string name_;
  std::optional<Error>& error_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace oomw
