// SPDX-License-Identifier: Apache-2.0
#include "web/http_server.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <deque>
#include <map>
#include <string_view>
#include <thread>
#include <utility>

#include "base/event_loop.h"
#include "base/thread_setup.h"
#include "base/unique_fd.h"
#include "base/worker_pool.h"
#include "web/peer_limits.h"

namespace oomw {
namespace {

// A close with unread bytes resets the connection, and the client may lose the answer. So the rest is read for a
// moment, 64 KiB at most.
constexpr Nanoseconds kLinger = std::chrono::milliseconds(200);
constexpr std::size_t kMaxIgnored = 64u << 10;
constexpr std::size_t kWorkerQueue = PeerLimits::kMaxConnections;
constexpr int kMaxAccepts = 64;                                       // in one turn, then the others are served
constexpr Nanoseconds kAcceptPause = std::chrono::milliseconds(100);  // with no descriptor left

struct Connection {
  UniqueFd fd;
  std::string peer;
  ConnectionState state = ConnectionState::kReadingHead;
  std::string head;  // the request's, then the answer's
  const Route* route = nullptr;
  std::shared_ptr<const std::string> body;
  std::shared_ptr<BodySource> stream;  // what comes behind the body; null = nothing
  MonotonicTime stream_end;
  std::size_t sent = 0;  // of head and body
  bool is_head_only = false;
  std::size_t ignored = 0;
  WatchId watch, deadline;
};

}  // namespace

struct HttpServer::Impl {
  std::unique_ptr<EventLoop> loop;
  Listener listener;
  WatchId listening;
  std::vector<Route> routes;
  ServerPolicy policy;
  SystemClock clock;
  std::map<std::uint64_t, Connection> connections;  // by number, which rises
  std::uint64_t last_id = 0;
  std::deque<std::uint64_t> queue;  // requests that are not urgent; never more than there are connections
  std::atomic<std::uint64_t> cut = 0, accepted = 0;
  std::atomic<std::size_t> open = 0;
  std::thread thread;
  std::unique_ptr<WorkerPool> worker, slow_worker;  // end first: they post to the loop

  void start_workers(const std::string& thread_name);
  void run_elsewhere(std::uint64_t id, WorkerPool& pool);
  void refuse_method(std::uint64_t id, Connection& connection);
  bool send_more(std::uint64_t id, Connection& connection);

  Result<> listen();
  void accept_some();
  void pause_listening();
  void accept_one(UniqueFd fd, const sockaddr_storage& address);
  void make_room(const std::string& peer);
  void set_deadline(std::uint64_t id, Nanoseconds delay);
  void on_readable(std::uint64_t id);
  void on_head(std::uint64_t id, Connection& connection);
  void enqueue(std::uint64_t id);
  void serve_next();
  void answer(std::uint64_t id, Connection& connection, HttpResponse response);
  void go_on_sending(std::uint64_t id);
  void linger(std::uint64_t id, Connection& connection);
  void on_lingering(std::uint64_t id);
  void watch(std::uint64_t id, Connection& connection, std::uint32_t events, void (Impl::*handle)(std::uint64_t));
  void close(std::uint64_t id);
  void close_and_count(std::uint64_t id);
  [[nodiscard]] Connection* find(std::uint64_t id);
};

Result<> HttpServer::Impl::listen() {
  ASSIGN_OR_RETURN(listening, loop->add_fd(listener.fd.get(), EPOLLIN, [this](std::uint32_t) { accept_some(); }));
  return {};
}

void HttpServer::Impl::accept_some() {
  for (int i = 0; i < kMaxAccepts; ++i) {
    sockaddr_storage address{};
    socklen_t size = sizeof(address);
    UniqueFd fd(
        ::accept4(listener.fd.get(), reinterpret_cast<sockaddr*>(&address), &size, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.is_valid()) {
      accept_one(std::move(fd), address);
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return pause_listening();
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return;
    }
  }
}

// The connection stays in the backlog and the socket stays readable: without a pause the loop would spin.
void HttpServer::Impl::pause_listening() {
  loop->remove(listening);
  (void)loop->add_once(kAcceptPause, [this] { (void)listen(); });
}

void HttpServer::Impl::accept_one(UniqueFd fd, const sockaddr_storage& address) {
  std::string peer = peer_of(address);
  make_room(peer);
  const std::uint64_t id = ++last_id;
  Connection& connection = connections[id];
  ++accepted;
  open = connections.size();
  connection.fd = std::move(fd);
  connection.peer = std::move(peer);
  set_deadline(id, kHeadDeadline);
  watch(id, connection, EPOLLIN, &Impl::on_readable);
}

void HttpServer::Impl::make_room(const std::string& peer) {
  std::vector<PeerLimits::Connection> all;
  all.reserve(connections.size());
  for (const auto& [id, connection] : connections) all.push_back({id, connection.peer, connection.state});
  if (const auto victim = PeerLimits::victim(all, peer)) close_and_count(*victim);
}

void HttpServer::Impl::set_deadline(std::uint64_t id, Nanoseconds delay) {
  Connection& connection = connections.at(id);
  loop->remove(connection.deadline);
  connection.deadline = loop->add_once(delay, [this, id] { close_and_count(id); });
}

void HttpServer::Impl::on_readable(std::uint64_t id) {
  Connection* connection = find(id);
  if (connection == nullptr) return;
  const std::size_t filled = connection->head.size();
  connection->head.resize(kMaxHeadBytes);
  const ssize_t n = ::recv(connection->fd.get(), connection->head.data() + filled, kMaxHeadBytes - filled, 0);
  connection->head.resize(filled + static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return close(id);
  const std::size_t searched = filled < 3 ? 0 : filled - 3;  // the end may begin in what was there before
  if (const std::size_t end = connection->head.find("\r\n\r\n", searched); end != std::string::npos) {
    connection->head.resize(end + 4);
    return on_head(id, *connection);
  }
  if (connection->head.size() == kMaxHeadBytes) answer(id, *connection, text_response(kHttpHeadTooLarge, ""));
}

void HttpServer::Impl::on_head(std::uint64_t id, Connection& connection) {
  const auto request = parse_request_head(connection.head);
  if (!request) return answer(id, connection, text_response(kHttpBadRequest, "not HTTP/1.1\n"));
  connection.is_head_only = request->method == "HEAD";
  if (request->method != "GET" && !(connection.is_head_only && policy.answers_head)) {
    return refuse_method(id, connection);
  }
  if (policy.is_for_local_hosts && !is_local_host(request->host)) {
    return answer(id, connection, text_response(kHttpForbidden, "open this page as localhost or by address\n"));
  }
  const auto route = std::ranges::find_if(routes, [&](const Route& r) { return fits(r.path, request->path); });
  if (route == routes.end()) return answer(id, connection, text_response(kHttpNotFound, policy.not_found));
  if (route->is_urgent) return answer(id, connection, route->handler(*request));
  connection.route = &*route;
  enqueue(id);
}

void HttpServer::Impl::refuse_method(std::uint64_t id, Connection& connection) {
  HttpResponse response =
      text_response(kHttpMethodNotAllowed, policy.answers_head ? "only GET and HEAD\n" : "only GET\n");
  response.more_head = policy.answers_head ? "Allow: GET, HEAD\r\n" : "Allow: GET\r\n";
  answer(id, connection, std::move(response));
}

// Its peer may go on sending meanwhile; that is not watched, or the loop would spin on it.
void HttpServer::Impl::enqueue(std::uint64_t id) {
  Connection& connection = connections.at(id);
  connection.state = ConnectionState::kQueued;
  loop->remove(connection.watch);
  loop->remove(connection.deadline);
  if (connection.route->runs_on == RunsOn::kWorker) return run_elsewhere(id, *worker);
  if (connection.route->runs_on == RunsOn::kSlowWorker) return run_elsewhere(id, *slow_worker);
  queue.push_back(id);
  if (queue.size() == 1) (void)loop->post([this] { serve_next(); });
}

// One answer for each turn of the loop: a task posted by a task runs in the next one.
void HttpServer::Impl::serve_next() {
  const std::uint64_t id = queue.front();
  queue.pop_front();
  if (!queue.empty()) (void)loop->post([this] { serve_next(); });
  Connection* connection = find(id);
  if (connection == nullptr) return;  // closed for another one
  const auto request = parse_request_head(connection->head);
  answer(id, *connection, connection->route->handler(*request));
}

// The handler gets a copy of the head: the connection may be closed for another one meanwhile.
void HttpServer::Impl::run_elsewhere(std::uint64_t id, WorkerPool& pool) {
  Connection& connection = connections.at(id);
  const auto task = [this, id, head = connection.head, route = connection.route] {
    HttpResponse response = route->handler(*parse_request_head(head));
    (void)loop->post([this, id, response = std::move(response)] {
      if (Connection* waiting = find(id)) answer(id, *waiting, response);
    });
  };
  if (!pool.post(task)) answer(id, connection, text_response(kHttpUnavailable, "too many requests wait\n"));
}

void HttpServer::Impl::answer(std::uint64_t id, Connection& connection, HttpResponse response) {
  connection.state = ConnectionState::kAnswering;
  response.more_head += policy.more_head;
  connection.head = response_head(response);
  if (!connection.is_head_only) {
    connection.body = std::move(response.body);
    connection.stream = std::move(response.stream);
  }
  connection.stream_end = clock.now() + kStreamDeadline;
  set_deadline(id, kAnswerDeadline);
  watch(id, connection, EPOLLOUT, &Impl::go_on_sending);
  go_on_sending(id);
}

// Of a stream one piece for each turn of the loop: the others get theirs between.
void HttpServer::Impl::go_on_sending(std::uint64_t id) {
  Connection* connection = find(id);
  if (connection == nullptr || !send_more(id, *connection)) return;
  if (!connection->stream) return linger(id, *connection);
  Result<std::string> piece = connection->stream->next();
  if (!piece || clock.now() > connection->stream_end) return close_and_count(id);
  if (piece->empty()) return linger(id, *connection);
  connection->head.clear();
  connection->body = std::make_shared<const std::string>(std::move(*piece));
  connection->sent = 0;
  set_deadline(id, kAnswerDeadline);
}

// True: head and body are sent. False: the socket takes no more now, or the connection is gone.
bool HttpServer::Impl::send_more(std::uint64_t id, Connection& connection) {
  const std::string_view head = connection.head;
  const std::string_view body = connection.body ? std::string_view(*connection.body) : std::string_view();
  while (connection.sent < head.size() + body.size()) {
    const std::string_view head_rest = head.substr(std::min(connection.sent, head.size()));
    const std::string_view body_rest = body.substr(std::max(connection.sent, head.size()) - head.size());
    iovec parts[] = {{const_cast<char*>(head_rest.data()), head_rest.size()},
                     {const_cast<char*>(body_rest.data()), body_rest.size()}};
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = 2;
    const ssize_t n = ::sendmsg(connection.fd.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return false;
    if (n < 0) {
      close(id);
      return false;
    }
    connection.sent += static_cast<std::size_t>(n);
  }
  return true;
}

void HttpServer::Impl::linger(std::uint64_t id, Connection& connection) {
  connection.state = ConnectionState::kLingering;
  connection.head.clear();
  connection.body.reset();
  connection.stream.reset();
  ::shutdown(connection.fd.get(), SHUT_WR);
  loop->remove(connection.deadline);
  connection.deadline = loop->add_once(kLinger, [this, id] { close(id); });
  watch(id, connection, EPOLLIN, &Impl::on_lingering);
}

void HttpServer::Impl::on_lingering(std::uint64_t id) {
  Connection* connection = find(id);
  if (connection == nullptr) return;
  char ignored[4096];
  const ssize_t n = ::recv(connection->fd.get(), ignored, sizeof(ignored), MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  connection->ignored += static_cast<std::size_t>(std::max<ssize_t>(n, 0));
  if (n <= 0 || connection->ignored >= kMaxIgnored) close(id);
}

void HttpServer::Impl::watch(std::uint64_t id, Connection& connection, std::uint32_t events,
                             void (Impl::*handle)(std::uint64_t)) {
  loop->remove(connection.watch);
  auto added = loop->add_fd(connection.fd.get(), events, [this, id, handle](std::uint32_t) { (this->*handle)(id); });
  if (added.has_value()) connection.watch = *added;  // else its deadline closes it
}

void HttpServer::Impl::close(std::uint64_t id) {
  const auto found = connections.find(id);
  if (found == connections.end()) return;
  loop->remove(found->second.watch);
  loop->remove(found->second.deadline);
  connections.erase(found);
  open = connections.size();
}

void HttpServer::Impl::close_and_count(std::uint64_t id) {
  ++cut;
  close(id);
}

Connection* HttpServer::Impl::find(std::uint64_t id) {
  const auto found = connections.find(id);
  return found == connections.end() ? nullptr : &found->second;
}

HttpServer::HttpServer() : impl_(std::make_unique<Impl>()) {}

HttpServer::~HttpServer() {
  if (!impl_->thread.joinable()) return;
  impl_->loop->stop();
  impl_->thread.join();
}

void HttpServer::Impl::start_workers(const std::string& thread_name) {
  const auto wants = [this](RunsOn kind) {
    return std::ranges::any_of(routes, [kind](const Route& route) { return route.runs_on == kind; });
  };
  if (wants(RunsOn::kWorker)) worker = std::make_unique<WorkerPool>(thread_name + "-1", 1, kWorkerQueue);
  if (wants(RunsOn::kSlowWorker)) slow_worker = std::make_unique<WorkerPool>(thread_name + "-2", 1, kWorkerQueue);
}

Result<std::unique_ptr<HttpServer>> HttpServer::start(const std::string& thread_name, Listener listener,
                                                      std::vector<Route> routes, ServerPolicy policy) {
  std::unique_ptr<HttpServer> server(new HttpServer());
  Impl& impl = *server->impl_;
  ASSIGN_OR_RETURN(impl.loop, EventLoop::make());
  impl.listener = std::move(listener);
  impl.routes = std::move(routes);
  impl.policy = std::move(policy);
  RETURN_IF_ERROR(impl.listen());
  impl.start_workers(thread_name);
  impl.thread = std::thread([&impl, thread_name] {
    set_up_thread(thread_name);
    impl.loop->run();
  });
  return server;
}

std::uint16_t HttpServer::port() const { return impl_->listener.port; }
std::uint64_t HttpServer::cut_connections() const { return impl_->cut; }
std::uint64_t HttpServer::accepted_connections() const { return impl_->accepted; }
std::size_t HttpServer::open_connections() const { return impl_->open; }

}  // namespace oomw
