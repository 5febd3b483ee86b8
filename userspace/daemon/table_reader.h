// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/suggestion.h"
#include "base/text.h"
#include "daemon/config.h"
#include "kernel/kernel_source.h"
#include "kubernetes/api_target.h"

namespace oomw {

// "file:line:column"
inline std::string position(const toml::source_region& where, std::string_view file) {
  return fmt::format("{}:{}:{}", file, where.begin.line, where.begin.column);
}

// The state that all tables of one file share.
struct TableReading {
  std::optional<Error> error;         // the first problem
  std::vector<ConfigValue> in_force;  // every key that was asked for, with the value it has now
};

// Reads the keys of one table, remembers which were asked for, and at its end rejects the rest as unknown.
// The first problem wins; later calls do nothing, so a parser is a plain list of keys.
class TableReader {
 public:
  TableReader(const toml::table* table, std::string_view file, std::string name, TableReading& reading)
      : table_(table), file_(file), name_(std::move(name)), reading_(reading) {}
  ~TableReader() {
    if (table_ == nullptr || reading_.error) return;
    for (const auto& [key, node] : *table_) {
      if (taken_.contains(std::string(key.str()))) continue;
      fail_at(key.source(),
              fmt::format("unknown key '{}'{}", printable(qualified(key.str())),
                          did_you_mean(key.str(), std::vector<std::string>(taken_.begin(), taken_.end()))));
    }
  }
  TableReader(const TableReader&) = delete;
  TableReader& operator=(const TableReader&) = delete;

  void text(std::string_view key, std::string& target) {
    if (const toml::node* node = take(key)) {
      if (const auto* value = node->as_string()) {
        target = value->get();
      } else {
        wrong_type(*node, key, "a string");
      }
    }
    note(key, '"' + target + '"');
  }

  void flag(std::string_view key, bool& target) {
    if (const toml::node* node = take(key)) {
      if (const auto* value = node->as_boolean()) {
        target = value->get();
      } else {
        wrong_type(*node, key, "true or false");
      }
    }
    note(key, target ? "true" : "false");
  }

  // true, false or "auto"
  void automatic(std::string_view key, KubernetesMode& target) {
    if (const toml::node* node = take(key)) {
      if (const auto* value = node->as_boolean()) {
        target = value->get() ? KubernetesMode::kOn : KubernetesMode::kOff;
      } else if (node->value_or(std::string()) == "auto") {
        target = KubernetesMode::kAuto;
      } else {
        wrong_type(*node, key, "true, false or \"auto\"");
      }
    }
    note(key, target == KubernetesMode::kAuto ? "\"auto\"" : target == KubernetesMode::kOn ? "true" : "false");
  }

  template <typename T>
  void integer(std::string_view key, T& target, std::int64_t low, std::int64_t high) {
    if (const toml::node* node = take(key)) {
      if (auto value = checked(*node, key, low, high)) target = static_cast<T>(*value);
    }
    note(key, fmt::format("{}", target));
  }

  template <typename T>
  void integers(std::string_view key, std::vector<T>& target, std::int64_t low, std::int64_t high,
                std::size_t max_items, bool ascending) {
    if (const toml::node* node = take(key)) read_integers(*node, key, target, low, high, max_items, ascending);
    note(key, fmt::format("[{}]", fmt::join(target, ", ")));
  }

  // fault_of: what an item must do ("begin with ..."); "" = nothing is wrong with it.
  void texts(std::string_view key, std::vector<std::string>& target, std::size_t max_items,
             std::string (*fault_of)(std::string_view)) {
    if (const toml::node* node = take(key)) read_texts(*node, key, target, max_items, fault_of);
    std::string all;
    for (const std::string& text : target) all += (all.empty() ? "\"" : ", \"") + text + '"';
    note(key, "[" + all + "]");
  }

  void seconds(std::string_view key, Nanoseconds& target, double low, double high) {
    if (const toml::node* node = take(key)) {
      const std::optional<double> value = node->value<double>();
      if (value && *value >= low && *value <= high) {
        target = Nanoseconds(static_cast<std::int64_t>(*value * 1e9));
      } else {
        wrong_type(*node, key, fmt::format("a number of seconds from {} to {}", low, high));
      }
    }
    note(key, fmt::format("{:g}", to_seconds(target)));
  }

  void ratio(std::string_view key, double& target) {
    if (const toml::node* node = take(key)) {
      const std::optional<double> value = node->value<double>();
      if (value && *value >= 0 && *value <= 1) {
        target = *value;
      } else {
        wrong_type(*node, key, "a number from 0 to 1");
      }
    }
    note(key, fmt::format("{:g}", target));
  }

  // feature -> best backend allowed; a feature that is not named may use the best available.
  void rungs(std::string_view key, std::map<std::string, Rung>& target) {
    if (const toml::node* node = take(key)) read_rungs(*node, key, target);
    for (const char* feature : kFeatures) {
      const auto forced = target.find(feature);
      const Rung best = forced == target.end() ? Rung::kFentry : forced->second;
      note(std::string(key) + "." + feature, fmt::format("\"{}\"", to_string(best)));
    }
  }

  [[nodiscard]] TableReader table(std::string_view key) {
    const toml::table* inner = nullptr;
    if (const toml::node* node = take(key)) {
      inner = node->as_table();
      if (inner == nullptr) wrong_type(*node, key, "a table");
    }
    return {inner, file_, qualified(key), reading_};
  }

  // A key of an earlier version: the error for it explains what became of it.
  void removed(std::string_view key, std::string_view hint) {
    const toml::node* node = take(key);
    if (node == nullptr) return;
    fail_at(node->source(), fmt::format("'{}' was removed: {}", printable(qualified(key)), hint));
  }

 private:
  static constexpr std::array kFeatures = {"oom_kill",          "watermark",        "reclaim",
                                           "process_lifecycle", "cgroup_lifecycle", "heap_at_kill"};

  template <typename T>
  void read_integers(const toml::node& node, std::string_view key, std::vector<T>& target, std::int64_t low,
                     std::int64_t high, std::size_t max_items, bool ascending) {
    const toml::array* array = node.as_array();
    if (array == nullptr || array->size() > max_items) {
      return wrong_type(node, key, fmt::format("an array of at most {} integers", max_items));
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

  void read_texts(const toml::node& node, std::string_view key, std::vector<std::string>& target, std::size_t max_items,
                  std::string (*fault_of)(std::string_view)) {
    const toml::array* array = node.as_array();
    if (array == nullptr || array->size() > max_items) {
      return wrong_type(node, key, fmt::format("an array of at most {} strings", max_items));
    }
    std::vector<std::string> values;
    for (const toml::node& item : *array) {
      const auto* value = item.as_string();
      if (value == nullptr) return wrong_type(item, key, fmt::format("an array of at most {} strings", max_items));
      if (const std::string fault = fault_of(value->get()); !fault.empty()) {
        return fail_at(item.source(),
                       fmt::format("'{}' in '{}' must {}", printable(value->get()), printable(qualified(key)), fault));
      }
      values.push_back(value->get());
    }
    target = std::move(values);
  }

  void read_rungs(const toml::node& node, std::string_view key, std::map<std::string, Rung>& target) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return wrong_type(node, key, "a table of feature = rung");
    for (const auto& [feature, value] : *table) {
      const std::optional<Rung> rung = rung_of(value.value_or(std::string()));
      if (std::find(kFeatures.begin(), kFeatures.end(), feature.str()) == kFeatures.end()) {
        return wrong_type(value, feature.str(), fmt::format("one of {}", fmt::join(kFeatures, ", ")));
      }
      if (!rung) return wrong_type(value, feature.str(), "one of fentry, tp_btf, raw_tp, files, none");
      target[std::string(feature.str())] = *rung;
    }
  }

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
    return table_ == nullptr || reading_.error ? nullptr : table_->get(key);
  }

  std::optional<std::int64_t> checked(const toml::node& node, std::string_view key, std::int64_t low,
                                      std::int64_t high) {
    const auto* value = node.as_integer();
    if (value != nullptr && value->get() >= low && value->get() <= high) return value->get();
    wrong_type(node, key, fmt::format("an integer from {} to {}", low, high));
    return std::nullopt;
  }

  void wrong_type(const toml::node& node, std::string_view key, std::string_view expected) {
    fail_at(node.source(), fmt::format("'{}' must be {}", printable(qualified(key)), expected));
  }

  void fail_at(const toml::source_region& where, const std::string& what) {
    if (reading_.error) return;
    reading_.error = Error{ErrorCode::kInvalid, fmt::format("{}: {}", position(where, file_), what)};
  }

  void note(std::string_view key, std::string value) {
    reading_.in_force.push_back({qualified(key), std::move(value)});
  }

  const toml::table* table_;
  std::string file_;
  std::string name_;
  TableReading& reading_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace oomw
