// SPDX-License-Identifier: Apache-2.0
// Anything that an API server, or an impostor, may send.

#include "base/result.h"
#include "base/text.h"
#include "fuzz/text_target.h"
#include "kubernetes/held_pods.h"
#include "kubernetes/line_splitter.h"
#include "kubernetes/list_splitter.h"
#include "kubernetes/pod_decoder.h"
#include "kubernetes/pod_event.h"

namespace {

void check(const oomw::PodSeen& pod) {
  OOMW_CHECK(!pod.uid.empty() && !pod.name.empty());
  OOMW_CHECK(oomw::memory_bytes(pod) <= oomw::kMaxPodBytes);
  oomw::HeldPods held(1);
  OOMW_CHECK(held.on_pod(pod).has_value());
  OOMW_CHECK(!held.on_pod(pod).has_value());
  const oomw::PodEvent event{"id", {}, pod.name_space, pod.name, pod.uid, "", pod.name};
  if (!oomw::event_json(event, "n").empty()) {
    OOMW_CHECK(oomw::event_path(event).find("..") == std::string::npos);
  }
}

void check_list(std::string_view bytes, std::size_t piece) {
  oomw::ListSplitter list;
  const auto on_item = [](std::string_view json) {
    if (const auto pod = oomw::decode_pod(json); pod.has_value()) check(*pod);
  };
  for (std::size_t i = 0; i < bytes.size(); i += piece) {
    if (!list.feed(bytes.substr(i, piece), on_item).has_value()) return;
  }
  if (const auto rest = list.finish(); rest.has_value()) (void)oomw::decode_list_end(*rest);
}

}  // namespace

void fuzz_text(std::string_view bytes) {
  check_list(bytes, 5);
  oomw::LineSplitter lines;
  (void)lines.feed(bytes, [](std::string_view line) -> oomw::Result<> {
    ASSIGN_OR_RETURN(const oomw::WatchEvent event, oomw::decode_watch_line(line));
    if (event.kind < oomw::WatchKind::kBookmark) check(event.pod);
    return {};
  });
  if (const auto pod = oomw::decode_pod(bytes); pod.has_value()) check(*pod);
  const std::string message = oomw::status_message(bytes);
  OOMW_CHECK(message == oomw::to_valid_utf8(message));
}
