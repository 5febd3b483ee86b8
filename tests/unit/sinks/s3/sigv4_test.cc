// SPDX-License-Identifier: Apache-2.0
// The vectors are AWS's own: the S3 API reference ("Examples: Signature Calculations") and the Signature Version 4
// test suite.
#include "sinks/s3/sigv4.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/text.h"
#include "sinks/s3/sha256.h"

namespace oomw {
namespace {

using testing::Contains;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Pair;

const AwsScope kS3{"us-east-1", "s3"};
const AwsScope kSuite{"us-east-1", "service"};
const AwsCredentials kS3Keys{"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", ""};
const AwsCredentials kSuiteKeys{"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""};

AwsRequest s3_request(const std::string& method, const std::string& path) {
  AwsRequest request;
  request.method = method;
  request.host = "examplebucket.s3.amazonaws.com";
  request.path = path;
  request.payload_sha256 = kEmptySha256;
  return request;
}

std::string s3_authorization(AwsRequest request) {
  request.headers.emplace_back("x-amz-content-sha256", request.payload_sha256);
  sign(request, kS3Keys, kS3, *parse_rfc3339("2013-05-24T00:00:00Z"));
  return request.headers.back().second;
}

std::string suite_authorization(const std::string& method, const std::string& path, const HttpFields& query = {},
                                const HttpFields& headers = {}) {
  AwsRequest request{method, "example.amazonaws.com", path, query, headers, std::string(kEmptySha256)};
  sign(request, kSuiteKeys, kSuite, *parse_rfc3339("2015-08-30T12:36:00Z"));
  return request.headers.back().second;
}

TEST(SigV4S3, getting_an_object_has_the_published_signature) {
  AwsRequest request = s3_request("GET", "/test.txt");
  request.headers = {{"Range", "bytes=0-9"}};
  EXPECT_EQ(s3_authorization(request),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(SigV4S3, putting_an_object_has_the_published_signature) {
  AwsRequest request = s3_request("PUT", "/test$file.text");
  request.headers = {{"Date", "Fri, 24 May 2013 00:00:00 GMT"}, {"x-amz-storage-class", "REDUCED_REDUNDANCY"}};
  request.payload_sha256 = to_hex(sha256("Welcome to Amazon S3."));
  EXPECT_EQ(request.payload_sha256, "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072");
  EXPECT_THAT(s3_authorization(request),
              EndsWith("Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
}

TEST(SigV4S3, a_query_without_a_value_has_the_published_signature) {
  AwsRequest request = s3_request("GET", "/");
  request.query = {{"lifecycle", ""}};
  EXPECT_THAT(s3_authorization(request),
              EndsWith("Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
}

TEST(SigV4S3, listing_a_bucket_has_the_published_signature) {
  AwsRequest request = s3_request("GET", "/");
  request.query = {{"prefix", "J"}, {"max-keys", "2"}};
  EXPECT_THAT(s3_authorization(request),
              EndsWith("Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST(SigV4Suite, requests_have_their_published_signatures) {
  EXPECT_THAT(suite_authorization("GET", "/"),
              EndsWith("Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"));
  EXPECT_THAT(suite_authorization("POST", "/"),
              EndsWith("Signature=5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"));
  EXPECT_THAT(suite_authorization("GET", "/", {{"Param2", "value2"}, {"Param1", "value1"}}),
              EndsWith("Signature=b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"));
  EXPECT_THAT(suite_authorization("GET", "/\u1234"),
              EndsWith("Signature=8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"));
  EXPECT_THAT(suite_authorization("POST", "/", {}, {{"My-Header1", "value1"}}),
              EndsWith("Signature=c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c"));
}

TEST(SigV4, a_session_token_is_sent_and_signed) {
  AwsRequest request = s3_request("GET", "/test.txt");
  AwsCredentials temporary = kS3Keys;
  temporary.session_token = "token/with+chars";
  sign(request, temporary, kS3, *parse_rfc3339("2013-05-24T00:00:00Z"));
  EXPECT_THAT(request.headers, Contains(Pair("x-amz-security-token", "token/with+chars")));
  EXPECT_THAT(request.headers.back().second, HasSubstr("SignedHeaders=host;x-amz-date;x-amz-security-token"));
}

TEST(SigV4, white_space_in_a_header_is_folded_as_the_server_folds_it) {
  EXPECT_EQ(suite_authorization("GET", "/", {}, {{"My-Header", "  a   b "}}),
            suite_authorization("GET", "/", {}, {{"my-header", "a b"}}));
}

TEST(SigV4, the_date_is_of_the_second_in_utc) {
  AwsRequest request = s3_request("GET", "/");
  sign(request, kS3Keys, kS3, *parse_rfc3339("2026-11-24T23:59:59.987Z"));
  EXPECT_THAT(request.headers, Contains(Pair("x-amz-date", "20261124T235959Z")));
  EXPECT_THAT(request.headers.back().second, HasSubstr("/20261124/us-east-1/s3/"));
}

TEST(UriEncoded, only_unreserved_characters_stay) {
  EXPECT_EQ(uri_encoded("aZ0-._~", false), "aZ0-._~");
  EXPECT_EQ(uri_encoded("a b/c+\xff", false), "a%20b%2Fc%2B%FF");
  EXPECT_EQ(uri_encoded("a b/c", true), "a%20b/c");
}

TEST(Sha256, bytes_in_pieces_are_the_same_as_at_once) {
  Sha256 hash;
  hash.add("Welcome to ");
  hash.add("Amazon S3.");
  EXPECT_EQ(hash.finish(), sha256("Welcome to Amazon S3."));
  EXPECT_EQ(to_hex(sha256("")), kEmptySha256);
}

// RFC 4231, test case 2.
TEST(HmacSha256, a_published_vector_holds) {
  EXPECT_EQ(to_hex(hmac_sha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

}  // namespace
}  // namespace oomw
