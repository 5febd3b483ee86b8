// SPDX-License-Identifier: Apache-2.0
#include <concepts>
#include <protozero/pbf_writer.hpp>
#include <unordered_map>

#include "pprof/codec.h"
#include "pprof/fields.h"

namespace oomw::pprof {
namespace {

using protozero::pbf_writer;

// Profile to protobuf. Strings get their index at first use, so equal profiles give equal bytes;
// fields at their default are left out, as proto3 does.
class Encoder {
 public:
  std::string run(const Profile& profile) {
    (void)intern("");
    pbf_writer out(bytes_);
    write(out, profile);
    for (const std::string* text : strings_) out.add_string(kStringTableField, *text);
    return std::move(bytes_);
  }
  [[nodiscard]] std::uint64_t string_count() const { return strings_.size(); }

 private:
  std::int64_t intern(const std::string& text) {
    const auto [entry, inserted] = index_.try_emplace(text, static_cast<std::int64_t>(strings_.size()));
    if (inserted) strings_.push_back(&entry->first);
    return entry->second;
  }

  void write(pbf_writer& out, const auto& message) {
    describe(message, [&](std::uint32_t number, const auto& member) { add(out, number, member); });
  }

  static void add(pbf_writer& out, std::uint32_t number, std::integral auto value) {
    if (value != 0) out.add_uint64(number, static_cast<std::uint64_t>(value));
  }
  void add(pbf_writer& out, std::uint32_t number, const std::string& text) { add(out, number, intern(text)); }

  void add(pbf_writer& out, std::uint32_t number, const ValueType& type) {
    if (type != ValueType{}) nest(out, number, type);
  }

  template <typename Item>
  void add(pbf_writer& out, std::uint32_t number, const std::vector<Item>& items) {
    if constexpr (std::is_integral_v<Item>) {
      out.add_packed_uint64(number, items.begin(), items.end());
    } else {
      for (const Item& item : items) nest(out, number, item);
    }
  }

  void nest(pbf_writer& out, std::uint32_t number, const std::string& text) { out.add_int64(number, intern(text)); }
  // Written even if "": protozero drops a message without fields, and each value needs its type.
  void nest(pbf_writer& out, std::uint32_t number, const ValueType& type) {
    pbf_writer nested(out, number);
    nested.add_int64(1, intern(type.type));
    add(nested, 2, type.unit);
  }
  void nest(pbf_writer& out, std::uint32_t number, const auto& message) {
    pbf_writer nested(out, number);
    write(nested, message);
  }

  std::string bytes_;
  std::unordered_map<std::string, std::int64_t> index_;
  std::vector<const std::string*> strings_;  // keys of index_, whose nodes do not move
};

}  // namespace

std::string write(const Profile& profile, std::uint64_t* string_count) {
  Encoder encoder;
  const std::string bytes = encoder.run(profile);
  if (string_count != nullptr) *string_count = encoder.string_count();
  return gzip(bytes);
}

}  // namespace oomw::pprof
