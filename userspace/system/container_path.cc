// SPDX-License-Identifier: Apache-2.0
#include "system/container_path.h"

#include <array>
#include <vector>

#include "base/text.h"

namespace oomw {
namespace {

constexpr std::size_t kIdLength = 64;
constexpr std::size_t kUuidLength = 36;       // 8-4-4-4-12
constexpr std::size_t kStaticUidLength = 32;  // static pods: a hash without dashes

bool is_id(std::string_view text) { return text.size() == kIdLength && is_lower_hex(text); }

// systemd escapes '-' in a slice's name as '_'; cgroupfs keeps it. nullopt: neither kind of uid.
std::optional<std::string> pod_uid_of(std::string_view text) {
  if (text.size() == kStaticUidLength && is_lower_hex(text)) return std::string(text);
  if (text.size() != kUuidLength) return std::nullopt;
  std::string uid(text);
  for (const std::size_t dash : {8, 13, 18, 23}) {
    if (uid[dash] != '-' && uid[dash] != '_') return std::nullopt;
    uid[dash] = '-';
  }
  std::string digits = uid;
  std::erase(digits, '-');
  return digits.size() == kStaticUidLength && is_lower_hex(digits) ? std::optional(uid) : std::nullopt;
}

// "pod<uid>" of the cgroupfs driver, "<...>kubepods<...>-pod<uid>.slice" of the systemd driver,
// the latter also as the first part of "slice:cri-containerd:ID".
std::optional<std::string> pod_uid_of_segment(std::string_view segment) {
  segment = segment.substr(0, segment.find(':'));
  if (segment.starts_with("pod")) return pod_uid_of(segment.substr(3));
  constexpr std::string_view kSlice = ".slice";
  if (!segment.ends_with(kSlice)) return std::nullopt;
  segment.remove_suffix(kSlice.size());
  const std::size_t pod = segment.rfind("-pod");
  if (pod == std::string_view::npos || segment.substr(0, pod).find("kubepods") == std::string_view::npos) {
    return std::nullopt;
  }
  return pod_uid_of(segment.substr(pod + 4));
}

struct Container {
  std::string_view runtime;  // "" for a bare id: the runtime's files name it
  std::string_view id;
  std::string_view name;
};

// A prefix that is not listed is not a container's: "crio-conmon-" and "libpod-conmon-" are monitors.
std::optional<std::string_view> runtime_of_prefix(std::string_view prefix) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kPrefixes = {{
      {"cri-containerd", "containerd"},
      {"nerdctl", "containerd"},
      {"crio", "cri-o"},
      {"docker", "docker"},
      {"cri-dockerd", "docker"},
      {"libpod", "podman"},
  }};
  for (const auto& [known, runtime] : kPrefixes) {
    if (known == prefix) return runtime;
  }
  return std::nullopt;
}

// "<prefix>-ID", "<prefix>-ID.scope", "slice:<prefix>:ID".
std::optional<Container> prefixed_container(std::string_view segment) {
  constexpr std::string_view kScope = ".scope";
  if (segment.ends_with(kScope)) segment.remove_suffix(kScope.size());
  if (segment.size() < kIdLength + 2) return std::nullopt;
  const std::string_view id = segment.substr(segment.size() - kIdLength);
  const char separator = segment[segment.size() - kIdLength - 1];
  if (!is_id(id) || (separator != '-' && separator != ':')) return std::nullopt;
  std::string_view prefix = segment.substr(0, segment.size() - kIdLength - 1);
  if (separator == ':') prefix = prefix.substr(prefix.rfind(':') + 1);
  const auto runtime = runtime_of_prefix(prefix);
  return runtime ? std::optional(Container{*runtime, id, {}}) : std::nullopt;
}

// A bare id is a container at any place (--cgroup-parent may be anything), except for podman's pods (libpod_parent).
std::optional<Container> bare_container(std::string_view segment, std::string_view parent) {
  if (!is_id(segment) || parent == "libpod_parent") return std::nullopt;
  return Container{parent == "docker" ? "docker" : "", segment, {}};
}

std::optional<Container> lxc_container(std::string_view segment, std::string_view parent) {
  constexpr std::string_view kPayload = "lxc.payload.";
  std::string_view name;
  if (segment.starts_with(kPayload)) name = segment.substr(kPayload.size());
  if (parent == "lxc" || parent == "lxc.payload") name = segment;
  return name.empty() ? std::nullopt : std::optional(Container{"lxc", name, name});
}

std::optional<Container> container_of_segment(std::string_view segment, std::string_view parent) {
  if (auto container = prefixed_container(segment)) return container;
  if (auto container = bare_container(segment, parent)) return container;
  return lxc_container(segment, parent);
}

// Unit names stay as systemd writes them, with escapes such as \x2d: systemctl takes them in that form.
std::string_view unit_of(const std::vector<std::string_view>& segments) {
  for (auto i = segments.rbegin(); i != segments.rend(); ++i) {
    const std::size_t dot = i->rfind('.');
    if (dot == 0 || dot == std::string_view::npos) continue;
    if (i->substr(dot) == ".service" || i->substr(dot) == ".scope") return *i;
  }
  return {};
}

// Talos keeps its services in plain cgroups directly below these two.
std::string_view talos_service_of(const std::vector<std::string_view>& segments) {
  const bool is_talos = segments.size() == 2 && (segments[0] == "system" || segments[0] == "podruntime");
  return is_talos ? segments[1] : std::string_view{};
}

std::vector<std::string_view> segments_of(std::string_view path) {
  std::vector<std::string_view> segments = split(path, '/');
  std::erase_if(segments, [](std::string_view segment) { return segment.empty(); });
  return segments;
}

struct Pod {
  std::string uid;
  std::size_t index;  // of its segment
};

std::optional<Pod> pod_at(const std::vector<std::string_view>& segments, std::size_t index) {
  auto uid = pod_uid_of_segment(segments[index]);
  return uid ? std::optional(Pod{std::move(*uid), index}) : std::nullopt;
}

std::optional<Pod> last_pod(const std::vector<std::string_view>& segments) {
  for (std::size_t i = segments.size(); i-- > 0;) {
    if (auto pod = pod_at(segments, i)) return pod;
  }
  return std::nullopt;
}

std::string_view parent_at(const std::vector<std::string_view>& segments, std::size_t index) {
  return index > 0 ? segments[index - 1] : std::string_view{};
}

// The first container at or below `from`. Whatever is nested in it (init.scope, docker in docker) belongs to it.
std::optional<Container> first_container(const std::vector<std::string_view>& segments, std::size_t from) {
  for (std::size_t i = from; i < segments.size(); ++i) {
    if (auto container = container_of_segment(segments[i], parent_at(segments, i))) return container;
  }
  return std::nullopt;
}

// Without pods: the innermost container.
std::optional<Container> last_container(const std::vector<std::string_view>& segments) {
  for (std::size_t i = segments.size(); i-- > 0;) {
    if (auto container = container_of_segment(segments[i], parent_at(segments, i))) return container;
  }
  return std::nullopt;
}

struct Owner {
  std::optional<Pod> pod;
  std::optional<Container> container;
};

// The pods of a kind node count as pods although the node itself is a container.
Owner innermost_owner(const std::vector<std::string_view>& segments) {
  Owner owner{last_pod(segments), std::nullopt};
  owner.container = owner.pod ? first_container(segments, owner.pod->index) : last_container(segments);
  return owner;
}

Owner outermost_owner(const std::vector<std::string_view>& segments) {
  const bool is_users = !segments.empty() && segments.front() == "user.slice";
  for (std::size_t i = 0; i < segments.size(); ++i) {
    auto pod = is_users ? std::nullopt : pod_at(segments, i);
    if (pod) return {std::move(pod), first_container(segments, i)};
    if (auto container = container_of_segment(segments[i], parent_at(segments, i))) return {std::nullopt, container};
  }
  return {};
}

}  // namespace

std::optional<ContainerIdentity> identity_from_path(std::string_view path, NestedRuntimes nested) {
  const std::vector<std::string_view> segments = segments_of(path);
  const auto [pod, container] =
      nested == NestedRuntimes::kCounted ? innermost_owner(segments) : outermost_owner(segments);
  ContainerIdentity identity;
  if (pod) identity.pod_uid = pod->uid;
  if (container) {
    identity.runtime = container->runtime;
    identity.id = container->id;
    identity.name = container->name;
  }
  if (pod || container) return identity;
  identity.unit = unit_of(segments);
  if (!identity.unit.empty()) identity.runtime = "systemd";
  if (identity.unit.empty()) identity.unit = talos_service_of(segments);
  return identity.unit.empty() ? std::nullopt : std::optional(std::move(identity));
}

}  // namespace oomw
