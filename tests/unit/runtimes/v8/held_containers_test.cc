// SPDX-License-Identifier: Apache-2.0
// What the census noted, and what of it is named afterwards.
#include "runtimes/v8/held_containers.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include <gtest/gtest.h>

#include "unit/runtimes/v8/fake_heap.h"

namespace oomw::v8 {
namespace {

using test::FakeHeap;

// A heap whose objects are noted one by one, as they are at that moment.
class NotedHeap {
 public:
  FakeHeap heap;
  NotedObjects noted;
  const std::uint64_t session = heap.class_named(heap.string("Session"));

  void note(std::uint64_t tagged) {
    const Shapes shapes = shapes_now();
    std::vector<std::uint64_t> words = words_at(tagged);
    words.resize(shapes.at(words.front())->words);
    note(shapes, tagged, words);
  }
  void note(const Shapes& shapes, std::uint64_t tagged, const std::vector<std::uint64_t>& words) {
    const Shape* shape = shapes.at(words.front());
    ASSERT_NE(shape, nullptr);
    noted.note(constants_, *shape, tagged, words);
  }
  [[nodiscard]] Shapes shapes_now() {
    Shapes shapes;
    const std::vector<std::uint64_t> words = words_at(FakeHeap::kBase + 1);
    (void)shapes.scan(FakeHeap::kBase, words, constants_);
    return shapes;
  }
  std::uint64_t list_of(std::size_t entries) {
    std::vector<std::uint64_t> elements;
    for (std::size_t i = 0; i < entries; ++i) elements.push_back(heap.object(session, 32));
    return heap.list(heap.array(elements), entries);
  }
  // The variable `name` of function `load`.
  std::uint64_t variable(const char* name, std::uint64_t value) {
    const std::uint64_t locals[] = {heap.string(name)}, values[] = {value};
    return heap.context(heap.scope(locals, heap.string("load")), values);
  }
  [[nodiscard]] std::vector<ContentFiller> find() {
    noted.end();
    const Shapes shapes = shapes_now();
    const SpanSource memory(heap.bytes(), FakeHeap::kBase);
    const AddressSpace space = heap.space(memory);
    CachedReader reader(space, 1u << 28, 1024), again(space, 1u << 28, 1024);
    ConstructorNames names(reader, constants_, shapes), names_again(again, constants_, shapes);
    HeldSizes sizes(reader, space, constants_, shapes, names);
    return HeldContainers(names, names_again, sizes, constants_, noted).find(0, 1u << 30);
  }
  // From there to the end of the block.
  [[nodiscard]] std::vector<std::uint64_t> words_at(std::uint64_t tagged) {
    const std::uint64_t from = tagged - 1 - FakeHeap::kBase;
    std::vector<std::uint64_t> words((heap.bytes().size() - from) / 8);
    std::memcpy(words.data(), heap.bytes().data() + from, words.size() * 8);
    return words;
  }

 private:
  const Constants constants_ = constants_of(test::exported_by_v8()).value();
};

// One value of a context, and no more.
std::vector<std::uint64_t> context_words(NotedHeap& of, std::uint64_t context) {
  std::vector<std::uint64_t> words = of.words_at(context);
  words.resize(5);
  return words;
}

TEST(HeldContainers, a_variable_that_has_something_else_by_now_names_nothing) {
  for (const bool is_moved : {false, true}) {
    NotedHeap heap;
    const std::uint64_t list = heap.list_of(100), context = heap.variable("sessions", list);
    heap.note(list);
    heap.note(heap.shapes_now(), context, context_words(heap, context));
    if (is_moved) heap.heap.set(context, 32, heap.list_of(0));
    const std::vector<ContentFiller> found = heap.find();
    ASSERT_EQ(found.size(), is_moved ? 0u : 1u);
    if (!is_moved) {
      EXPECT_EQ(found[0].held_as, "`sessions` in function `load`");
    }
  }
}

// Modules that import a table have it in a variable each.
TEST(HeldContainers, the_largest_is_named_where_many_variables_have_others) {
  NotedHeap heap;
  const std::uint64_t table = heap.list_of(64), sessions = heap.list_of(1000);
  const std::vector<std::uint64_t> tables = {heap.list_of(65), heap.list_of(66)};
  std::vector<std::uint64_t> contexts;
  for (std::size_t i = 0; i < 300; ++i) contexts.push_back(heap.variable("table", i < 298 ? table : tables[i - 298]));
  contexts.push_back(heap.variable("sessions", sessions));
  const Shapes shapes = heap.shapes_now();
  for (const std::uint64_t list : {table, tables[0], tables[1], sessions}) heap.note(list);
  for (const std::uint64_t context : contexts) heap.note(shapes, context, context_words(heap, context));
  const std::vector<ContentFiller> found = heap.find();
  EXPECT_EQ(found.size(), 4u);
  EXPECT_TRUE(std::ranges::any_of(
      found, [](const ContentFiller& one) { return one.held_as == "`sessions` in function `load`"; }));
}

// A Map with one entry, a number and `value`, of which all others were deleted.
std::uint64_t small_map(NotedHeap& of, std::uint64_t value, std::uint64_t chains = 2) {
  std::vector<std::uint64_t> table(3 + chains + 2 * chains * 3);
  table[0] = std::uint64_t{1} << 32;
  table[1] = (2 * chains - 1) << 32;
  table[2] = chains << 32;
  table[3 + chains] = std::uint64_t{7} << 32;
  table[4 + chains] = value;
  const std::uint64_t map = of.heap.object(of.heap.map(2108, 32, 0), 32);
  of.heap.set(map, 24, of.heap.array(table));
  return map;
}

TEST(HeldContainers, a_variable_of_its_own_comes_before_a_map_that_it_stands_in) {
  NotedHeap heap;
  const std::uint64_t sessions = heap.list_of(1000), map = small_map(heap, sessions);
  const std::uint64_t contexts[] = {heap.variable("registry", map), heap.variable("sessions", sessions)};
  const Shapes shapes = heap.shapes_now();
  heap.note(map), heap.note(sessions);
  heap.note(shapes, contexts[0], context_words(heap, contexts[0]));
  EXPECT_EQ(heap.find().at(0).held_as, "inside `registry` in function `load`");
  heap.note(shapes, contexts[1], context_words(heap, contexts[1]));
  EXPECT_EQ(heap.find().at(0).held_as, "`sessions` in function `load`");
}

// 256,000 variables with one Map of 256 places are 65 million.
TEST(HeldContainers, small_containers_are_looked_into_a_bounded_number_of_times) {
  NotedHeap heap;
  const std::uint64_t map = small_map(heap, heap.heap.object(heap.session, 32), 128);
  const std::uint64_t context = heap.variable("registry", map);
  const Shapes shapes = heap.shapes_now();
  heap.note(map);
  std::vector<std::uint64_t> words = context_words(heap, context);
  words.resize(256, map);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    words[2] = 1 + 8 * i;  // another scope
    heap.note(shapes, context, words);
  }
  const auto start = std::chrono::steady_clock::now();
  EXPECT_TRUE(heap.find().empty());
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

// Whose they are is known only later: of many they are no name.
TEST(HeldContainers, attributes_of_many_objects_do_not_take_the_place_of_a_variable) {
  NotedHeap heap;
  const std::uint64_t sessions = heap.list_of(1000), context = heap.variable("sessions", sessions);
  heap.note(sessions);
  Shape table;
  table.extent = Extent::kProperties;
  const std::vector<std::uint64_t> words = {0, 0, sessions};
  const Constants constants = constants_of(test::exported_by_v8()).value();
  for (std::uint64_t i = 0; i < 100; ++i) heap.noted.note(constants, table, context + 8 * i, words);
  heap.note(heap.shapes_now(), context, context_words(heap, context));
  const std::vector<ContentFiller> found = heap.find();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].held_as, "`sessions` in function `load`");
}

// Room for 3,200 sessions that one in seven has: their average is not that of those that are there.
TEST(HeldContainers, empty_places_of_an_array_hold_nothing) {
  NotedHeap heap;
  const std::uint64_t hole = heap.heap.object(heap.heap.map(131, 32, 0), 32);
  std::vector<std::uint64_t> elements(3200, hole);
  for (std::size_t i = 0; i < elements.size(); i += 7) elements[i] = heap.heap.object(heap.session, 32);
  const std::uint64_t list = heap.heap.list(heap.heap.array(elements), elements.size());
  const std::uint64_t context = heap.variable("slots", list);
  heap.note(list);
  heap.note(heap.shapes_now(), context, context_words(heap, context));
  const std::vector<ContentFiller> found = heap.find();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "array");
  EXPECT_EQ(found[0].count, 3'200u);
  // The array itself, and 458 objects of 32 bytes by a sample of 32 places.
  EXPECT_GT(found[0].bytes, 16u + 3'200 * 8);
  EXPECT_LT(found[0].bytes, 16u + 3'200 * 8 + 2 * 458 * 32);
}

// Of a long array some elements stand for all.
TEST(HeldContainers, an_object_in_many_places_of_an_array_counts_once) {
  constexpr std::uint64_t kEntries = 64, kPlaces = 200, kText = 512;
  NotedHeap heap;
  std::vector<std::uint64_t> elements;
  for (std::uint64_t i = 0; i < kEntries; ++i) {
    const std::vector<std::uint64_t> places(kPlaces, heap.heap.string(std::string(kText, 'x')));
    elements.push_back(heap.heap.array(places));
  }
  const std::uint64_t list = heap.heap.list(heap.heap.array(elements), kEntries);
  const std::uint64_t context = heap.variable("sessions", list);
  heap.note(list);
  heap.note(heap.shapes_now(), context, context_words(heap, context));
  const std::vector<ContentFiller> found = heap.find();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].bytes, 16 + kEntries * (8 + 16 + 8 * kPlaces + 16 + kText));
}

}  // namespace
}  // namespace oomw::v8
