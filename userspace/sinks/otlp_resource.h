// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "incident/incident.h"

namespace oomw {

struct OtlpAttribute {
  using Value = std::variant<std::string, std::int64_t, double, bool, std::vector<std::string>>;
  std::string key;
  Value value;
  friend bool operator==(const OtlpAttribute&, const OtlpAttribute&) = default;
};

// Adds what is known, as valid and bounded text; what is not known gets no attribute.
class OtlpAttributes {
 public:
  static constexpr std::size_t kMaxText = 1'024;
  static constexpr std::size_t kMaxTexts = 8;  // of one attribute
  explicit OtlpAttributes(std::vector<OtlpAttribute>& target) : target_(target) {}
  void text(const char* key, std::string_view value) {
    if (!value.empty()) target_.push_back({key, printable(value, kMaxText)});
  }
  template <typename T>
  void integer(const char* key, const std::optional<T>& value) {
    if (value) target_.push_back({key, static_cast<std::int64_t>(*value)});
  }
  void number(const char* key, std::optional<double> value) {
    if (value) target_.push_back({key, *value});
  }
  void flag(const char* key, std::optional<bool> value) {
    if (value) target_.push_back({key, *value});
  }
  void texts(const char* key, const std::vector<std::string>& values) {
    std::vector<std::string> shown;
    for (std::size_t i = 0; i < values.size() && i < kMaxTexts; ++i) shown.push_back(printable(values[i], kMaxText));
    if (!shown.empty()) target_.push_back({key, std::move(shown)});
  }

 private:
  std::vector<OtlpAttribute>& target_;
};

struct OtlpMapping {
  std::string cluster_name;              // "" = not known
  std::string host_name;                 // used where no Kubernetes node is known
  bool has_command_line = false;         // may hold secrets
  bool has_service_from_labels = false;  // app.kubernetes.io/instance and .../name before the workload's name
  bool has_profiles = false;             // heap profiles are sent by OTLP, too
  std::function<std::string(const std::string& id)> artifacts_url = {};  // of object storage; empty: none
};

// Whose telemetry it is. Borrowed.
struct OtlpSubject {
  const ContainerIdentity& container;
  const IncidentPod* pod = nullptr;  // what the Kubernetes API says of it; nullptr: nothing
  std::string comm;                  // of a process, where nothing else has a name
};

// The resource: the container that it is about, not this daemon. Names and their order are those of the semantic
// conventions.
[[nodiscard]] std::vector<OtlpAttribute> otlp_resource_of(const OtlpSubject& subject, const OtlpMapping& mapping);

}  // namespace oomw
