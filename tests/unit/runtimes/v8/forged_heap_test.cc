// SPDX-License-Identifier: Apache-2.0
// Heaps that are small, torn or forged.
#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include <gmock/gmock.h>

#include "base/unique_fd.h"
#include "runtimes/v8/census.h"
#include "runtimes/v8/names.h"
#include "runtimes/v8/v8_contents.h"
#include "unit/runtimes/v8/fake_heap.h"

namespace oomw::v8 {
namespace {

using test::FakeHeap;
using testing::HasSubstr;
using testing::IsEmpty;

MemoryContents contents_of(FakeHeap& heap) {
  const SpanSource memory(heap.bytes(), FakeHeap::kBase);
  return read_contents(heap.space(memory), constants_of(test::exported_by_v8()).value()).value();
}

// Until the block is full.
MemoryContents contents_with(FakeHeap& heap, std::uint64_t map, std::uint32_t bytes = 32) {
  heap.fill(map, bytes, heap.left() / bytes);
  return contents_of(heap);
}

const ContentFiller* holder(const MemoryContents& contents) {
  const auto found = std::ranges::find(contents.fillers, ContentKind::kHolder, &ContentFiller::kind);
  return found == contents.fillers.end() ? nullptr : &*found;
}

std::string holder_name(const MemoryContents& contents) {
  const ContentFiller* found = holder(contents);
  return found == nullptr ? "" : found->name;
}

TEST(ForgedHeap, objects_are_counted_and_named_by_their_constructor) {
  FakeHeap heap;
  const std::uint64_t session = heap.class_named(heap.string("Session"));
  heap.fill(session, 32, 5000);
  (void)heap.free_space(heap.left());
  const MemoryContents contents = contents_of(heap);
  ASSERT_NE(holder(contents), nullptr);
  EXPECT_EQ(holder(contents)->name, "Session");
  EXPECT_EQ(holder(contents)->count, 5000u);
  EXPECT_EQ(holder(contents)->bytes, 160'000u);
}

// A list of so many objects, said to have `length`, in the variable `sessions` of `load`; another scope may be counted.
MemoryContents contents_with_list(std::size_t objects, std::uint64_t length, std::uint64_t more_locals) {
  FakeHeap heap;
  const std::uint64_t session = heap.class_named(heap.string("Session"));
  std::vector<std::uint64_t> elements;
  for (std::size_t i = 0; i < objects; ++i) elements.push_back(heap.object(session, 32));
  const std::uint64_t list = heap.list(heap.array(elements), length), locals[] = {heap.string("sessions")};
  const std::uint64_t scope = heap.scope(locals, heap.string("load")), values[] = {list};
  heap.set(scope, 24, (1 + more_locals) << 32);
  (void)heap.context(scope, values);
  (void)heap.free_space(heap.left());
  return contents_of(heap);
}

const ContentFiller* container(const MemoryContents& contents) {
  const auto found =
      std::ranges::find_if(contents.fillers, [](const ContentFiller& one) { return !one.held_as.empty(); });
  return found == contents.fillers.end() ? nullptr : &*found;
}

TEST(ForgedHeap, a_list_is_named_by_the_variable_that_holds_it) {
  const MemoryContents contents = contents_with_list(3000, 3000, 0);
  ASSERT_NE(container(contents), nullptr);
  EXPECT_EQ(container(contents)->held_as, "`sessions` in function `load`");
  EXPECT_EQ(container(contents)->name, "array of Session");
  EXPECT_EQ(container(contents)->count, 3000u);
  EXPECT_EQ(container(contents)->bytes, 3000u * 40 + 16);
}

TEST(ForgedHeap, a_list_with_more_entries_than_its_table_or_a_scope_of_other_variables_gives_no_holder) {
  EXPECT_EQ(container(contents_with_list(3000, 3001, 0)), nullptr);
  EXPECT_EQ(container(contents_with_list(3000, 3000, 1)), nullptr);
  EXPECT_EQ(container(contents_with_list(3000, 3000, 70)), nullptr);
}

TEST(ForgedHeap, what_only_an_object_holds_is_its_own_and_what_all_hold_is_not) {
  FakeHeap heap;
  const std::uint64_t session = heap.class_named(heap.string("Session")), shared = heap.string(std::string(64, 'x'));
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t text = heap.string(std::string(100, 'y'));
    const std::uint64_t elements[] = {text, shared};
    const std::uint64_t list = heap.array(elements), object = heap.object(session, 32);
    heap.set(object, 24, list);
  }
  (void)heap.free_space(heap.left());
  const MemoryContents contents = contents_of(heap);
  ASSERT_NE(holder(contents), nullptr);
  EXPECT_EQ(holder(contents)->bytes, 1000u * (32 + 32 + 16 + 104));
}

// A heap of many shapes has one for each.
TEST(ForgedHeap, descriptions_of_properties_are_counted_whole) {
  FakeHeap heap;
  const std::uint64_t name = heap.string("total");
  constexpr std::uint64_t kCount = 300;
  for (std::uint64_t i = 0; i < kCount; ++i) (void)heap.descriptors(20, name);
  (void)heap.free_space(heap.left());
  const MemoryContents contents = contents_of(heap);
  const auto system = std::ranges::find(contents.fillers, "(system)", &ContentFiller::name);
  ASSERT_NE(system, contents.fillers.end());
  EXPECT_GE(system->bytes, kCount * (24 + 24 * 20));
  EXPECT_LE(system->bytes, kCount * (24 + 24 * 20) + 8'000);  // maps
}

TEST(ForgedHeap, number_of_descriptions_that_leads_nowhere_is_not_counted) {
  FakeHeap heap;
  const std::uint64_t session = heap.class_named(heap.string("Session")), name = heap.string("total");
  heap.set(heap.descriptors(2, name), 8, 0xffff);
  const MemoryContents contents = contents_with(heap, session);
  EXPECT_EQ(holder_name(contents), "Session");
  for (const ContentFiller& one : contents.fillers) EXPECT_LE(one.bytes, kBlockBytes) << one.name;
}

// Each is one of those that are counted.
TEST(ForgedHeap, plain_objects_in_plain_objects_count_once) {
  FakeHeap heap;
  const std::uint64_t plain = heap.class_named(heap.string("Object"));
  for (int i = 0; i < 800; ++i) {
    const std::uint64_t inner = heap.object(plain, 32), text = heap.string(std::string(96, 'y'));
    const std::uint64_t outer = heap.object(plain, 32);
    heap.set(outer, 16, inner);
    heap.set(outer, 24, text);
    heap.set(inner, 16, heap.string(std::string(96, 'z')));
  }
  (void)heap.free_space(heap.left());
  const MemoryContents contents = contents_of(heap);
  ASSERT_NE(holder(contents), nullptr);
  EXPECT_EQ(holder(contents)->name, "Object");
  EXPECT_EQ(holder(contents)->count, 1600u);
  EXPECT_EQ(holder(contents)->bytes, 1600u * (32 + 112));
}

TEST(ForgedHeap, local_of_a_constructor_is_not_its_name) {
  FakeHeap heap;
  const std::uint64_t locals[] = {heap.string("request"), heap.string("answer")};
  EXPECT_EQ(holder_name(contents_with(heap, heap.class_named(heap.scope(locals, heap.string("Handler"))))), "Handler");
}

TEST(ForgedHeap, constructor_whose_locals_are_not_as_many_as_it_counts_has_no_name) {
  FakeHeap heap;
  const std::uint64_t locals[] = {heap.string("request"), std::uint64_t{5} << 32};
  EXPECT_EQ(holder_name(contents_with(heap, heap.class_named(heap.scope(locals, heap.string("Handler"))))), "");
}

// The scope of a class without a name ends, and behind it lies what has a string in it.
TEST(ForgedHeap, text_behind_a_scope_is_not_its_name) {
  FakeHeap heap;
  const std::uint64_t text = heap.string("request"), scope = heap.scope({}, std::uint64_t{7} << 32);
  const std::uint64_t elements[] = {text};
  (void)heap.array(elements);
  EXPECT_EQ(holder_name(contents_with(heap, heap.class_named(scope))), "");
}

TEST(ForgedHeap, text_that_is_no_identifier_is_not_shown) {
  for (const char* text : {"alice smith", "", "a\x01", "7up", "se-cret", "../x"}) {
    FakeHeap heap;
    const MemoryContents contents = contents_with(heap, heap.class_named(heap.string(text)));
    EXPECT_EQ(holder_name(contents), "") << text;
    for (const ContentFiller& one : contents.fillers) EXPECT_NE(one.name, text);
  }
}

TEST(ForgedHeap, function_whose_shared_part_is_something_else_has_no_name) {
  FakeHeap heap;
  const std::uint64_t name = heap.string("Session"), function = heap.function(name);
  heap.set(function, 24, name);
  EXPECT_EQ(holder_name(contents_with(heap, heap.map(FakeHeap::kObject, 32, function))), "");
}

// A program may call its own scripts so, too.
TEST(ForgedHeap, file_that_is_no_name_is_not_shown) {
  const Constants constants = constants_of(test::exported_by_v8()).value();
  const std::pair<const char*, const char*> files[] = {
      {"/srv/cache.js", "cache.js"}, {"/srv/alice smith", ""},  {"node:internal/timers", "node:internal/timers"},
      {"node:alice smith", ""},      {"node:a/\x1b[31m/b", ""}, {"node:", ""}};
  for (const auto& [path, expected] : files) {
    FakeHeap heap;
    const std::uint64_t function = heap.function(heap.string("visit")), script = heap.object(heap.map(169, 32, 0), 32);
    const std::uint64_t shared = heap.word(function, 24);
    heap.set(shared, 24, script);
    heap.set(script, 16, heap.string(path));
    const SpanSource memory(heap.bytes(), FakeHeap::kBase);
    const AddressSpace space = heap.space(memory);
    CachedReader reader(space, 1u << 20);
    Shapes shapes;
    std::vector<std::uint64_t> words(heap.bytes().size() / 8);
    std::memcpy(words.data(), heap.bytes().data(), heap.bytes().size());
    (void)shapes.scan(FakeHeap::kBase, words, constants);
    EXPECT_EQ(ConstructorNames(reader, constants, shapes).file_of(function), expected) << path;
  }
}

TEST(ForgedHeap, maps_that_point_back_to_each_other_end) {
  FakeHeap heap;
  const std::uint64_t first = heap.map(FakeHeap::kObject, 32, 0), second = heap.map(FakeHeap::kObject, 32, first);
  heap.set(first, 32, second);
  EXPECT_EQ(holder_name(contents_with(heap, second)), "");
}

TEST(ForgedHeap, array_longer_than_its_mapping_is_not_counted) {
  FakeHeap heap;
  const std::uint64_t session = heap.class_named(heap.string("Session"));
  (void)heap.array_of(1u << 20, 16);
  const MemoryContents contents = contents_with(heap, session);
  EXPECT_EQ(holder_name(contents), "Session");
  for (const ContentFiller& one : contents.fillers) EXPECT_LE(one.bytes, kBlockBytes) << one.name;
}

TEST(ForgedHeap, block_that_is_mostly_something_else_is_not_taken_for_the_heap) {
  FakeHeap heap;
  heap.fill(heap.class_named(heap.string("Session")), 32, 100);
  EXPECT_THAT(contents_of(heap).fillers, IsEmpty());
}

TEST(ForgedHeap, objects_that_explain_too_little_of_the_pages_are_unknown) {
  FakeHeap heap;
  heap.fill(heap.class_named(heap.string("Session")), 32, (heap.left() - 80'000) / 32);
  const MemoryContents contents = contents_of(heap);
  EXPECT_THAT(contents.fillers, IsEmpty());
  ASSERT_FALSE(contents.notes.empty());
  EXPECT_THAT(testing::PrintToString(contents.notes), HasSubstr("objects are not known"));
}

TEST(ForgedHeap, memory_without_a_map_of_maps_is_no_heap) {
  FakeHeap heap;
  std::ranges::fill(heap.bytes(), std::byte{0x41});
  const SpanSource memory(heap.bytes(), FakeHeap::kBase);
  const auto contents = read_contents(heap.space(memory), constants_of(test::exported_by_v8()).value());
  ASSERT_FALSE(contents.has_value());
  EXPECT_EQ(contents.error().code, ErrorCode::kNotFound);
}

TEST(ForgedHeap, buffers_count_by_what_is_present_of_them_and_once) {
  FakeHeap heap;
  const std::uint64_t session = heap.class_named(heap.string("Session"));
  const std::uint64_t inside = FakeHeap::kBase + 0x30000;
  (void)heap.buffer(inside, 0x1000);
  (void)heap.buffer(inside, 0x1000);
  (void)heap.buffer(0x7f0000000000, std::uint64_t{1} << 34);
  (void)heap.buffer(inside, std::uint64_t{1} << 40);
  const MemoryContents contents = contents_with(heap, session);
  for (const ContentPart& part : contents.parts) {
    if (part.name == "ArrayBuffers") {
      EXPECT_LE(part.bytes, 0x1000u);
    }
  }
  EXPECT_EQ(holder_name(contents), "Session");
}

TEST(ForgedHeap, sample_of_one_page_estimates_nothing) {
  FakeHeap heap;
  heap.set(FakeHeap::kBase + 1, 24, FakeHeap::kBase + FakeHeap::kHead);
  heap.set(FakeHeap::kBase + 1, 32, FakeHeap::kBase + kBlockBytes);
  const std::uint64_t session = heap.class_named(heap.string("Session"));
  heap.fill(session, 32, heap.left() / 32);
  const SpanSource memory(heap.bytes(), FakeHeap::kBase);
  for (const std::uint64_t seed : {0u, 1u, 2u, 3u}) {
    const auto sample = read_contents(heap.space(memory), constants_of(test::exported_by_v8()).value(), {2, seed});
    ASSERT_TRUE(sample.has_value()) << sample.error().message;
    EXPECT_THAT(sample->fillers, IsEmpty());
    EXPECT_EQ(sample->parts.front().name, "V8 heap: objects");
  }
}

TEST(ForgedHeap, page_that_claims_more_than_its_mapping_is_not_taken) {
  FakeHeap heap;
  heap.set(FakeHeap::kBase + 1, 24, FakeHeap::kBase + 0x1130);
  heap.set(FakeHeap::kBase + 1, 32, FakeHeap::kBase + 0x80000);
  const auto parts = contents_of(heap).parts;
  for (const ContentPart& part : parts) EXPECT_EQ(part.name, "unexplained");
  heap.set(FakeHeap::kBase + 1, 32, FakeHeap::kBase + 0x40000);
  EXPECT_EQ(contents_of(heap).parts.front().name, "V8 heap: other pages");
}

TEST(ChangedBytes, pages_that_came_and_went_are_counted) {
  const auto map = [](const std::string& text) { return MemoryMap::parse(text); };
  const MemoryMap before = map(
      "40000-80000 rw-p 00000000 00:00 0\n80000-c0000 r-xp 00000000 00:00 0\nc0000-100000 rw-p 00000000 00:01 7 /x\n"
      "140000-180000 rw-p 00000000 00:00 0\n");
  EXPECT_EQ(changed_bytes(before, before), 0u);
  EXPECT_EQ(changed_bytes(before, map("40000-80000 rw-p 00000000 00:00 0\n")), 0x40000u);
  EXPECT_EQ(changed_bytes(before, map("60000-80000 rw-p 00000000 00:00 0\n140000-190000 rw-p 00000000 00:00 0\n")),
            0x30000u);
  EXPECT_EQ(changed_bytes(before, map("")), 0x80000u);
}

TEST(V8Constants, another_program_has_none) {
  FakeHeap heap;
  EXPECT_EQ(read_constants(SpanSource(heap.bytes())).error().code, ErrorCode::kInvalid);
  const UniqueFd self(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(read_constants(FdSource(self.get())).error().code, ErrorCode::kUnsupported);
}

TEST(V8Constants, what_is_missing_is_named) {
  auto values = test::exported_by_v8();
  values.erase("class_JSFunction__shared__SharedFunctionInfo");
  EXPECT_THAT(constants_of(values).error().message, HasSubstr("class_JSFunction__shared__"));
}

TEST(V8Constants, compressed_pointers_are_not_read) {
  auto values = test::exported_by_v8();
  values["TaggedSize"] = 4;
  EXPECT_EQ(constants_of(values).error().code, ErrorCode::kUnsupported);
}

TEST(V8Constants, free_space_that_is_not_exported_lies_before_the_hole) {
  auto values = test::exported_by_v8();
  values.erase("type_FreeSpace__FREE_SPACE_TYPE");
  EXPECT_FALSE(constants_of(values).has_value());
  values["type_FeedbackVector__FEEDBACK_VECTOR_TYPE"] = 266;
  values["type_Hole__HOLE_TYPE"] = 269;
  EXPECT_EQ(constants_of(values).value().type_free, 268);
}

TEST(V8Constants, offsets_outside_of_an_object_are_not_taken) {
  auto values = test::exported_by_v8();
  for (const int offset : {-8, 1 << 20}) {
    values["class_Map__instance_type__uint16_t"] = offset;
    EXPECT_FALSE(constants_of(values).has_value()) << offset;
  }
}

}  // namespace
}  // namespace oomw::v8
