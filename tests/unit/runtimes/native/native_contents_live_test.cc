// SPDX-License-Identifier: Apache-2.0
#include "runtimes/native/native_contents.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include "support/process_space.h"
#include "unit/base/temporary_directory.h"

namespace oomw::native {
namespace {

// A child process that has run `work`, and waits.
class Child {
 public:
  explicit Child(const std::function<void()>& work) {
    int ends[2];
    if (::pipe(ends) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      work();
      const struct mallinfo2 info = ::mallinfo2();
      if (::write(ends[1], &info, sizeof info) != sizeof info) ::_exit(1);
      for (;;) ::pause();
    }
    ::close(ends[1]);
    if (::read(ends[0], &malloc_, sizeof malloc_) != sizeof malloc_) ADD_FAILURE() << "the child ended";
    ::close(ends[0]);
  }
  ~Child() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  [[nodiscard]] int pid() const { return pid_; }
  [[nodiscard]] const struct mallinfo2& malloc() const { return malloc_; }

 private:
  int pid_ = -1;
  struct mallinfo2 malloc_ {};
};

// Volatile, so that the compiler keeps what nobody uses.
void* volatile kept = nullptr;

void* make_block(std::size_t bytes) {
  kept = ::malloc(bytes);
  std::memset(kept, 1, bytes);
  return kept;
}

// 20,000 blocks of 600 bytes, of which one in `stays` stays.
void scatter(std::size_t stays) {
  std::vector<void*> blocks;
  for (int i = 0; i < 20'000; ++i) blocks.push_back(make_block(600));
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (i % stays != 0) ::free(blocks[i]);
  }
}

// Freed blocks of every size up to 1 MiB, each between two that stay: hardly a bin of malloc's is empty then.
void fill_bins() {
  constexpr std::size_t kCachedBytes = 1032, kLargest = 1 << 20;
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);
  std::vector<void*> freed;
  for (std::size_t bytes = 24; bytes<kLargest; bytes += bytes> kCachedBytes ? bytes / 24 : 16) {
    for (int i = 0; i < (bytes > kCachedBytes ? 1 : 9); ++i) {  // a thread's cache takes seven
      freed.push_back(make_block(bytes));
      make_block(24);
    }
  }
  for (void* block : freed) ::free(block);
  make_block(4 * kLargest);  // sorts them
}

// A child that has 20,000 blocks of 600 bytes, and takes 5,000 more, 3 MB, each time that it is asked.
class GrowingChild {
 public:
  GrowingChild() {
    if (::pipe(asked_) != 0 || ::pipe(done_) != 0) return;
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      take(20'000);
      for (char word = 0;; take(5'000)) {
        if (::write(done_[1], &word, 1) != 1 || ::read(asked_[0], &word, 1) != 1) ::_exit(1);
      }
    }
    wait_done();
  }
  ~GrowingChild() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    for (const int fd : {asked_[0], asked_[1], done_[0], done_[1]}) ::close(fd);
  }
  GrowingChild(const GrowingChild&) = delete;
  GrowingChild& operator=(const GrowingChild&) = delete;
  void grow() const {
    if (::write(asked_[1], "g", 1) != 1) ADD_FAILURE() << "the child ended";
    wait_done();
  }
  [[nodiscard]] int pid() const { return pid_; }

 private:
  static void take(int blocks) {
    for (int i = 0; i < blocks; ++i) make_block(600);
  }
  void wait_done() const {
    char word = 0;
    if (::read(done_[0], &word, 1) != 1) ADD_FAILURE() << "the child ended";
  }

  int asked_[2] = {-1, -1}, done_[2] = {-1, -1};
  int pid_ = -1;
};

// The memory of a child that grows once, when its blocks are read.
class GrowsWhenRead final : public ByteSource {
 public:
  GrowsWhenRead(const ByteSource& memory, const GrowingChild& child, PageRange blocks)
      : memory_(memory), child_(child), blocks_(blocks) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override {
    const bool is_block = address >= blocks_.begin && address < blocks_.end && out.size() > 4096;
    if (is_block && !std::exchange(has_grown_, true)) child_.grow();
    return memory_.read_some(address, out);
  }
  [[nodiscard]] bool has_grown() const { return has_grown_; }

 private:
  const ByteSource& memory_;
  const GrowingChild& child_;
  const PageRange blocks_;
  mutable bool has_grown_ = false;
};

void expect_its_blocks(const MemoryContents& contents) {
  ASSERT_TRUE(contents.malloc.has_value()) << testing::PrintToString(contents.notes);
  EXPECT_THAT(contents.notes, testing::IsEmpty());
  ASSERT_FALSE(contents.fillers.empty());
  EXPECT_EQ(contents.fillers.front().name, "blocks of 608 B");
  EXPECT_NEAR(static_cast<double>(contents.fillers.front().count), 20'000, 300) << "of the picture's time";
}

std::uint64_t bytes_of(const MemoryContents& contents, std::string_view part) {
  const auto found = std::ranges::find(contents.parts, part, &ContentPart::name);
  return found == contents.parts.end() ? 0 : found->bytes;
}

struct Session {
  virtual ~Session() = default;
  char body[200] = {};
};
// Its object is small, and what it holds is large.
struct Drawing {
  virtual ~Drawing() = default;
  void* strokes = make_block(8000);
};
struct Printer {
  virtual ~Printer() = default;
};
struct Invoice {
  char text[100] = {};
};

std::uint64_t objects_of(const MemoryContents& contents, std::string_view name) {
  const auto found = std::ranges::find_if(contents.fillers, [&](const ContentFiller& filler) {
    return filler.kind == ContentKind::kType && filler.name.ends_with(name);
  });
  return found == contents.fillers.end() ? 0 : found->count;
}

MemoryContents contents_of(const test::ProcessSpace& process) {
  const auto contents = read_contents(process.space());
  EXPECT_TRUE(contents.has_value()) << contents.error().message;
  return contents.value_or(MemoryContents{});
}

double unused_bytes(const MallocTotals& malloc) { return static_cast<double>(malloc.free_bytes + malloc.top_bytes); }

class NativeContents : public testing::Test {
 protected:
  void SetUp() override {
#if defined(OOMW_SANITIZED) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer has a malloc of its own";
#endif
  }
};

TEST_F(NativeContents, blocks_that_were_freed_and_kept_by_malloc_are_counted_as_malloc_counts_them) {
  const Child child([] { scatter(20); });
  const MemoryContents contents = contents_of(test::ProcessSpace(child.pid(), "libc"));
  ASSERT_TRUE(contents.malloc.has_value());
  EXPECT_NEAR(unused_bytes(*contents.malloc), static_cast<double>(child.malloc().fordblks), 64 << 10);
  EXPECT_NEAR(static_cast<double>(contents.malloc->in_use_bytes), static_cast<double>(child.malloc().uordblks),
              64 << 10);
  EXPECT_GT(bytes_of(contents, "malloc: free"), 9u << 20);
  EXPECT_GT(contents.named_ratio, 0.9);
}

TEST_F(NativeContents, a_heap_that_is_full_of_gaps_is_known_for_what_it_is) {
  const Child child(fill_bins);
  const MemoryContents contents = contents_of(test::ProcessSpace(child.pid(), "libc"));
  ASSERT_TRUE(contents.malloc.has_value());
  EXPECT_NEAR(unused_bytes(*contents.malloc), static_cast<double>(child.malloc().fordblks), 64 << 10);
}

TEST_F(NativeContents, many_blocks_of_one_size_are_a_filler) {
  const Child child([] { scatter(1); });
  const MemoryContents contents = contents_of(test::ProcessSpace(child.pid(), "libc"));
  ASSERT_FALSE(contents.fillers.empty());
  EXPECT_EQ(contents.fillers.front().name, "blocks of 608 B");
  // A block that takes a free place with less than 32 bytes to spare takes those, too, and is of another size.
  EXPECT_GE(contents.fillers.front().count, 19'990u);
}

TEST_F(NativeContents, a_large_block_has_a_mapping_of_its_own) {
  const Child child([] { make_block(8u << 20); });
  const MemoryContents contents = contents_of(test::ProcessSpace(child.pid(), "libc"));
  EXPECT_GE(bytes_of(contents, "malloc: large blocks"), 8u << 20);
}

// A file of that name, mapped as a library is, and 8 MiB that are no malloc's of glibc.
MemoryContents contents_beside(const std::string& library) {
  const test::TemporaryDirectory folder;
  const std::string path = folder / library;
  const Child child([&] {
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
    kept = ::ftruncate(fd, 4096) == 0 ? ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
    void* pages = ::mmap(nullptr, 8u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    std::memset(pages, 1, 8u << 20);
  });
  return contents_of(test::ProcessSpace(child.pid(), "libc"));
}

TEST_F(NativeContents, what_another_malloc_has_is_named_as_its_own) {
  const MemoryContents contents = contents_beside("libjemalloc.so.2");
  EXPECT_GE(bytes_of(contents, "jemalloc or mappings of its own"), 8u << 20);
  EXPECT_GT(contents.named_ratio, 0.9);
}

TEST_F(NativeContents, mappings_of_the_program_itself_stay_unexplained) {
  const MemoryContents contents = contents_beside("libnotmalloc.so.2");
  EXPECT_GE(bytes_of(contents, "unexplained"), 8u << 20);
  EXPECT_LT(contents.named_ratio, 0.5);
}

// Its threads have each touched 100 KiB of their stacks.
void start_threads(int count) {
  static std::atomic<int> started{0};
  const auto run = [] {
    char volatile block[100 << 10];
    for (std::size_t at = 0; at < sizeof block; at += 4096) block[at] = 1;
    for (++started;;) ::pause();
  };
  for (int i = 0; i < count; ++i) std::thread(run).detach();
  while (started < count) ::usleep(1000);
}

TEST_F(NativeContents, stacks_of_threads_are_a_part_with_their_number) {
  const Child child([] { start_threads(30); });
  const MemoryContents contents = contents_of(test::ProcessSpace(child.pid(), "libc"));
  EXPECT_GE(bytes_of(contents, "thread stacks"), 30u * (100 << 10));
  const auto part = std::ranges::find(contents.parts, "thread stacks", &ContentPart::name);
  ASSERT_NE(part, contents.parts.end());
  EXPECT_EQ(part->source, "control blocks of 30 threads");
}

TEST_F(NativeContents, objects_are_counted_by_class_without_symbols) {
  const Child child([] {
    static std::vector<Session*> sessions;
    static std::vector<std::shared_ptr<Invoice>> invoices;
    for (int i = 0; i < 20'000; ++i) sessions.push_back(new Session);
    for (int i = 0; i < 10'000; ++i) invoices.push_back(std::make_shared<Invoice>());
    for (std::size_t i = 0; i < sessions.size(); i += 2) delete std::exchange(sessions[i], nullptr);
  });
  const MemoryContents contents = contents_of(test::ProcessSpace(child.pid(), ""));
  EXPECT_NEAR(static_cast<double>(objects_of(contents, "::Session")), 10'000, 200) << "deleted ones do not count";
  EXPECT_NEAR(static_cast<double>(objects_of(contents, "::Invoice")), 10'000, 200);
}

TEST_F(NativeContents, small_objects_as_many_as_the_blocks_that_fill_the_memory_are_counted) {
  const Child child([] {
    static std::vector<Drawing*> drawings;
    static std::vector<Printer*> printers;
    for (int i = 0; i < 2'000; ++i) drawings.push_back(new Drawing);
    for (int i = 0; i < 50; ++i) printers.push_back(new Printer);
  });
  const MemoryContents contents = contents_of(test::ProcessSpace(child.pid(), ""));
  EXPECT_NEAR(static_cast<double>(objects_of(contents, "::Drawing")), 2'000, 40);
  EXPECT_EQ(objects_of(contents, "::Printer"), 0u) << "too few to hold the blocks";
}

TEST_F(NativeContents, memory_that_changes_while_it_is_read_has_no_malloc_figures) {
  const Child child([] { scatter(20); });
  const MemoryContents contents = contents_of(test::ProcessSpace(child.pid(), "libc", 1000));
  EXPECT_FALSE(contents.malloc.has_value());
  EXPECT_EQ(bytes_of(contents, "malloc: free"), 0u);
  EXPECT_FALSE(contents.notes.empty());
}

TEST_F(NativeContents, blocks_taken_since_the_picture_of_the_memory_are_left_out) {
  const GrowingChild child;
  const test::ProcessSpace process(child.pid(), "libc");
  child.grow();
  const auto contents = read_contents(process.space());
  ASSERT_TRUE(contents.has_value()) << contents.error().message;
  expect_its_blocks(*contents);
}

TEST_F(NativeContents, blocks_taken_while_the_others_are_read_break_nothing) {
  const GrowingChild child;
  const test::ProcessSpace process(child.pid(), "libc");
  const auto& mappings = process.space().map().mappings();
  const auto heap = std::ranges::find(mappings, "[heap]", &Mapping::name);
  ASSERT_NE(heap, mappings.end());
  const UniqueFd fd(::open(("/proc/" + std::to_string(child.pid()) + "/mem").c_str(), O_RDONLY | O_CLOEXEC));
  const test::MemoryFile file(fd.get());
  const GrowsWhenRead memory(file, child, {heap->begin, heap->end});
  const AddressSpace space(memory, process.space().map(), process.space().present(), {}, 1u << 30);
  const auto contents = read_contents(space);
  ASSERT_TRUE(contents.has_value()) << contents.error().message;
  EXPECT_TRUE(memory.has_grown());
  expect_its_blocks(*contents);
}

TEST_F(NativeContents, parts_never_sum_up_to_more_than_is_there) {
  const Child child([] { scatter(3); });
  const MemoryContents contents = contents_of(test::ProcessSpace(child.pid(), "libc"));
  std::uint64_t sum = 0;
  for (const ContentPart& part : contents.parts) sum += part.bytes;
  EXPECT_EQ(sum, contents.anonymous_bytes);
}

}  // namespace
}  // namespace oomw::native
