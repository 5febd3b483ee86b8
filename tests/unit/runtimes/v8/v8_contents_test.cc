// SPDX-License-Identifier: Apache-2.0
#include "runtimes/v8/v8_contents.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>

#include <gmock/gmock.h>

#include "support/memory_image.h"
#include "support/process_space.h"

namespace oomw::v8 {
namespace {

using testing::HasSubstr;

// A constructor whose parameters are kept by a closure has their names in front of its own.
const char* const kProgram = R"(
class Session { constructor(i) { this.id = i; this.user = 'user-' + i; this.roles = ['a', 'b']; this.at = i * 1.5; } }
class Invoice { constructor(i) { this.total = i + 0.5; this.lines = [i, i + 1, i + 2]; } }
class Handler { constructor(request, answer) { this.run = () => [request, answer]; this.body = 'x'.repeat(64) + request; } }
class Outage extends Error { constructor(i) { super('no answer'); this.at = i; } }
class PageCache { #recent = []; constructor() { this.pages = new Map(); } visit(i) { this.#recent.push('page ' + i); } }
const nameless = (() => class { constructor(i) { this.inside = i; } })(), others = [];
for (let i = 0; i < 20000; i++) others.push(new nameless(i));
const sessions = new Map(), invoices = [], handlers = [], buffers = [], people = {};
for (let i = 0; i < 50000; i++) sessions.set('key' + i, new Session(i));
for (let i = 0; i < 20000; i++) invoices.push(new Invoice(i));
for (let i = 0; i < 10000; i++) handlers.push(new Handler('r' + i, 'a' + i));
for (let i = 0; i < 300; i++) buffers.push(Buffer.alloc(65536, 1));
people['alice smith'] = invoices;
const outages = new Set(), pageCache = new PageCache();
for (let i = 0; i < 6000; i++) outages.add(new Outage(i));
for (let i = 0; i < 3000; i++) pageCache.pages.set('/' + i, {status: i, lines: Array.from({length: 100}, (_, j) => i + j * 0.5)});
for (let i = 0; i < 60000; i++) pageCache.visit(i);
globalThis.gc && gc();
setTimeout(() => require('fs').writeSync(1, 'ready\n'), 300);
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

// The images of Node's own file, or of the library with V8 in Debian's: its path.
std::string binary_of(const test::MemoryImage& image, const std::string& node) {
  const std::size_t library = image.maps().find("/libnode.so");
  if (library == std::string::npos) return node;
  const std::size_t begin = image.maps().rfind(' ', library) + 1;
  return image.maps().substr(begin, image.maps().find('\n', library) - begin);
}

Result<Constants> constants_of(const test::MemoryImage& image, const std::string& node) {
  const UniqueFd file(::open(binary_of(image, node).c_str(), O_RDONLY | O_CLOEXEC));
  return read_constants(FdSource(file.get()));
}

constexpr std::array<std::string_view, 1> kAllFiles = {""};

const ContentFiller* filler(const MemoryContents& contents, ContentKind kind, const std::string& name) {
  const auto found = std::ranges::find_if(
      contents.fillers, [&](const ContentFiller& one) { return one.kind == kind && one.name == name; });
  return found == contents.fillers.end() ? nullptr : &*found;
}

const ContentFiller* held(const MemoryContents& contents, const std::string& held_as) {
  const auto found = std::ranges::find(contents.fillers, held_as, &ContentFiller::held_as);
  return found == contents.fillers.end() ? nullptr : &*found;
}

std::string text_of(const MemoryContents& contents) {
  std::string text;
  for (const ContentPart& part : contents.parts) {
    text += part.name + " " + std::to_string(part.bytes >> 10) + " KiB " + part.source + "\n";
  }
  for (const ContentFiller& one : contents.fillers) {
    text += std::to_string(static_cast<int>(one.kind)) + " " + one.name + " (" + one.held_as + ") " +
            std::to_string(one.count) + " " + std::to_string(one.bytes >> 10) + " KiB\n";
  }
  for (const std::string& note : contents.notes) text += note + "\n";
  return text;
}

bool is_whole(const Result<MemoryContents>& contents) {
  const ContentFiller* session = contents.has_value() ? filler(*contents, ContentKind::kHolder, "Session") : nullptr;
  return session != nullptr && session->count > 49'000 && session->count < 51'000;
}

// The same bytes in every run and preset.
class V8Contents : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const std::string path = node_of(GetParam());
    if (path.empty()) GTEST_SKIP() << "no Node " << GetParam() << " here";
    const std::string libraries = path == "/usr/bin/node" ? "" : path.substr(0, path.rfind('/')) + "/../lib";
    // Node's own threads sweep for a while behind the collection that the program asked for.
    const auto is_swept = [&](const test::MemoryImage& image) {
      const auto constants = constants_of(image, path);
      return constants.has_value() && is_whole(read_of(image, *constants, 0, 0, {}, kMaxHeapBytes));
    };
    image_ = test::image_of_program({path, "--expose-gc", "-e", kProgram}, libraries, is_swept);
    ASSERT_NE(image_, nullptr);
    constants_ = constants_of(*image_, path);
    ASSERT_TRUE(constants_.has_value()) << constants_.error().message;
  }
  [[nodiscard]] Result<MemoryContents> read(std::uint64_t torn_one_in = 0, SampleRate rate = {},
                                            std::uint64_t max_heap_bytes = kMaxHeapBytes,
                                            std::uint64_t seed = 0) const {
    return read_of(*image_, *constants_, torn_one_in, seed, rate, max_heap_bytes);
  }
  static Result<MemoryContents> read_of(const test::MemoryImage& image, const Constants& constants,
                                        std::uint64_t torn_one_in, std::uint64_t seed, SampleRate rate,
                                        std::uint64_t max_heap_bytes) {
    const test::ProcessSpace process(image, kAllFiles, torn_one_in, seed);
    return read_contents(process.space(), constants, rate, max_heap_bytes);
  }
  std::shared_ptr<const test::MemoryImage> image_;
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
  const auto contents = read();
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

void expect_held(const MemoryContents& contents, const char* held_as, const char* name, std::uint64_t count) {
  const ContentFiller* found = held(contents, held_as);
  ASSERT_NE(found, nullptr) << held_as;
  EXPECT_EQ(found->name, name);
  EXPECT_EQ(found->count, count);
}

TEST_P(V8Contents, containers_are_named_by_the_variable_or_the_attribute_that_holds_them) {
  const auto contents = read();
  ASSERT_TRUE(contents.has_value()) << contents.error().message;
  SCOPED_TRACE(text_of(*contents));
  expect_held(*contents, "`sessions`", "Map of Session", 50'000);
  expect_held(*contents, "`invoices`", "array of Invoice", 20'000);
  expect_held(*contents, "`buffers`", "array of Buffer", 300);
  expect_held(*contents, "`pages` of an instance of `PageCache`, `pageCache`", "Map of {status, lines}", 3'000);
  expect_held(*contents, "`#recent` of an instance of `PageCache`, `pageCache`", "array of string", 60'000);
  // A page takes 40 bytes, its lines 850; its key 24, its place in the table 32.
  const ContentFiller* pages = held(*contents, "`pages` of an instance of `PageCache`, `pageCache`");
  ASSERT_NE(pages, nullptr);
  EXPECT_NEAR(static_cast<double>(pages->bytes), 3000 * 940.0, 3000 * 100.0);
  const ContentFiller* buffers = held(*contents, "`buffers`");
  ASSERT_NE(buffers, nullptr);
  EXPECT_NEAR(static_cast<double>(buffers->bytes), 300 * 65536.0, 0.05 * 300 * 65536);
}

// V8 itself has the class that it extends in that place.
TEST_P(V8Contents, objects_of_a_class_that_extends_another_are_its_own) {
  const auto contents = read();
  ASSERT_TRUE(contents.has_value()) << contents.error().message;
  SCOPED_TRACE(text_of(*contents));
  expect_about(filler(*contents, ContentKind::kHolder, "Outage"), "Outage", 6'000);
}

TEST_P(V8Contents, plain_objects_are_named_by_their_attributes) {
  const auto contents = read();
  ASSERT_TRUE(contents.has_value()) << contents.error().message;
  SCOPED_TRACE(text_of(*contents));
  expect_about(filler(*contents, ContentKind::kHolder, "{status, lines}"), "{status, lines}", 3'000);
}

// Of every 50 words one is wrong: either the objects are unknown, or their names are right. With names of attributes
// torn, the program's 3,000 pages are plain objects as Node's own are (3,300 were seen), fewer than of a class.
TEST_P(V8Contents, torn_memory_gives_no_wrong_name) {
  const auto whole = read();
  ASSERT_TRUE(whole.has_value()) << whole.error().message;
  constexpr std::uint64_t kPlainObjects = 9000;
  const std::set<std::string> own = {"Session", "Invoice", "Handler", "Outage", "{status, lines}"};
  for (const std::uint64_t one_in : {50u, 1000u}) {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      const auto contents = read(one_in, {}, kMaxHeapBytes, seed);
      if (!contents.has_value()) continue;
      for (const ContentFiller& one : contents->fillers) {
        if (one.kind != ContentKind::kHolder) continue;
        const bool is_plain = one.name == "Object" && one.count <= kPlainObjects;
        // Of an instance it may be unknown which variable has it.
        const bool is_held =
            !one.held_as.empty() && std::ranges::any_of(whole->fillers, [&](const ContentFiller& other) {
              return other.held_as.starts_with(one.held_as);
            });
        EXPECT_TRUE(own.contains(one.name) || is_plain || is_held) << seed << "\n" << text_of(*contents);
      }
    }
  }
}

TEST_P(V8Contents, estimates_of_a_sample_are_within_their_error) {
  const auto whole = read();
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
  const auto whole = read();
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

const char* const kWaiting = R"(
require('vm').runInThisContext(`
const held = [];
async function readStock(i) { const text = 'x'.repeat(500) + i; await new Promise((done) => held.push(done)); return text; }
for (let i = 0; i < 20000; i++) readStock(i);
const kWaiting = Symbol('kWaiting');
class Gate { constructor() { this[kWaiting] = []; } take(i) { this[kWaiting].push('gate ' + i); } }
const gates = Array.from({length: 16}, () => new Gate());
for (let i = 0; i < 50000; i++) gates[3].take(i);
`, {filename: '/srv/stock.js'});
gc();
setTimeout(() => require('fs').writeSync(1, 'ready\n'), 300);
setInterval(() => {}, 60000);
)";

// Whose calls wait is seen of a few. One of sixteen objects has a container under a symbol, as Node's own classes do.
TEST(V8Server, calls_that_wait_are_an_estimate_and_a_symbol_is_a_name) {
  const std::string path = node_of("system");
  if (path.empty()) GTEST_SKIP() << "no Node here";
  constexpr const char* kHeld = "`Symbol(kWaiting)` of an instance of `Gate` (stock.js)";
  const auto contents_of = [&](const test::MemoryImage& image) -> Result<MemoryContents> {
    ASSIGN_OR_RETURN(const Constants constants, constants_of(image, path));
    const test::ProcessSpace process(image, kAllFiles);
    return read_contents(process.space(), constants, {}, kMaxHeapBytes);
  };
  const auto is_swept = [&](const test::MemoryImage& image) {
    const auto contents = contents_of(image);
    return contents.has_value() && held(*contents, kHeld) != nullptr;
  };
  const auto image = test::image_of_program({path, "--expose-gc", "-e", kWaiting}, "", is_swept);
  ASSERT_NE(image, nullptr);
  const auto contents = contents_of(*image);
  ASSERT_TRUE(contents.has_value()) << contents.error().message;
  SCOPED_TRACE(text_of(*contents));
  const ContentFiller* calls = filler(*contents, ContentKind::kHolder, "calls of `readStock` (stock.js)");
  ASSERT_NE(calls, nullptr);
  EXPECT_NEAR(static_cast<double>(calls->count), 20'000, 8'000);
  ASSERT_TRUE(calls->error_bytes.has_value());
  EXPECT_GT(*calls->error_bytes, calls->bytes / 10);
  expect_held(*contents, kHeld, "array of string", 50'000);
}

}  // namespace
}  // namespace oomw::v8
