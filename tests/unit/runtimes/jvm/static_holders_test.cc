// SPDX-License-Identifier: Apache-2.0
#include "runtimes/jvm/static_holders.h"

#include <set>
#include <span>

#include <gtest/gtest.h>

#include "unit/runtimes/jvm/fake_jvm.h"

namespace oomw::jvm {
namespace {

using test::FakeJvm;

// A class Outbox of the program whose static field PENDING, the 26th word of its own object, refers to something.
struct Program {
  explicit Program(FakeJvm::Java java = FakeJvm::Java::k25) : jvm(java) {
    map = jvm.add_class("java/util/HashMap", 48);
    jvm.declare(map, {{"table", "[Ljava/util/HashMap$Node;", 24}, {"size", "I", 32}});
    const std::uint32_t outbox = jvm.add_class("org/acme/Outbox", 16);
    mirror = jvm.declare(outbox, {{"LIMIT", "I", 16, true}, {"PENDING", "Ljava/util/Map;", 200, true}});
    jvm.add_object(jvm.add_class("java/lang/Class", 256), 256);
  }
  // The next object of the heap is what PENDING refers to.
  void refer() { jvm.put(mirror + 200, jvm.top()); }
  std::uint64_t add(std::uint32_t klass, std::uint64_t size) {
    const std::uint64_t at = jvm.top();
    jvm.add_object(klass, size);
    return at;
  }
  [[nodiscard]] std::vector<StaticHolder> holders() const {
    const auto reading = jvm.read();
    return reading.has_value() ? reading->holders : std::vector<StaticHolder>{{"no reading", "", 0}};
  }

  FakeJvm jvm;
  std::uint32_t map = 0;
  std::uint64_t mirror = 0;
};

TEST(StaticHolders, collection_of_a_static_field_is_found_with_its_entries) {
  for (const auto java : {FakeJvm::Java::k17, FakeJvm::Java::k25}) {
    Program program(java);
    program.refer();
    program.jvm.put(program.add(program.map, 48) + 32, std::int32_t{50'000});
    const std::vector<StaticHolder> found = program.holders();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].held_as, "`org.acme.Outbox.PENDING`");
    EXPECT_EQ(found[0].type, "java.util.HashMap");
    EXPECT_EQ(found[0].entries, 50'000u);
  }
}

TEST(StaticHolders, count_of_a_superclass_and_one_that_threads_share_are_read) {
  Program program;
  const std::uint32_t linked = program.jvm.add_class("java/util/LinkedHashMap", 56);
  program.jvm.declare(linked, {{"head", "Ljava/util/LinkedHashMap$Entry;", 40}}, program.map);
  program.refer();
  program.jvm.put(program.add(linked, 56) + 32, std::int32_t{2'000});
  ASSERT_EQ(program.holders().size(), 1u);
  EXPECT_EQ(program.holders()[0].type, "java.util.LinkedHashMap");
  EXPECT_EQ(program.holders()[0].entries, 2'000u);

  const std::uint32_t queue = program.jvm.add_class("java/util/concurrent/LinkedBlockingQueue", 48);
  program.jvm.declare(queue, {{"count", "Ljava/util/concurrent/atomic/AtomicInteger;", 24}});
  program.refer();
  const std::uint64_t at = program.add(queue, 48);
  program.jvm.put(at + 24, program.jvm.top());
  program.jvm.put(program.add(program.jvm.add_class("java/util/concurrent/atomic/AtomicInteger", 16), 16) + 12,
                  std::int32_t{183'000});
  ASSERT_EQ(program.holders().size(), 1u);
  EXPECT_EQ(program.holders()[0].entries, 183'000u);
}

// Its array keeps the length that it once needed.
TEST(StaticHolders, ring_has_the_entries_between_its_ends_not_its_places) {
  Program program;
  const std::uint32_t ring = program.jvm.add_class("java/util/ArrayDeque", 32);
  program.jvm.declare(ring, {{"elements", "[Ljava/lang/Object;", 16}, {"head", "I", 24}, {"tail", "I", 28}});
  const std::uint32_t array = program.jvm.add_class("[Ljava/lang/Object;", 0);
  program.refer();
  const std::uint64_t at = program.add(ring, 32);
  program.jvm.put(at + 16, program.jvm.top());
  program.jvm.add_array(array, 10'000, 16 + 80'000);
  const auto entries = [&](std::int32_t head, std::int32_t tail) -> std::uint64_t {
    program.jvm.put(at + 24, head), program.jvm.put(at + 28, tail);
    const std::vector<StaticHolder> found = program.holders();
    return found.empty() ? 0 : found[0].entries;
  };
  EXPECT_EQ(entries(5'000, 5'000), 0u) << "all were taken out";
  EXPECT_EQ(entries(1'000, 3'500), 2'500u);
  EXPECT_EQ(entries(9'000, 1'500), 2'500u);
  EXPECT_EQ(entries(-1, 5'000), 0u);
  EXPECT_EQ(entries(0, 10'001), 0u);
}

TEST(StaticHolders, collection_that_counts_is_not_counted_by_its_array) {
  Program program;
  const std::uint32_t set = program.jvm.add_class("java/util/ImmutableCollections$SetN", 32);
  program.jvm.declare(set, {{"elements", "[Ljava/lang/Object;", 16}, {"size", "I", 24}});
  const std::uint32_t array = program.jvm.add_class("[Ljava/lang/Object;", 0);
  program.refer();
  const std::uint64_t at = program.add(set, 32);
  program.jvm.put(at + 16, program.jvm.top());
  program.jvm.put(at + 24, std::int32_t{1'200});
  program.jvm.add_array(array, 2'400, 16 + 19'200);
  ASSERT_EQ(program.holders().size(), 1u);
  EXPECT_EQ(program.holders()[0].entries, 1'200u);
}

// Of a map that threads change at the same time: its own count stands where they met first.
TEST(StaticHolders, cells_of_threads_that_count_at_the_same_time_are_added) {
  Program program;
  const std::uint32_t map = program.jvm.add_class("java/util/concurrent/ConcurrentHashMap", 64);
  program.jvm.declare(map, {{"baseCount", "J", 24}, {"counterCells", "[Ljava/util/Cell;", 32}});
  const std::uint32_t cell = program.jvm.add_class("java/util/concurrent/ConcurrentHashMap$CounterCell", 160);
  program.jvm.declare(cell, {{"value", "J", 144}});
  const std::uint32_t array = program.jvm.add_class("[Ljava/util/Cell;", 0);
  program.refer();
  const std::uint64_t at = program.add(map, 64), cells = program.jvm.top();
  program.jvm.put(at + 24, std::int64_t{500});
  program.jvm.put(at + 32, cells);
  program.jvm.add_array(array, 4, 16 + 32);
  const std::int64_t counted[] = {90'000, 0, -20'000};  // one is not made yet
  for (std::uint64_t i : {0u, 2u}) {
    program.jvm.put(cells + 16 + 8 * i, program.jvm.top());
    program.jvm.put(program.add(cell, 160) + 144, counted[i]);
  }
  ASSERT_EQ(program.holders().size(), 1u);
  EXPECT_EQ(program.holders()[0].entries, 70'500u);
  program.jvm.put(at + 24, std::int64_t{-100'000});
  EXPECT_TRUE(program.holders().empty());
}

TEST(StaticHolders, statistics_are_no_collection) {
  Program program;
  const std::uint32_t statistics = program.jvm.add_class("java/util/LongSummaryStatistics", 48);
  program.jvm.declare(statistics, {{"count", "J", 16}, {"sum", "J", 24}});
  program.refer();
  program.jvm.put(program.add(statistics, 48) + 16, std::int64_t{4'000'000});
  EXPECT_TRUE(program.holders().empty());
}

// A collection moved the class's own object, and another one lies there.
TEST(StaticHolders, fields_of_what_is_no_class_name_nothing) {
  Program program;
  program.refer();
  program.jvm.put(program.add(program.map, 48) + 32, std::int32_t{50'000});
  ASSERT_EQ(program.holders().size(), 1u);
  program.jvm.put(program.mirror + 8, program.map);
  EXPECT_TRUE(program.holders().empty());
}

// Where each block of the heap is another one when it is read again.
class ChangingHeap final : public ByteSource {
 public:
  ChangingHeap(const ByteSource& first, const ByteSource& then, std::uint64_t from)
      : first_(first), then_(then), from_(from) {}
  Result<std::size_t> read_some(std::uint64_t offset, std::span<std::byte> out) const override {
    const bool is_again = offset >= from_ && !seen_.insert(offset).second;
    return (is_again ? then_ : first_).read_some(offset, out);
  }

 private:
  const ByteSource &first_, &then_;
  const std::uint64_t from_;
  mutable std::set<std::uint64_t> seen_;
};

TEST(StaticHolders, what_two_readings_do_not_agree_on_is_not_named) {
  Program program;
  program.refer();
  program.jvm.put(program.add(program.map, 48) + 32, std::int32_t{50'000});
  const auto bytes = program.jvm.bytes();
  program.jvm.put(program.mirror + 200, std::uint64_t{0});
  const auto later = program.jvm.bytes();
  const SpanSource first(bytes, FakeJvm::kBase), then(later, FakeJvm::kBase);
  const auto reading = program.jvm.read_from(ChangingHeap(first, then, FakeJvm::kHeap));
  ASSERT_TRUE(reading.has_value()) << reading.error().message;
  EXPECT_TRUE(reading->holders.empty());
  const auto still = program.jvm.read_from(ChangingHeap(first, first, FakeJvm::kHeap));
  ASSERT_TRUE(still.has_value());
  EXPECT_EQ(still->holders.size(), 1u);
}

TEST(StaticHolders, objects_of_the_program_between_are_passed) {
  Program program;
  const std::uint32_t board = program.jvm.add_class("org/acme/Board", 24);
  program.jvm.declare(board, {{"ticks", "Ljava/util/Map;", 16}});
  program.refer();
  const std::uint64_t at = program.add(board, 24);
  program.jvm.put(at + 16, program.jvm.top());
  program.jvm.put(program.add(program.map, 48) + 32, std::int32_t{3'000});
  ASSERT_EQ(program.holders().size(), 1u);
  EXPECT_EQ(program.holders()[0].held_as, "`org.acme.Outbox.PENDING.ticks`");
}

TEST(StaticHolders, a_long_package_leaves_room_for_the_field) {
  Program program;
  const std::string name = "org/acme/enterprise/orders/fulfilment/warehouse/internal/registry/PendingShipmentRegistry";
  const std::uint32_t registry = program.jvm.add_class(name, 16);
  const std::uint64_t mirror = program.jvm.declare(registry, {{"BY_CUSTOMER", "Ljava/util/Map;", 200, true}});
  program.jvm.add_object(program.jvm.add_class("java/lang/Class", 256), 256);
  program.jvm.put(mirror + 200, program.jvm.top());
  program.jvm.put(program.add(program.map, 48) + 32, std::int32_t{2'000});
  ASSERT_EQ(program.holders().size(), 1u);
  EXPECT_EQ(program.holders()[0].held_as,
            "`org.acme.enterprise.orders.fulfilment.warehouse.internal.registry."
            "PendingShipmentRegistry.BY_CUSTOMER`");
}

TEST(StaticHolders, few_entries_other_objects_and_nonsense_are_none) {
  Program program;
  EXPECT_TRUE(program.holders().empty()) << "null";
  program.refer();
  const std::uint64_t map = program.add(program.map, 48);
  for (const std::int32_t entries : {0, 999, -5}) {
    program.jvm.put(map + 32, entries);
    EXPECT_TRUE(program.holders().empty()) << entries;
  }
  program.jvm.put(program.mirror + 200, FakeJvm::kBase);
  EXPECT_TRUE(program.holders().empty()) << "outside of the heap";
  program.refer();
  program.jvm.put(program.add(program.jvm.add_class("java/lang/Thread", 64), 64) + 32, std::int32_t{50'000});
  EXPECT_TRUE(program.holders().empty());
}

// 120 ways at each of three levels are 1.7 million, at each of four superclasses more.
TEST(StaticHolders, wrappers_within_wrappers_end_after_a_bounded_number_of_steps) {
  Program program(FakeJvm::Java::k17);  // which has no limit of fields here
  const std::uint32_t wide = program.jvm.add_class("java/util/Wide", 1024);
  program.jvm.declare(wide, std::vector<FakeJvm::JavaField>(120, {"m", "Ljava/util/Map;", 16}));
  program.refer();
  const std::uint64_t at = program.add(wide, 1024);
  program.jvm.put(at + 16, at);
  EXPECT_TRUE(program.holders().empty());
}

TEST(StaticHolders, objects_that_refer_to_each_other_end) {
  Program program;
  const std::uint32_t node = program.jvm.add_class("org/acme/Node", 24);
  program.jvm.declare(node, {{"next", "Lorg/acme/Node;", 16}});
  program.refer();
  const std::uint64_t at = program.add(node, 24);
  program.jvm.put(at + 16, at);
  EXPECT_TRUE(program.holders().empty());
}

}  // namespace
}  // namespace oomw::jvm
