// SPDX-License-Identifier: Apache-2.0
// A JVM whose memory somebody has changed anywhere, and a file of counters of any shape: reading them ends within
// bounds, and a class that is named has bytes of the heap.
#include <cstddef>
#include <cstring>
#include <span>

#include "fuzz/cost_oracle.h"
#include "runtimes/jvm/perf_data.h"
#include "unit/runtimes/jvm/fake_java_code.h"

namespace {

oomw::test::FakeJavaCode small_jvm() {
  oomw::test::FakeJavaCode jvm;
  const auto session = jvm.add_class("com/acme/Session", 32), bytes = jvm.add_class("[B", static_cast<int>(0xc0100800));
  for (int i = 0; i < 50; ++i) jvm.add_object(session, 32);
  jvm.add_array(bytes, 1000, 1016);
  const auto run = jvm.add_method("com/acme/Server", "run"), put = jvm.add_method("com/acme/Cart", "put");
  jvm.add_compiled(run, {{20, {run}}, {40, {run, put}}});
  return jvm;
}

// Each name is a class's and a function's, of bytes that are there.
void look_at_code(const oomw::test::FakeJavaCode& fake) {
  (void)fake.with_code([&](const oomw::jvm::Jvm& jvm, const oomw::jvm::JavaCode& code) {
    for (std::uint64_t at = 0; at < 12 * oomw::test::FakeJavaCode::kSegment; at += 20) {
      const auto blob = code.blob_at(jvm, fake.code + at);
      if (!blob.has_value()) continue;
      if (!blob->span.contains(fake.code + at)) __builtin_trap();
      const auto methods = code.methods_at(jvm, *blob, fake.code + at, at % 40 == 0);
      if (methods.size() > oomw::jvm::JavaCode::kMaxInlined) __builtin_trap();
      for (const std::uint64_t method : methods) (void)code.method_name(jvm, method);
    }
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using FakeJvm = oomw::test::FakeJavaCode;
  static const FakeJvm kWhole = small_jvm();
  (void)oomw::jvm::parse_perf_data(std::as_bytes(std::span(data, size)));
  FakeJvm jvm = kWhole;
  // Each patch: 4 bytes of where, 8 bytes of what.
  for (std::size_t at = 0; at + 12 <= size; at += 12) {
    std::uint32_t where = 0;
    std::uint64_t what = 0;
    std::memcpy(&where, data + at, sizeof where);
    std::memcpy(&what, data + at + 4, sizeof what);
    jvm.put(FakeJvm::kBase + where % (FakeJvm::kSize - 8), what);
  }
  // The longest lists that are followed, 40,000 classes in a circle or 32,768 threads, cost the same whatever the
  // input.
  const oomw::fuzz::CostOracle oracle(size, {.fixed_us = 4'000'000});
  look_at_code(jvm);
  const auto reading = jvm.read();
  if (!reading.has_value() || !reading->histogram) return 0;
  for (const auto& share : reading->histogram->classes) {
    if (share.name.empty() || share.bytes < 16 * share.count) __builtin_trap();
  }
  return 0;
}
