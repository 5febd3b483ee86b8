// SPDX-License-Identifier: Apache-2.0
// One event to one JSON line and back.
#include <limits>
#include <type_traits>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "events/event_fields.h"
#include "events/json_text.h"
#include "events/record.h"

namespace oomw {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;  // written in the order described: type and time come first

template <typename T>
inline constexpr bool kIsPlain = std::is_arithmetic_v<T>;

// Absent optionals are left out, all else is written, also zeros: a reader of the file should
// not have to know the defaults.
class Writer {
 public:
  static constexpr bool kReadsIntoEvents = false;
  explicit Writer(ordered_json& object) : object_(object) {}

  template <typename T>
  void operator()(const char* name, const T& value) {
    object_[name] = to_json(value);
  }
  template <typename T>
  void operator()(const char* name, const std::optional<T>& value) {
    if (value.has_value()) object_[name] = to_json(*value);
  }

 private:
  template <typename T>
  static ordered_json to_json(const T& value) {
    if constexpr (kIsPlain<T>) {
      return value;
    } else if constexpr (std::is_enum_v<T>) {
      return to_string(value);
    } else if constexpr (std::is_same_v<T, Nanoseconds>) {
      return value.count();
    } else if constexpr (std::is_same_v<T, MonotonicTime> || std::is_same_v<T, WallTime>) {
      return value.ns;
    } else if constexpr (std::is_same_v<T, std::string>) {
      return to_valid_utf8(value);
    } else {
      return object_of(value);
    }
  }
  template <typename T>
  requires record::kIsPart<T>
  static ordered_json object_of(const T& value) {
    ordered_json object = ordered_json::object();
    Writer writer(object);
    record::describe(writer, value);
    return object;
  }
  template <typename V>
  static ordered_json object_of(const std::map<std::string, V>& values) {
    ordered_json object = ordered_json::object();
    for (const auto& [key, value] : values) object[to_valid_utf8(key)] = to_json(value);
    return object;
  }
  template <typename T>
  static ordered_json object_of(const std::vector<T>& values) {
    ordered_json array = ordered_json::array();
    for (const T& value : values) array.push_back(to_json(value));
    return array;
  }

  ordered_json& object_;
};

// Strict about what is there, lenient about what is not: a value of the wrong type or out of its
// range is an error, an absent one keeps its default, unknown keys are for newer versions.
class Reader {
 public:
  static constexpr bool kReadsIntoEvents = true;
  explicit Reader(const json& object) : object_(object) {}

  template <typename T>
  void operator()(const char* name, T& value) {
    const auto found = object_.find(name);
    if (found == object_.end()) return;
    if (!read(*found, value)) refuse(name);
  }
  template <typename T>
  void operator()(const char* name, std::optional<T>& value) {
    const auto found = object_.find(name);
    if (found == object_.end() || found->is_null()) return;
    if (!read(*found, value.emplace())) refuse(name);
  }

  // The first value that did not fit; "" if all did.
  [[nodiscard]] const std::string& refused() const { return refused_; }

 private:
  void refuse(const char* name) {
    if (refused_.empty()) refused_ = name;
  }

  static bool read(const json& from, bool& to) {
    if (!from.is_boolean()) return false;
    to = from.get<bool>();
    return true;
  }
  static bool read(const json& from, double& to) {
    if (!from.is_number()) return false;
    to = from.get<double>();
    return true;
  }
  static bool read(const json& from, std::string& to) {
    if (!from.is_string()) return false;
    to = from.get_ref<const std::string&>();
    return true;
  }
  template <typename T>
  requires std::is_integral_v<T>
  static bool read(const json& from, T& to) {
    if (from.is_number_unsigned()) return narrow(from.get<std::uint64_t>(), to);
    if (from.is_number_integer()) return narrow(from.get<std::int64_t>(), to);
    return false;
  }
  static bool read(const json& from, Nanoseconds& to) {
    std::int64_t count = 0;
    if (!read(from, count)) return false;
    to = Nanoseconds(count);
    return true;
  }
  static bool read(const json& from, MonotonicTime& to) { return read(from, to.ns); }
  static bool read(const json& from, WatermarkReason& to) {
    return read_enum(from, to, {WatermarkReason::kLevel, WatermarkReason::kTimeToLimit});
  }
  static bool read(const json& from, CaptureMethod& to) {
    return read_enum(from, to, {CaptureMethod::kAtKill, CaptureMethod::kLive, CaptureMethod::kHttp});
  }
  static bool read(const json& from, CaptureResult& to) {
    return read_enum(from, to, {CaptureResult::kOk, CaptureResult::kFailed, CaptureResult::kSkipped});
  }
  static bool read(const json& from, WalkStop& to) {
    return read_enum(from, to,
                     {WalkStop::kEnd, WalkStop::kFault, WalkStop::kMalformed, WalkStop::kLoop, WalkStop::kPoolFull,
                      WalkStop::kBucketLimit, WalkStop::kTimeLimit});
  }
  static bool read(const json& from, WallTime& to) { return read(from, to.ns); }
  template <typename T>
  requires record::kIsPart<T>
  static bool read(const json& from, T& to) {
    if (!from.is_object()) return false;
    Reader reader(from);
    record::describe(reader, to);
    return reader.refused().empty();
  }
  template <typename V>
  static bool read(const json& from, std::map<std::string, V>& to) {
    if (!from.is_object()) return false;
    for (const auto& [key, value] : from.items()) {
      if (!read(value, to[key])) return false;
    }
    return true;
  }

  template <typename T>
  static bool read(const json& from, std::vector<T>& to) {
    if (!from.is_array()) return false;
    for (const json& item : from) {
      if (!read(item, to.emplace_back())) return false;
    }
    return true;
  }

  template <typename From, typename To>
  static bool narrow(From from, To& to) {
    if (!std::in_range<To>(from)) return false;
    to = static_cast<To>(from);
    return true;
  }
  template <typename E>
  static bool read_enum(const json& from, E& to, std::initializer_list<E> values) {
    if (!from.is_string()) return false;
    for (const E value : values) {
      if (from.get_ref<const std::string&>() != to_string(value)) continue;
      to = value;
      return true;
    }
    return false;
  }

  const json& object_;
  std::string refused_;
};

Result<json> parse_object(std::string_view line) {
  // Exceptions stay inside: parse() gives a discarded value instead, at the price of its position.
  json object = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (object.is_discarded()) return fail(ErrorCode::kInvalid, "not JSON");
  if (!object.is_object()) return fail(ErrorCode::kInvalid, "not a JSON object");
  return object;
}

template <typename E>
Result<Event> read_event(const json& object) {
  E event;
  Reader reader(object);
  if (!object.contains("time_ns")) return fail(ErrorCode::kInvalid, "no \"time_ns\"");
  reader("time_ns", event.time.ns);
  record::describe(reader, event);
  if (!reader.refused().empty()) {
    return fail(ErrorCode::kInvalid, "wrong type or range of \"" + reader.refused() + "\"");
  }
  return event;
}

template <std::size_t I = 0>
Result<Event> read_event_named(const std::string& type, const json& object) {
  if constexpr (I == std::variant_size_v<Event>) {
    return fail(ErrorCode::kInvalid, "unknown event type \"" + printable(type, 40) + "\"");
  } else {
    using E = std::variant_alternative_t<I, Event>;
    if (type == record::kTypeName<E>) return read_event<E>(object);
    return read_event_named<I + 1>(type, object);
  }
}

}  // namespace

std::string to_json_line(const Event& event) {
  ordered_json object;
  std::visit(
      [&object]<typename E>(const E& e) {
        object["type"] = record::kTypeName<E>;
        object["time_ns"] = e.time.ns;
        Writer writer(object);
        record::describe(writer, e);
      },
      event);
  return to_json_text(object);
}

Result<Event> event_from_json_line(std::string_view line) {
  ASSIGN_OR_RETURN(const json object, parse_object(line));
  const auto type = object.find("type");
  if (type == object.end() || !type->is_string()) return fail(ErrorCode::kInvalid, "no \"type\"");
  return read_event_named(type->get_ref<const std::string&>(), object);
}

}  // namespace oomw
