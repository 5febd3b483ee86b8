// SPDX-License-Identifier: Apache-2.0
#include "system/json_strings.h"

#include <exception>
#include <nlohmann/json.hpp>

namespace oomw {
namespace {

using Json = nlohmann::json;

// path_ holds one entry per open object (its current key) or array ("#"). Returning false ends
// the parse.
class StringSax final : public nlohmann::json_sax<Json> {
 public:
  StringSax(const OnJsonString& on_string, const OnJsonObjectEnd& on_object_end)
      : on_string_(on_string), on_object_end_(on_object_end) {}

  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool string(string_t& value) override {
    on_string_(path_, value);
    return true;
  }
  bool start_object(std::size_t /*size*/) override { return enter(""); }
  bool key(string_t& name) override {
    path_.back() = name;
    return true;
  }
  bool end_object() override {
    path_.pop_back();
    if (on_object_end_) on_object_end_(path_);
    return true;
  }
  bool start_array(std::size_t /*size*/) override { return enter("#"); }
  bool end_array() override {
    path_.pop_back();
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    error_ = "malformed JSON at byte " + std::to_string(position);
    return false;
  }

  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  bool enter(const char* key) {
    if (path_.size() >= kMaxJsonDepth) {
      error_ = "JSON nested deeper than " + std::to_string(kMaxJsonDepth);
      return false;
    }
    path_.emplace_back(key);
    return true;
  }

  const OnJsonString& on_string_;
  const OnJsonObjectEnd& on_object_end_;
  JsonPath path_;
  std::string error_ = "malformed JSON";
};

}  // namespace

// The library reports by sax.parse_error(), yet an allocation or a number may still throw.
Result<> for_each_json_string(std::string_view json, const OnJsonString& on_string,
                              const OnJsonObjectEnd& on_object_end) {
  StringSax sax(on_string, on_object_end);
  try {
    if (Json::sax_parse(json, &sax)) return {};
  } catch (const std::exception& thrown) {
    return fail(ErrorCode::kInvalid, std::string("JSON: ") + thrown.what());
  }
  return fail(ErrorCode::kInvalid, sax.error());
}

}  // namespace oomw
