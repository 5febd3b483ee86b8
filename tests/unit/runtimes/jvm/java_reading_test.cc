// SPDX-License-Identifier: Apache-2.0
#include "runtimes/jvm/java_reading.h"

#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/runtimes/jvm/fake_jvm.h"

namespace oomw::jvm {
namespace {

using test::FakeJvm;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;

constexpr std::int32_t kByteArray = static_cast<std::int32_t>(0xc0100800);  // header of 16 bytes, elements of 1

std::string notes_of(const JavaReading& reading) {
  std::string text;
  for (const std::string& note : reading.notes) text += note + "\n";
  return text;
}

TEST(JavaReading, classes_are_counted_with_their_bytes) {
  FakeJvm fake;
  const auto session = fake.add_class("com/acme/Session", 32), bytes = fake.add_class("[B", kByteArray);
  for (int i = 0; i < 100; ++i) fake.add_object(session, 32);
  fake.add_array(bytes, 1000, 1016);
  const auto reading = fake.read();
  ASSERT_TRUE(reading.has_value()) << reading.error().message;
  ASSERT_TRUE(reading->histogram) << notes_of(*reading);
  EXPECT_THAT(reading->histogram->classes,
              ElementsAre(Field(&ClassShare::name, "com.acme.Session"), Field(&ClassShare::name, "byte[]")));
  EXPECT_EQ(reading->histogram->classes[0].count, 100u);
  EXPECT_EQ(reading->histogram->classes[0].bytes, 3200u);
  EXPECT_EQ(reading->histogram->classes[1].bytes, 1016u);
  EXPECT_EQ(reading->flags.max_heap_bytes, 512u << 20);
  EXPECT_EQ(reading->flags.collector, Collector::kSerial);
  EXPECT_EQ(reading->classes, 2u);
}

TEST(JavaReading, jvm_of_java_8_is_read_by_the_names_it_has) {
  FakeJvm fake(FakeJvm::Java::k8);
  const auto session = fake.add_class("com/acme/Session", 32);
  for (int i = 0; i < 50; ++i) fake.add_object(session, 32);
  fake.add_gap(4096);
  for (int i = 0; i < 50; ++i) fake.add_object(session, 32);
  const auto reading = fake.read();
  ASSERT_TRUE(reading.has_value()) << reading.error().message;
  ASSERT_TRUE(reading->histogram) << notes_of(*reading);
  EXPECT_EQ(reading->histogram->classes.at(0).count, 100u);
  EXPECT_EQ(reading->version, 8u);
  EXPECT_EQ(reading->threads, 1u);
  EXPECT_EQ(reading->flags.max_heap_bytes, 512u << 20);
  EXPECT_FALSE(reading->metaspace_bytes);
}

// A heap of 200 small regions with objects of two classes in shares that differ, and one large object behind them.
struct Regions {
  FakeJvm fake;
  std::vector<HeapSpace> spaces;
  std::map<std::string, ClassShare> truth;

  Regions() {
    const auto session = fake.add_class("com/acme/Session", 32), order = fake.add_class("com/acme/Order", 64);
    const auto bytes = fake.add_class("[B", kByteArray);
    std::uint32_t random = 7;
    for (int region = 0; region < 200; ++region) {
      const std::uint64_t begin = fake.top();
      while (fake.top() < begin + 960) {
        random = random * 1664525 + 1013904223;
        if ((random >> 16) % 200 < static_cast<std::uint32_t>(region)) {
          add("com.acme.Session", session, 32);
        } else {
          add("com.acme.Order", order, 64);
        }
      }
      spaces.push_back({{begin, fake.top()}, Generation::kOld});
    }
    const std::uint64_t begin = fake.top();
    fake.add_array(bytes, 8000, 8016);
    truth["byte[]"] = {"byte[]", 8016, 1};
    spaces.push_back({{begin, begin + 1024}, Generation::kHumongous});
  }
  void add(const std::string& name, std::uint32_t klass, std::uint64_t size) {
    fake.add_object(klass, size);
    truth[name].bytes += size;
    ++truth[name].count;
  }
};

TEST(ClassHistogram, estimates_by_a_sample_of_regions_are_within_their_error_and_large_objects_are_counted) {
  const Regions heap;
  constexpr int kSeeds = 20;
  int within = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto found = heap.fake.histogram(heap.spaces, {.rate = {4, seed}});
    ASSERT_TRUE(found.has_value()) << found.error().message;
    EXPECT_TRUE(found->is_sample());
    EXPECT_LT(found->walked_bytes, found->used_bytes / 3);
    ASSERT_EQ(found->classes.size(), 3u);
    for (const ClassShare& share : found->classes) {
      const ClassShare& truth = heap.truth.at(share.name);
      ASSERT_TRUE(share.error_bytes.has_value());
      const double off = static_cast<double>(share.bytes) - static_cast<double>(truth.bytes);
      if (share.name == "byte[]") {
        EXPECT_EQ(share.bytes, truth.bytes);
        EXPECT_EQ(*share.error_bytes, 0u);
      } else {
        EXPECT_LT(*share.error_bytes, share.bytes / 2);
        within += std::abs(off) <= 1.5 * static_cast<double>(*share.error_bytes) ? 1 : 0;
      }
    }
  }
  EXPECT_GE(within, 2 * kSeeds * 19 / 20) << "three standard deviations";
}

TEST(ClassHistogram, of_all_regions_is_a_count_and_of_few_there_is_no_sample) {
  const Regions heap;
  const auto whole = heap.fake.histogram(heap.spaces, {});
  ASSERT_TRUE(whole.has_value()) << whole.error().message;
  EXPECT_FALSE(whole->is_sample());
  for (const ClassShare& share : whole->classes) {
    EXPECT_EQ(share.bytes, heap.truth.at(share.name).bytes);
    EXPECT_EQ(share.count, heap.truth.at(share.name).count);
    EXPECT_FALSE(share.error_bytes);
  }
  const std::vector<HeapSpace> few(heap.spaces.begin(), heap.spaces.begin() + 4);
  const auto refused = heap.fake.histogram(few, {.rate = {2, 1}});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(heap.fake.histogram(few, {}).has_value());
  EXPECT_FALSE(heap.fake.histogram(heap.spaces, {.rate = {64, 1}}).has_value()) << "three or four of 200";
}

TEST(ClassHistogram, a_heap_that_is_larger_than_allowed_is_estimated_from_a_sample) {
  const Regions heap;
  const auto found = heap.fake.histogram(heap.spaces, {.max_heap_bytes = 50u << 10});
  ASSERT_TRUE(found.has_value()) << found.error().message;
  EXPECT_LT(found->walked_bytes, 70u << 10);
  EXPECT_TRUE(found->classes.front().error_bytes.has_value());
}

TEST(JavaReading, list_of_threads_in_a_circle_ends) {
  FakeJvm fake(FakeJvm::Java::k8);
  fake.put(fake.thread + 48, fake.thread);
  const auto reading = fake.read();
  ASSERT_TRUE(reading.has_value());
  EXPECT_THAT(notes_of(*reading), HasSubstr("32769 threads"));
}

TEST(JavaReading, rest_of_a_thread_buffer_is_skipped) {
  FakeJvm fake;
  const auto session = fake.add_class("com/acme/Session", 32);
  fake.add_object(session, 32);
  fake.add_gap(4096);
  fake.add_object(session, 32);
  const auto reading = fake.read();
  ASSERT_TRUE(reading.has_value() && reading->histogram) << notes_of(*reading);
  EXPECT_EQ(reading->histogram->objects, 2u);
  EXPECT_EQ(reading->histogram->unparsed_bytes, 0u);
}

TEST(JavaReading, heap_that_is_torn_names_nothing) {
  FakeJvm fake;
  const auto session = fake.add_class("com/acme/Session", 32);
  for (int i = 0; i < 100; ++i) fake.add_object(session, 32);
  fake.add_rubbish(128);
  const auto reading = fake.read();
  ASSERT_TRUE(reading.has_value());
  EXPECT_FALSE(reading->histogram);
  EXPECT_THAT(notes_of(*reading), HasSubstr("objects moved"));
}

// A JVM whose first reads of its heap find no objects behind the fiftieth of 32 bytes, as in a collection.
class Collecting final : public ByteSource {
 public:
  Collecting(const FakeJvm& jvm, int reads) : jvm_(jvm), reads_(reads) {}
  [[nodiscard]] Result<std::size_t> read_some(std::uint64_t address, std::span<std::byte> out) const override {
    const auto in_heap = [&](std::uint64_t at) {
      return at >= FakeJvm::kHeap && at < FakeJvm::kHeap + FakeJvm::kHeapSize;
    };
    if (address < FakeJvm::kBase || address + out.size() > FakeJvm::kBase + FakeJvm::kSize) return std::size_t{0};
    const bool is_moving = in_heap(address) && reads_ > 0 && reads_-- > 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const bool is_gone = is_moving && in_heap(address + i) && address + i >= FakeJvm::kHeap + 50 * 32;
      out[i] = is_gone ? std::byte{0} : jvm_.get<std::byte>(address + i);
    }
    return out.size();
  }

 private:
  const FakeJvm& jvm_;
  mutable int reads_;
};

TEST(JavaReading, heap_whose_objects_moved_once_is_read_again) {
  FakeJvm fake;
  const auto session = fake.add_class("com/acme/Session", 32);
  for (int i = 0; i < 100; ++i) fake.add_object(session, 32);
  const auto reading = fake.read_from(Collecting(fake, 1));
  ASSERT_TRUE(reading.has_value() && reading->histogram) << notes_of(*reading);
  EXPECT_EQ(reading->histogram->objects, 100u);
  EXPECT_EQ(notes_of(*reading), notes_of(*fake.read()));
  EXPECT_EQ(reading->owned.size(), fake.read()->owned.size());
}

TEST(JavaReading, heap_whose_objects_go_on_moving_names_nothing) {
  FakeJvm fake;
  const auto session = fake.add_class("com/acme/Session", 32);
  for (int i = 0; i < 100; ++i) fake.add_object(session, 32);
  const auto reading = fake.read_from(Collecting(fake, 1000));
  ASSERT_TRUE(reading.has_value());
  EXPECT_FALSE(reading->histogram);
  EXPECT_THAT(notes_of(*reading), HasSubstr("objects moved"));
}

TEST(JavaReading, class_whose_name_is_none_is_not_a_class) {
  FakeJvm fake;
  const auto forged = fake.add_class("a\x01", 32);
  for (int i = 0; i < 100; ++i) fake.add_object(forged, 32);
  const auto reading = fake.read();
  ASSERT_TRUE(reading.has_value());
  EXPECT_FALSE(reading->histogram);
  EXPECT_FALSE(reading->classes);
}

TEST(JavaReading, class_list_in_a_circle_ends) {
  FakeJvm fake;
  fake.add_class("com/acme/Session", 32);
  const auto klass = fake.get<std::uint64_t>(fake.loader + 8);
  fake.put(klass + 24, klass);
  const auto reading = fake.read();
  ASSERT_TRUE(reading.has_value());
  EXPECT_THAT(notes_of(*reading), HasSubstr("more than are counted"));
  EXPECT_FALSE(reading->direct_buffers);  // java.nio.Bits may be behind it
}

TEST(JavaReading, eden_outside_of_the_heap_is_not_walked) {
  FakeJvm fake;
  fake.put(fake.eden + 8, FakeJvm::kHeap + FakeJvm::kHeapSize + 8);
  const auto reading = fake.read();
  ASSERT_TRUE(reading.has_value());
  EXPECT_THAT(notes_of(*reading), HasSubstr("outside of the heap"));
}

TEST(VmStructs, forged_name_makes_the_jvm_unknown) {
  FakeJvm fake;
  fake.put(fake.last_name, std::uint8_t{0x07});
  EXPECT_THAT(fake.read().error().message, HasSubstr("unknown JVM"));
}

TEST(VmStructs, field_at_an_offset_that_none_can_have_is_missing) {
  FakeJvm fake;
  fake.put(fake.records + 32, std::uint64_t{1} << 40);  // Klass._layout_helper
  EXPECT_THAT(fake.read().error().message, HasSubstr("Klass._layout_helper"));
}

TEST(VmStructs, table_without_an_end_is_unknown) {
  FakeJvm fake;
  const std::uint64_t stride = fake.symbols.at("gHotSpotVMStructEntryArrayStride");
  fake.put(stride, std::uint64_t{8});
  EXPECT_EQ(fake.read().error().code, ErrorCode::kUnsupported);
}

TEST(VmStructs, budget_of_bytes_is_kept) {
  FakeJvm fake;
  EXPECT_EQ(fake.read(4096).error().code, ErrorCode::kLimit);
}

TEST(ReadableClassName, arrays_and_hidden_classes_read_as_in_source) {
  EXPECT_EQ(readable_class_name("java/util/HashMap$Node"), "java.util.HashMap$Node");
  EXPECT_EQ(readable_class_name("[[I"), "int[][]");
  EXPECT_EQ(readable_class_name("[Ljava/lang/Object;"), "java.lang.Object[]");
  EXPECT_EQ(readable_class_name("Main$$Lambda$1+0x0000000800c03000"), "Main$$Lambda$1");
}

}  // namespace
}  // namespace oomw::jvm
