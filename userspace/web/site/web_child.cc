// SPDX-License-Identifier: Apache-2.0
#include "web/site/web_child.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <thread>
#include <utility>

#include "base/log.h"
#include "base/spawn.h"
#include "base/text.h"
#include "base/thread_setup.h"
#include "base/unique_fd.h"
#include "web/site/web_process.h"

namespace oomw {

struct WebChild::Impl {
  std::string listen;
  SiteConfig site;
  std::function<std::string(LiveQuestion)> answer;
  UniqueFd stop{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  Listener listener;
  pid_t pid = -1;  // -1: none runs
  UniqueFd link;   // to it
  bool has_warned = false;
  std::thread thread;

  void run();
  bool open_listener();
  bool wait(int fd, int timeout_ms) const;
  [[nodiscard]] bool is_stopping() const;
  void serve();
  void start();
  int end();
};

// True: `fd` can be read, or its other end is gone. False: the time is over, or the daemon stops.
bool WebChild::Impl::wait(int fd, int timeout_ms) const {
  pollfd both[] = {{stop.get(), POLLIN, 0}, {fd, POLLIN, 0}};
  return ::poll(both, 2, timeout_ms) > 0 && both[0].revents == 0 && both[1].revents != 0;
}

bool WebChild::Impl::is_stopping() const {
  pollfd one{stop.get(), POLLIN, 0};
  return ::poll(&one, 1, 0) != 0;
}

bool WebChild::Impl::open_listener() {
  if (listener.fd.is_valid()) return true;
  auto opened = open_site_listener(listen);
  if (opened) {
    listener = std::move(*opened);
    log::info("pages on http://{}/", listen);
    return true;
  }
  if (!std::exchange(has_warned, true)) log::warn("no web page: {}", printable(opened.error().message));
  return false;
}

void WebChild::Impl::run() {
  set_up_thread("oomw-web");
  while (!is_stopping()) {
    if (!open_listener()) {
      (void)wait(-1, kRetryMs);
    } else if (pid > 0) {
      serve();
    } else if (wait(listener.fd.get(), -1)) {
      start();
    }
  }
  if (pid > 0) ::kill(pid, SIGKILL);
  (void)end();
}

void WebChild::Impl::start() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    (void)wait(-1, kRetryMs);
    return;
  }
  link = UniqueFd(ends[0]);
  const UniqueFd theirs(ends[1]);
  static_assert(kWebListenerFd == kFirstGivenFd && kWebDaemonFd == kFirstGivenFd + 1);
  const auto started =
      spawn_alone({"/proc/self/exe", "web-process", std::to_string(::getpid()), site.data_dir, site.patterns.text()},
                  {listener.fd.get(), theirs.get()});
  if (started) {
    pid = *started;
    return;
  }
  log::warn("no web page for now: {}", printable(started.error().message));
  (void)wait(-1, kRetryMs);
}

// Until it ends: its end of the socket closes then.
void WebChild::Impl::serve() {
  if (!wait(link.get(), -1)) return;
  if (answer_one(link.get(), answer)) return;
  ::kill(pid, SIGKILL);  // nonsense, or it is ending anyway
  if (end() == 0) return;
  log::debug("the web process did not end by itself");
  (void)wait(-1, kRetryMs);
}

// Its exit code; not 0: it did not end by itself.
int WebChild::Impl::end() {
  link.reset();
  if (pid < 0) return 0;
  int status = 0;
  pid_t reaped = -1;
  do {
    reaped = ::waitpid(pid, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  pid = -1;
  return reaped > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

WebChild::WebChild(std::string listen, SiteConfig site, std::function<std::string(LiveQuestion)> answer)
    : impl_(std::make_unique<Impl>()) {
  impl_->listen = std::move(listen);
  impl_->site = std::move(site);
  impl_->answer = std::move(answer);
  impl_->thread = std::thread([impl = impl_.get()] { impl->run(); });
}

WebChild::~WebChild() {
  const std::uint64_t one = 1;
  (void)!::write(impl_->stop.get(), &one, sizeof one);
  impl_->thread.join();
}

}  // namespace oomw
