// SPDX-License-Identifier: Apache-2.0
#include "captures/facts_wire.h"

#include <limits>

#include <gtest/gtest.h>

#include "facts/collector_components.h"
#include "reader/protocol.h"

namespace oomw {
namespace {

std::string written(ProfileFacts facts) {
  fit_in_message(facts);
  return reader::to_wire<record::Format>(facts);
}

ProfileFacts read_back(const ProfileFacts& facts) {
  return reader::from_wire<record::Format, ProfileFacts>(written(facts)).value();
}

ProfileFacts full_facts() {
  ProfileFacts facts{7, 8, RuntimeKind::kGo, {{"exporter", "otlp", "go.opentelemetry.io/x", 5, 0.5}}, {}};
  facts.sites.sites = {{"main.put (a.go:1)", {"main.put", "bytes.growSlice"}, 5, 0.25, "endpoint", "main.report"}};
  facts.sites.operations = {{"endpoint", "main.report", 6, 0.75}};
  return facts;
}

TEST(FactsWire, WhatIsWrittenIsRead) {
  const ProfileFacts facts = full_facts();
  const ProfileFacts again = read_back(facts);
  EXPECT_EQ(again.inuse_bytes, 7U);
  EXPECT_EQ(again.sample_count, 8U);
  EXPECT_EQ(again.of, RuntimeKind::kGo);
  EXPECT_EQ(again.components, facts.components);
  EXPECT_EQ(again.sites, facts.sites);
}

// The largest facts, of characters of four bytes each: still one message.
TEST(FactsWire, TheLargestFactsFitAMessage) {
  std::string wide;
  for (int i = 0; i < 160; ++i) wide += "\xF0\x9F\x92\xA5";
  ProfileFacts facts;
  facts.components.assign(kMaxCollectorComponents, {"receiver", wide, wide, 1, 0.01});
  facts.sites.sites.assign(HeapSites::kMaxSites,
                           {wide, std::vector<std::string>(HeapSites::kMaxPath, wide), 1, 0.1, "endpoint", wide});
  facts.sites.operations.assign(HeapSites::kMaxOperations, {"endpoint", wide, 1, 0.1});
  EXPECT_LT(written(facts).size(), reader::kMaxMessage - 1024);
  EXPECT_LT(read_back(facts).components.size(), facts.components.size());
}

TEST(FactsWire, AReaderInForeignHandsStaysWithinBounds) {
  ProfileFacts facts = full_facts();
  facts.components.front().ratio = std::numeric_limits<double>::quiet_NaN();
  facts.components.front().id = "\x1b[2J";
  facts.sites.operations.assign(1000, {"endpoint", "main.f", 1, 1e300});
  const ProfileFacts read = read_back(facts);
  EXPECT_EQ(read.components.front().ratio, 0);
  EXPECT_EQ(read.components.front().id.find('\x1b'), std::string::npos);
  EXPECT_EQ(read.sites.operations.size(), HeapSites::kMaxOperations);
  EXPECT_EQ(read.sites.operations.front().share, 1);
}

TEST(FactsWire, APartOfAMessageIsNone) {
  const std::string bytes = written(full_facts());
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    EXPECT_FALSE((reader::from_wire<record::Format, ProfileFacts>(bytes.substr(0, size)))) << size;
  }
}

}  // namespace
}  // namespace oomw
