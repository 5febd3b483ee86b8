// SPDX-License-Identifier: Apache-2.0
#include "sinks/s3/s3_answers.h"

#include "base/text.h"
#include "sinks/s3/xml_reader.h"

namespace oomw {
namespace {

struct ListingReader {
  S3Listing listing;
  bool is_truncated = false, is_invalid = false;

  void open(std::string_view name) {
    if (name != "Contents") return;
    if (listing.objects.size() >= kMaxListedObjects) is_invalid = true;
    if (!is_invalid) listing.objects.emplace_back();
  }

  void leaf_of_object(std::string_view name, std::string text) {
    if (listing.objects.empty()) return;
    S3Object& object = listing.objects.back();
    if (name == "Key") object.key = std::move(text);
    if (name != "Size") return;
    const auto bytes = parse_u64(text);
    is_invalid = is_invalid || !bytes;
    object.bytes = bytes.value_or(0);
  }

  void leaf(std::string_view parent, std::string_view name, std::string text) {
    if (text.size() > kMaxKeyBytes) is_invalid = true;
    if (is_invalid) return;
    if (parent == "Contents") return leaf_of_object(name, std::move(text));
    if (parent == "CommonPrefixes" && name == "Prefix") {
      is_invalid = listing.common_prefixes.size() >= kMaxListedObjects;
      if (!is_invalid) listing.common_prefixes.push_back(std::move(text));
    }
    if (parent != "ListBucketResult") return;
    if (name == "IsTruncated") is_truncated = text == "true";
    if (name == "NextContinuationToken") listing.continuation = std::move(text);
  }
};

}  // namespace

Result<S3Listing> parse_listing(std::string_view xml) {
  ListingReader reader;
  RETURN_IF_ERROR(read_xml(xml, {[&](std::string_view name) { reader.open(name); },
                                 [&](std::string_view parent, std::string_view name, std::string text) {
                                   reader.leaf(parent, name, std::move(text));
                                 }}));
  if (reader.is_invalid) return fail(ErrorCode::kInvalid, "not a listing of a bucket");
  if (!reader.is_truncated) reader.listing.continuation.clear();
  return std::move(reader.listing);
}

S3Error parse_s3_error(std::string_view xml) {
  S3Error error;
  (void)read_xml(xml, {nullptr, [&](std::string_view, std::string_view name, std::string text) {
                         if (name == "Code" && error.code.empty()) error.code = printable(text, 64);
                         if (name == "Message" && error.message.empty()) error.message = printable(text, 200);
                       }});
  return error;
}

}  // namespace oomw
