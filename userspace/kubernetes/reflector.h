// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/clock.h"
#include "kubernetes/api_error.h"
#include "kubernetes/backoff.h"
#include "kubernetes/pod_decoder.h"

namespace oomw {

// The next request to the API server, and its time: one list, page by page, then one watch after the other from
// where the last one ended. Pure: no clock, file or socket.
//   - a failed watch starts again where it was; 410 starts a new list;
//   - each failure in a row makes the wait longer (Backoff). Only an event on a watch, or a watch that ended normally
//     after kMinWatch, resets it, so that a server that answers lists and fails watches cannot make us list in a loop;
//   - 401 is tried once more at once, because the token may have been replaced just now.
class Reflector {
 public:
  enum class State { kListing, kWatching };
  static constexpr Nanoseconds kMinWatch = std::chrono::seconds(1);

  // The kind of request that is due at due().
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] MonotonicTime due() const { return due_; }
  [[nodiscard]] bool is_first_page() const { return continue_token_.empty(); }
  // Path and query. node: [a-z0-9.-]; jitter: uniform in [0, 1).
  [[nodiscard]] std::string path(const std::string& node, double jitter) const;

  void on_begun(MonotonicTime now) { begun_ = now; }
  // A page of the list is in. True: that was the last one.
  bool on_page(const ListEnd& end);
  void on_watch_event(const WatchEvent& event);
  void on_watch_end(MonotonicTime now, double random);  // normally
  // retry_after: from the server's answer, if there was one; else 0.
  void on_failure(ApiError error, Nanoseconds retry_after, MonotonicTime now, double random);

  [[nodiscard]] unsigned failures() const { return backoff_.failures(); }

 private:
  void list_again();

  State state_ = State::kListing;
  MonotonicTime due_;
  MonotonicTime begun_;
  std::string resource_version_;
  std::string continue_token_;
  // The first list accepts any version, so the server's cache answers it. After 410 that cache is too old.
  bool wants_newest_ = false;
  bool is_token_retried_ = false;
  Backoff backoff_;
};

// Everything but [A-Za-z0-9._~-] as %XX.
[[nodiscard]] std::string url_encode(std::string_view text);
// Path and query for the pods of one node; more parameters may be appended.
[[nodiscard]] std::string pods_path(const std::string& node);

}  // namespace oomw
