// SPDX-License-Identifier: Apache-2.0
#include "sinks/s3/s3_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sinks/s3/xml_reader.h"

namespace oomw {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// As the S3 API reference prints it, shortened.
constexpr const char* kPage = R"(<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">
  <Name>evidence</Name><Prefix/><NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=</NextContinuationToken>
  <KeyCount>2</KeyCount><MaxKeys>1000</MaxKeys><IsTruncated>true</IsTruncated>
  <Contents><Key>a&amp;b/incident.json</Key><LastModified>2026-11-21T03:04:05.000Z</LastModified>
    <ETag>&quot;70ee1738b6b21e2c8a43f3a5ab0eee71&quot;</ETag><Size>1111</Size><StorageClass>STANDARD</StorageClass></Contents>
  <Contents><Size>7</Size><Key>a&#x26;b/report.md</Key><Owner><ID>x</ID></Owner></Contents>
  <CommonPrefixes><Prefix>prod/2026-11-21/</Prefix></CommonPrefixes>
</ListBucketResult>)";

TEST(ParseListing, objects_prefixes_and_the_next_page_are_read) {
  const auto listing = parse_listing(kPage);
  ASSERT_TRUE(listing.has_value()) << listing.error().message;
  ASSERT_EQ(listing->objects.size(), 2u);
  EXPECT_EQ(listing->objects[0].key, "a&b/incident.json");
  EXPECT_EQ(listing->objects[0].bytes, 1111u);
  EXPECT_EQ(listing->objects[1].key, "a&b/report.md");
  EXPECT_EQ(listing->objects[1].bytes, 7u);
  EXPECT_THAT(listing->common_prefixes, ElementsAre("prod/2026-11-21/"));
  EXPECT_EQ(listing->continuation, "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=");
}

TEST(ParseListing, a_token_of_a_listing_that_is_whole_is_not_followed) {
  const auto listing = parse_listing(
      "<ListBucketResult><IsTruncated>false</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
      "</ListBucketResult>");
  EXPECT_EQ(listing->continuation, "");
  EXPECT_THAT(listing->objects, IsEmpty());
}

TEST(ParseListing, more_objects_or_longer_keys_than_a_page_has_are_refused) {
  std::string many = "<ListBucketResult>";
  for (std::size_t i = 0; i <= kMaxListedObjects; ++i) many += "<Contents><Key>k</Key></Contents>";
  EXPECT_FALSE(parse_listing(many + "</ListBucketResult>").has_value());
  const std::string key(kMaxKeyBytes + 1, 'k');
  EXPECT_FALSE(parse_listing("<ListBucketResult><Contents><Key>" + key + "</Key></Contents></ListBucketResult>"));
}

TEST(ParseListing, what_is_no_listing_is_an_error) {
  EXPECT_FALSE(parse_listing("").has_value());
  EXPECT_FALSE(parse_listing("{}").has_value());
  EXPECT_FALSE(parse_listing(std::string(kPage).substr(0, 400)).has_value());
  EXPECT_FALSE(parse_listing("<ListBucketResult><Contents><Size>-1</Size></Contents></ListBucketResult>"));
}

TEST(ParseS3Error, code_and_message_are_printable) {
  const S3Error error =
      parse_s3_error("<Error><Code>AccessDenied</Code><Message>Access\x1b[31m Denied</Message></Error>");
  EXPECT_EQ(error.code, "AccessDenied");
  EXPECT_EQ(error.message, "Access\\x1b[31m Denied");
  EXPECT_EQ(parse_s3_error("<html>no").code, "");
}

TEST(XmlReader, declarations_depth_and_unknown_entities_are_refused) {
  const auto is_read = [](const std::string& text) { return read_xml(text, {}).has_value(); };
  const auto has_leaf = [](const std::string& text) {
    return read_xml(text, {nullptr, [](std::string_view, std::string_view, const std::string&) {}}).has_value();
  };
  EXPECT_TRUE(is_read("<a><b x='>'/></a>"));
  EXPECT_FALSE(is_read("<!DOCTYPE a [<!ENTITY e \"x\">]><a>&e;</a>"));
  EXPECT_FALSE(has_leaf("<a>&e;</a>"));
  EXPECT_FALSE(has_leaf("<a>&#0;</a>"));
  EXPECT_FALSE(has_leaf("<a>&#xD800;</a>"));
  EXPECT_FALSE(is_read("<a></b>"));
  std::string deep;
  for (std::size_t i = 0; i <= kMaxXmlLevels; ++i) deep += "<a>";
  EXPECT_FALSE(is_read(deep));
}

}  // namespace
}  // namespace oomw
