// SPDX-License-Identifier: Apache-2.0
#include "facts/collector_components.h"

#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "base/text.h"
#include "facts/component_group.h"
#include "facts/go_package.h"

namespace oomw {
namespace {

constexpr std::array<std::string_view, 5> kComponentKinds = {"receiver", "processor", "exporter", "extension",
                                                             "connector"};

// Below these roots every folder of a kind holds components, whatever its name.
constexpr std::array<std::string_view, 3> kRoots = {"go.opentelemetry.io/collector/",
                                                    "github.com/open-telemetry/opentelemetry-collector-contrib/",
                                                    "github.com/elastic/opentelemetry-collector-components/"};

// Folders of contrib's extensions that group components instead of being one.
constexpr std::array<std::string_view, 4> kGroups = {"encoding", "storage", "observer", "auth"};

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

std::size_t end_of_folder(std::string_view path, std::size_t at) { return std::min(path.find('/', at), path.size()); }

std::string id_of(std::string_view folder, std::string_view kind) {
  if (folder.size() > kind.size() && folder.ends_with(kind)) folder.remove_suffix(kind.size());
  return printable(folder, 128);
}

// The component of a package whose path has a kind's folder at `at`.
std::optional<CollectorComponent> component_at(std::string_view package, std::size_t at) {
  const std::size_t kind_end = end_of_folder(package, at);
  const std::string_view kind = package.substr(at, kind_end - at);
  if (!is_among(kComponentKinds, kind) || kind_end + 1 >= package.size()) return std::nullopt;
  std::size_t from = kind_end + 1;
  std::size_t to = end_of_folder(package, from);
  const std::string_view folder = package.substr(from, to - from);
  if (folder.empty()) return std::nullopt;
  const bool is_named_so = folder.size() > kind.size() && folder.ends_with(kind);
  if (!is_named_so && !is_among(kRoots, package.substr(0, at))) return std::nullopt;
  if (is_among(kGroups, folder) && to + 1 < package.size()) {
    from = to + 1;
    to = end_of_folder(package, from);
  }
  return CollectorComponent{std::string(kind), id_of(package.substr(from, to - from), kind),
                            printable(package.substr(0, to), 256), 0, 0};
}

// The generated gRPC service decodes OTLP before it calls the receiver that registered it:
// "_TraceService_Export_Handler", since 2025 "traceServiceExportHandler".
bool is_otlp_service(std::string_view function) {
  if (!function.starts_with("go.opentelemetry.io/collector/pdata/")) return false;
  const std::string_view name = function.substr(function.rfind('.') + 1);
  const std::size_t service = name.find("Service");
  return service != std::string_view::npos && name.find("Export", service) != std::string_view::npos &&
         name.ends_with("Handler");
}

struct ComponentFrame {
  std::size_t component = 0;
  bool is_helper = false;
};

// The components that a profile's tables name.
class Components {
 public:
  explicit Components(const pprof::Profile& profile) {
    std::unordered_map<std::uint64_t, ComponentFrame> by_function;
    for (const auto& function : profile.functions) {
      if (auto component = component_of_function(function.name)) {
        by_function.emplace(function.id, frame_of(std::move(*component)));
      }
    }
    for (const auto& location : profile.locations) {
      for (const auto& line : location.lines) {
        const auto found = by_function.find(line.function_id);
        if (found == by_function.end()) continue;
        // Among calls inlined into one another, the innermost that is not a helper counts.
        const auto [known, is_first] = by_location_.try_emplace(location.id, found->second);
        if (!is_first && known->second.is_helper && !found->second.is_helper) known->second = found->second;
      }
    }
  }

  void add(const pprof::Sample& sample, std::uint64_t bytes) {
    total_ += bytes;
    if (const auto innermost = innermost_of(sample)) all_[*innermost].held_bytes += bytes;
  }

  std::vector<CollectorComponent> take_sorted() && {
    std::erase_if(all_, [](const CollectorComponent& component) { return component.held_bytes == 0; });
    for (CollectorComponent& component : all_) {
      component.ratio = static_cast<double>(component.held_bytes) / static_cast<double>(total_);
    }
    std::stable_sort(all_.begin(), all_.end(),
                     [](const auto& a, const auto& b) { return a.held_bytes > b.held_bytes; });
    if (all_.size() > kMaxCollectorComponents) all_.resize(kMaxCollectorComponents);
    return std::move(all_);
  }

 private:
  ComponentFrame frame_of(CollectorComponent component) {
    const bool helps = is_helper_package(component.kind, component.id);
    const auto [entry, is_new] = index_.try_emplace({component.kind, component.id}, all_.size());
    if (is_new) all_.push_back(std::move(component));
    return {entry->second, helps};
  }

  [[nodiscard]] std::optional<std::size_t> innermost_of(const pprof::Sample& sample) const {
    std::optional<std::size_t> helper;
    for (const std::uint64_t id : sample.location_ids) {
      const auto found = by_location_.find(id);
      if (found == by_location_.end()) continue;
      if (!found->second.is_helper) return found->second.component;
      if (!helper) helper = found->second.component;
    }
    return helper;
  }

  std::vector<CollectorComponent> all_;
  std::map<std::pair<std::string, std::string>, std::size_t> index_;
  std::unordered_map<std::uint64_t, ComponentFrame> by_location_;
  std::uint64_t total_ = 0;
};

}  // namespace

bool is_helper_package(std::string_view kind, std::string_view id) {
  return id == "internal" || id.ends_with("helper") || (id.starts_with('x') && id.substr(1).starts_with(kind));
}

std::optional<CollectorComponent> component_of_function(std::string_view function) {
  if (is_otlp_service(function)) {
    return CollectorComponent{"receiver", "otlp", "go.opentelemetry.io/collector/receiver/otlpreceiver", 0, 0};
  }
  const std::string_view package = go_package_of(function);
  for (std::size_t at = 0; at < package.size(); at = end_of_folder(package, at) + 1) {
    if (auto component = component_at(package, at)) return component;
  }
  return std::nullopt;
}

pprof::Group component_group_of(const std::string& function) {
  const auto component = component_of_function(function);
  if (!component) return {};
  return {component->kind + "/" + component->id, is_helper_package(component->kind, component->id)};
}

std::vector<CollectorComponent> collector_components_of(const pprof::Profile& profile) {
  const int column = profile.type_index("inuse_space");
  if (column < 0) return {};
  Components components(profile);
  for (const auto& sample : profile.samples) {
    const auto index = static_cast<std::size_t>(column);
    if (index >= sample.values.size() || sample.values[index] <= 0) continue;
    components.add(sample, static_cast<std::uint64_t>(sample.values[index]));
  }
  return std::move(components).take_sorted();
}

}  // namespace oomw
