// SPDX-License-Identifier: Apache-2.0
// What a small service does all day. A client thread sends requests through a socket pair, a server
// thread answers them: looks a value up in a cache, reads it from a file when it is not there (and
// lets the oldest go), makes the answer's text of it, keeps a log. Every 256th request needs a
// megabyte of its own for a moment, which malloc maps and gives back: the page faults of it all.
//   mixed_service FILE REQUESTS
#include <fcntl.h>
#include <malloc.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>

#include "progress.h"

namespace {

constexpr std::uint32_t kKeys = 7'500;
constexpr std::size_t kCached = 2'000;
constexpr std::size_t kLargestValue = 8'192;
constexpr std::size_t kAnswer = 2'048;
constexpr std::uint64_t kLargeEach = 256;
constexpr std::uint64_t kLogEach = 16;
constexpr std::size_t kLargeBytes = 1 << 20;

std::size_t size_of(std::uint32_t key) { return 256 + key * 2'654'435'761U % (kLargestValue - 256); }

// Values by key, read from a file at need; the oldest goes when it is full.
class Cache {
 public:
  explicit Cache(int file) : file_(file) {}

  const std::string& get(std::uint32_t key) {
    const auto found = values_.find(key);
    if (found != values_.end()) return found->second;
    if (order_.size() >= kCached) {
      values_.erase(order_.front());
      order_.pop_front();
    }
    order_.push_back(key);
    return values_.emplace(key, read(key)).first->second;
  }

 private:
  std::string read(std::uint32_t key) const {
    std::string value(size_of(key), '\0');
    if (pread(file_, value.data(), value.size(), static_cast<off_t>(key) * 1'024) < 0) std::abort();
    return value;
  }

  int file_;
  std::unordered_map<std::uint32_t, std::string> values_;
  std::deque<std::uint32_t> order_;
};

// The part of a service that is neither kernel nor allocator: 20 us of looking at bytes.
std::string answer_of(const std::string& value) {
  std::uint64_t sum = 14'695'981'039'346'656'037ULL;
  for (int pass = 0; pass < 4; ++pass) {
    for (const char c : value) sum = (sum ^ static_cast<unsigned char>(c)) * 1'099'511'628'211ULL;
  }
  std::string text;
  while (text.size() < kAnswer) text += "{\"sum\":\"" + std::to_string(sum += 0x9e3779b9) + "\"},";
  text.resize(kAnswer);
  return text;
}

char use_large_buffer() {
  char* const buffer = static_cast<char*>(std::malloc(kLargeBytes));
  if (buffer == nullptr) std::abort();
  std::memset(buffer, 1, kLargeBytes);
  const char last = static_cast<volatile char*>(buffer)[kLargeBytes - 1];
  std::free(buffer);
  return last;
}

bool send_all(int fd, const std::string& text) {
  return send(fd, text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
}

void serve(int fd, int file, int log) {
  Cache cache(file);
  std::uint32_t key = 0;
  for (std::uint64_t served = 0; recv(fd, &key, sizeof(key), 0) == sizeof(key); ++served) {
    std::string text = answer_of(cache.get(key % kKeys));
    if (served % kLargeEach == 0) text[0] = use_large_buffer();
    if (served % kLogEach == 0 && pwrite(log, text.data(), 160, static_cast<off_t>(served % 4'096 * 160)) < 0) return;
    if (!send_all(fd, text)) return;
  }
}

bool ask(int fd, std::uint64_t requests) {
  Progress progress;
  std::minstd_rand random(1);  // the same requests in every run
  std::string answer(kAnswer, '\0');
  for (; requests > 0; --requests) {
    const auto key = static_cast<std::uint32_t>(random());
    if (send(fd, &key, sizeof(key), MSG_NOSIGNAL) != sizeof(key)) return false;
    if (recv(fd, answer.data(), answer.size(), MSG_WAITALL) != static_cast<ssize_t>(answer.size())) return false;
    progress.done(1);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: mixed_service FILE REQUESTS\n", stderr);
    return 2;
  }
  const int file = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const int log = open((std::string(argv[1]) + ".log").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  int ends[2];
  if (file < 0 || log < 0 || ftruncate(file, kKeys * 1'024L + static_cast<long>(kLargestValue)) != 0) return 1;
  // Packets, so that a request and its answer arrive whole.
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return 1;
  // glibc would raise it after the first such buffer and keep the next ones: no faults from then on.
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  std::thread server(serve, ends[0], file, log);
  const bool is_answered = ask(ends[1], std::strtoull(argv[2], nullptr, 10));
  close(ends[1]);
  server.join();
  return is_answered ? 0 : 1;
}
