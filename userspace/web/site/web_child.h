// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "web/site/daemon_link.h"
#include "web/site/site.h"

namespace oomw {

// The page and the API, without cost while nobody looks: the daemon only listens on `listen`. The first connection
// starts a process of its own (web/site/web_process.h), which reads incidents and answers; it ends when it is idle for
// a minute. So no incident or profile is ever parsed in the daemon, and its memory does not grow.
//   - one thread, which waits for the socket, for the process's questions and for its end;
//   - where the port is taken (a daemon on standby beside the active one), it is tried again every kRetry;
//   - a process that does not end by itself is not started again before kRetry.
class WebChild {
 public:
  static constexpr int kRetryMs = 5'000;

  // site: what the process serves; its daemon and reader are not used. answer: any thread, never waits; "" = nothing is
  // known yet.
  WebChild(std::string listen, SiteConfig site, std::function<std::string(LiveQuestion)> answer);
  ~WebChild();  // ends the process and joins
  WebChild(const WebChild&) = delete;
  WebChild& operator=(const WebChild&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oomw
