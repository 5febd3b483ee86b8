// SPDX-License-Identifier: Apache-2.0
// One event to one JSON line and back.
#include "base/json_text.h"
#include "base/text.h"
#include "events/event_fields.h"
#include "events/record.h"

namespace oomw {
namespace {

using nlohmann::json;
using Writer = JsonWriter<record::Format>;
using Reader = JsonReader<record::Format>;

template <typename E>
Result<Event> read_event(const json& object) {
  E event;
  std::optional<Error> error;
  Reader fields(object, "", error);
  fields("time_ns", event.time, Presence::kRequired);
  describe(fields, event);
  if (error) return tl::make_unexpected(std::move(*error));
  return event;
}

template <std::size_t I = 0>
Result<Event> read_event_named(const std::string& type, const json& object) {
  if constexpr (I == std::variant_size_v<AnyEvent>) {
    return fail(ErrorCode::kInvalid, "unknown event type \"" + printable(type, 40) + "\"");
  } else {
    if (type == record::kTypeNames[I]) return read_event<std::variant_alternative_t<I, AnyEvent>>(object);
    return read_event_named<I + 1>(type, object);
  }
}

}  // namespace

std::string to_json_line(const Event& event) {
  Writer::Json object;
  Writer fields(object);
  object["type"] = record::kTypeNames[event.index()];
  fields("time_ns", time_of(event));
  std::visit([&](const auto& e) { describe(fields, e); }, event);
  return to_json_text(object);
}

Result<Event> event_from_json_line(std::string_view line) {
  ASSIGN_OR_RETURN(const json object, parse_json_object(line));
  const auto type = object.find("type");
  if (type == object.end() || !type->is_string()) return fail(ErrorCode::kInvalid, "no \"type\"");
  return read_event_named(type->get_ref<const std::string&>(), object);
}

}  // namespace oomw
