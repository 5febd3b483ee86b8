// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/v8_contents.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <gmock/gmock.h>

#include "base/files.h"
#include "support/process_space.h"

namespace oomw::v8 {
namespace {

using testing::HasSubstr;

// A constructor whose parameters are kept by a closure has their names in front of its own.
const char* const kProgram = R"(
class Session { constructor(i) { this.id = i; this.user = 'user-' + i; this.roles = ['a', 'b']; this.at = i * 1.5; } }
class Invoice { constructor(i) { this.total = i + 0.5; this.lines = [i, i + 1, i + 2]; } }
class Handler { constructor(request, answer) { this.run = () => [request, answer]; this.body = 'x'.repeat(64) + request; } }
const nameless = (() => class { constructor(i) { this.inside = i; } })(), others = [];
for (let i = 0; i < 20000; i++) others.push(new nameless(i));
const sessions = new Map(), invoices = [], handlers = [], buffers = [], people = {};
for (let i = 0; i < 50000; i++) sessions.set('key' + i, new Session(i));
for (let i = 0; i < 20000; i++) invoices.push(new Invoice(i));
for (let i = 0; i < 10000; i++) handlers.push(new Handler('r' + i, 'a' + i));
for (let i = 0; i < 300; i++) buffers.push(Buffer.alloc(65536, 1));
people['alice smith'] = invoices;
globalThis.gc && gc();
setTimeout(() => require('fs').writeSync(1, 'ready'), 300);
setInterval(() => {}, 60000);
)";

// "" if there is none: of a version from OOMW_CACHE, or the system's own.
std::string node_of(const std::string& version) {
  std::string path = "/usr/bin/node";
  if (version != "system") {
    const char* cache = std::getenv("OOMW_CACHE");
    path = std::string(cache == nullptr ? "/nonexistent" : cache) + "/node/" + version + "/bin/node";
  }
  return ::access(path.c_str(), X_OK) == 0 ? path : "";
}

// Node's own file, or the library with V8 in Debian's.
std::string binary_of(int pid, const std::string& node) {
  const std::string maps = read_file("/proc/" + std::to_string(pid) + "/maps", 1u << 20).value_or("");
  const std::size_t library = maps.find("/libnode.so");
  if (library == std::string::npos) return node;
  const std::size_t begin = maps.rfind(' ', library) + 1;
  return maps.substr(begin, maps.find('\n', library) - begin);
}

class Node {
 public:
  explicit Node(const std::string& path) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::dup2(ends[1], 1);
      const std::string libraries = path.substr(0, path.rfind('/')) + "/../lib";
      if (path != "/usr/bin/node") ::setenv("LD_LIBRARY_PATH", libraries.c_str(), 1);
      ::execl(path.c_str(), path.c_str(), "--expose-gc", "-e", kProgram, nullptr);
      ::_exit(1);
    }
    ::close(ends[1]);
    char byte = 0;
    is_ready_ = ::read(ends[0], &byte, 1) == 1;
    ::close(ends[0]);
  }
  ~Node() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;
  [[nodiscard]] int pid() const { return pid_; }
  [[nodiscard]] bool is_ready() const { return is_ready_; }

 private:
  int pid_ = -1;
  bool is_ready_ = false;
};

const ContentFiller* filler(const MemoryContents& contents, ContentKind kind, const std::string& name) {
  const auto found = std::ranges::find_if(
      contents.fillers, [&](const ContentFiller& one) { return one.kind == kind && one.name == name; });
  return found == contents.fillers.end() ? nullptr : &*found;
}

std::string text_of(const MemoryContents& contents) {
  std::string text;
  for (const ContentPart& part : contents.parts) {
    text += part.name + " " + std::to_string(part.bytes >> 10) + " KiB " + part.source + "\n";
  }
  for (const ContentFiller& one : contents.fillers) {
    text += std::to_string(static_cast<int>(one.kind)) + " " + one.name + " " + std::to_string(one.count) + " " +
            std::to_string(one.bytes >> 10) + " KiB\n";
  }
  for (const std::string& note : contents.notes) text += note + "\n";
  return text;
}

bool is_whole(const Result<MemoryContents>& contents) {
  const ContentFiller* session = contents.has_value() ? filler(*contents, ContentKind::kHolder, "Session") : nullptr;
  return session != nullptr && session->count > 49'000 && session->count < 51'000;
}

class V8Contents : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string path = node_of(GetParam());
    if (path.empty()) GTEST_SKIP() << "no Node " << GetParam() << " here";
    node_.emplace(path);
    ASSERT_TRUE(node_->is_ready());
    const UniqueFd file(::open(binary_of(node_->pid(), path).c_str(), O_RDONLY | O_CLOEXEC));
    constants_ = read_constants(FdSource(file.get()));
    ASSERT_TRUE(constants_.has_value()) << constants_.error().message;
  }
  // Node's own threads sweep for a while behind the collection that the program asked for.
  [[nodiscard]] Result<MemoryContents> read_at_rest() const {
    Result<MemoryContents> contents = read();
    for (int i = 0; i < 50 && !is_whole(contents); ++i) {
      ::usleep(100'000);
      contents = read();
    }
    return contents;
  }
  [[nodiscard]] Result<MemoryContents> read(std::uint64_t torn_one_in = 0, SampleRate rate = {},
                                            std::uint64_t max_heap_bytes = kMaxHeapBytes) const {
    const test::ProcessSpace process(node_->pid(), "", torn_one_in);
    return read_contents(process.space(), *constants_, rate, max_heap_bytes);
  }
  std::optional<Node> node_;
  Result<Constants> constants_ = fail(ErrorCode::kNotFound, "none");
};
const auto kName = [](const auto& version) { return "of_" + std::to_string(version.index); };
INSTANTIATE_TEST_SUITE_P(System, V8Contents, testing::Values("system"), kName);
INSTANTIATE_TEST_SUITE_P(Matrix, V8Contents, testing::Values("18", "22", "24"), kName);

void expect_about(const ContentFiller* found, const char* name, double count) {
  ASSERT_NE(found, nullptr) << name;
  EXPECT_NEAR(static_cast<double>(found->count), count, 0.05 * count) << name;
}

void expect_objects(const MemoryContents& contents) {
  expect_about(filler(contents, ContentKind::kHolder, "Session"), "Session", 50'000);
  expect_about(filler(contents, ContentKind::kHolder, "Invoice"), "Invoice", 20'000);
  expect_about(filler(contents, ContentKind::kHolder, "Handler"), "Handler", 10'000);
  EXPECT_NE(filler(contents, ContentKind::kType, "(string)"), nullptr);
  // A Session takes 56 bytes; its user, list and number 24, 32 and 16.
  const ContentFiller* session = filler(contents, ContentKind::kHolder, "Session");
  ASSERT_NE(session, nullptr);
  EXPECT_GT(session->bytes, 50'000u * 110);
  EXPECT_LT(session->bytes, 50'000u * 200);
}

void expect_buffers(const MemoryContents& contents) {
  const auto part = std::ranges::find(contents.parts, "ArrayBuffers", &ContentPart::name);
  ASSERT_NE(part, contents.parts.end());
  EXPECT_NEAR(static_cast<double>(part->bytes), 300 * 65536.0, 0.05 * 300 * 65536);
  std::uint64_t sum = 0;
  for (const ContentPart& one : contents.parts) sum += one.bytes;
  EXPECT_LE(sum, contents.anonymous_bytes);
}

TEST_P(V8Contents, objects_and_buffers_are_counted_and_no_text_is_shown) {
  const auto contents = read_at_rest();
  ASSERT_TRUE(contents.has_value()) << contents.error().message;
  const std::string text = text_of(*contents);
  SCOPED_TRACE(text);
  expect_objects(*contents);
  expect_buffers(*contents);
  // Reading is most of what it costs: each page once, but for the blocks in which maps lie.
  EXPECT_LT(contents->bytes_read, contents->anonymous_bytes * 7 / 4);
  for (const char* value : {"user-", "key1", "alice", "inside", "xxxx", "request", "answer"}) {
    EXPECT_THAT(text, testing::Not(HasSubstr(value)));
  }
}

// Of every 50 words one is wrong: either the objects are unknown, or their names are right. With the classes unknown,
// Node's own plain objects may hold most of what is named.
TEST_P(V8Contents, torn_memory_gives_no_wrong_name) {
  const auto whole = read_at_rest();
  ASSERT_TRUE(whole.has_value()) << whole.error().message;
  const ContentFiller* plain = filler(*whole, ContentKind::kType, "Object");
  const std::uint64_t plain_objects = plain == nullptr ? 0 : plain->count;
  ASSERT_LT(plain_objects, 5000U) << "Sessions taken for plain objects would not be seen";
  const std::set<std::string> own = {"Session", "Invoice", "Handler"};
  for (const std::uint64_t one_in : {50u, 1000u}) {
    const auto contents = read(one_in);
    if (!contents.has_value()) continue;
    for (const ContentFiller& one : contents->fillers) {
      if (one.kind != ContentKind::kHolder) continue;
      const bool is_plain = one.name == "Object" && one.count <= plain_objects;
      EXPECT_TRUE(own.contains(one.name) || is_plain) << text_of(*contents);
    }
  }
}

TEST_P(V8Contents, estimates_of_a_sample_are_within_their_error) {
  const auto whole = read_at_rest();
  ASSERT_TRUE(whole.has_value()) << whole.error().message;
  constexpr std::uint64_t kSeeds = 20;
  std::map<std::string, std::uint64_t> estimated;
  std::uint64_t all = 0, within = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto sample = read(0, {2, seed});
    ASSERT_TRUE(sample.has_value()) << sample.error().message;
    EXPECT_NEAR(sample->sampled_ratio.value_or(0), 0.5, 0.03);
    for (const ContentFiller& one : sample->fillers) {
      const ContentFiller* truth = filler(*whole, ContentKind::kType, one.name);
      if (truth == nullptr || truth->bytes < (1u << 20)) continue;
      const double off = static_cast<double>(one.bytes) - static_cast<double>(truth->bytes);
      ++all, ++estimated[one.name];
      if (std::abs(off) <= 1.5 * static_cast<double>(one.error_bytes.value_or(0))) ++within;  // three deviations
    }
  }
  SCOPED_TRACE(text_of(*whole));
  for (const char* name : {"(string)", "(array)", "Array", "(number)"}) EXPECT_GE(estimated[name], 17u) << name;
  // Of 75 pages, in few of which each type lies, 94 to 99 % were.
  EXPECT_GE(within, all * 9 / 10) << all;
}

TEST_P(V8Contents, a_sample_has_parts_and_estimates_of_types_and_names_no_holder) {
  const auto whole = read_at_rest();
  ASSERT_TRUE(whole.has_value()) << whole.error().message;
  const auto sample = read(0, {4, 1});
  ASSERT_TRUE(sample.has_value()) << sample.error().message;
  EXPECT_THAT(sample->notes, testing::Contains(HasSubstr("types are estimates by a sample of")));
  EXPECT_LT(sample->bytes_read, whole->bytes_read / 2);
  EXPECT_FALSE(whole->sampled_ratio.has_value());
  EXPECT_NEAR(sample->sampled_ratio.value_or(0), 0.25, 0.03);
  std::uint64_t sum = 0;
  for (const ContentPart& part : sample->parts) sum += part.bytes;
  EXPECT_EQ(sum, sample->anonymous_bytes);
  for (const ContentFiller& one : sample->fillers) {
    EXPECT_EQ(one.kind, ContentKind::kType);
    ASSERT_TRUE(one.error_bytes.has_value()) << one.name;
    EXPECT_LT(*one.error_bytes, one.bytes) << one.name;
  }
  const auto too_large = read(0, {}, whole->anonymous_bytes / 5);
  ASSERT_TRUE(too_large.has_value()) << too_large.error().message;
  EXPECT_LT(too_large->sampled_ratio.value_or(1), 0.35);
  const std::string text = text_of(*sample);
  for (const char* value : {"user-", "key1", "alice", "inside", "xxxx", "request", "answer"}) {
    EXPECT_THAT(text, testing::Not(HasSubstr(value)));
  }
}

TEST_P(V8Contents, a_sample_of_torn_memory_gives_no_wrong_name) {
  // Node's own classes are among them. What is no class is a variable, a property or a text.
  const std::set<std::string> no_classes = {"request", "answer",   "inside",   "id",      "user",   "roles",   "at",
                                            "total",   "lines",    "run",      "body",    "others", "people",  "ready",
                                            "key",     "sessions", "invoices", "buffers", "i",      "nameless"};
  for (const std::uint64_t one_in : {50u, 1000u}) {
    const auto contents = read(one_in, {2, one_in});
    if (!contents.has_value()) continue;
    for (const ContentFiller& one : contents->fillers) {
      EXPECT_EQ(one.kind, ContentKind::kType);
      EXPECT_FALSE(no_classes.contains(one.name)) << one.name;
    }
  }
}

}  // namespace
}  // namespace oomw::v8
