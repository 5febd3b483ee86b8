// SPDX-License-Identifier: Apache-2.0
// The API's JSON becomes types here, once. Its text is hostile: annotations, labels, names and reasons
// are whatever a user of the cluster wrote. All bounds are here, and tests/fuzz/pod_fuzz.cc fuzzes them.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "events/event.h"

namespace oomw {

// The most memory that one pod may take. Its settings for us come first (oomwitness.io/capture, pprof-port),
// then its containers, then the other annotations that are kept, then labels; the rest is left out and
// PodSeen::is_cut set.
inline constexpr std::size_t kMaxPodBytes = 3'584;

enum class WatchKind { kAdded, kModified, kDeleted, kBookmark, kError };

struct WatchEvent {
  WatchKind kind = WatchKind::kError;
  PodSeen pod;                   // kAdded, kModified, kDeleted
  std::string resource_version;  // where a new watch continues; "" = not known
  int code = 0;                  // kError: the HTTP status it stands for
  std::string message;           // kError: printable
};

// The fields of a list beside its items.
struct ListEnd {
  std::string resource_version;
  std::string continue_token;  // "" = this was the last page
};

// time and wall_offset_ns stay unset.
[[nodiscard]] Result<PodSeen> decode_pod(std::string_view json);
[[nodiscard]] Result<WatchEvent> decode_watch_line(std::string_view json);
[[nodiscard]] Result<ListEnd> decode_list_end(std::string_view json);
// "pods is forbidden: User ..." of a Status object, printable; "" if `json` is not one.
[[nodiscard]] std::string status_message(std::string_view json);
// Whether a Status object refuses to create anything because the namespace is being deleted (403 as a missing
// permission is). Source: NamespaceTerminatingCause of k8s.io/api/core/v1.
[[nodiscard]] bool is_namespace_ending(std::string_view json);

// The memory that a pod takes, as glibc allocates it.
[[nodiscard]] std::size_t memory_bytes(const PodSeen& pod);

}  // namespace oomw
