// SPDX-License-Identifier: Apache-2.0
#include "incident/incident_size.h"

#include <fmt/format.h>

#include "base/text.h"
#include "incident/incident_fields.h"

namespace oomw {
namespace {

// The overhead of a member's or an item's line: newline, two blanks per level, comma.
constexpr std::uint64_t line_bytes(std::uint64_t depth) { return 2 + 2 * depth; }

// As to_json_text() escapes it: an invalid UTF-8 byte as \ufffd. Valid non-ASCII text takes half of this or less.
std::uint64_t text_bytes(std::string_view text) {
  std::uint64_t bytes = 2;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    bytes += byte < 0x20 || byte >= 0x7f ? 6 : c == '"' || c == '\\' ? 2 : 1;
  }
  return bytes;
}

// Adds up what JsonWriter would write, indented by two. Numbers count as 10 digits, times as 30.
class JsonSize : public WritesMembers<JsonSize> {
 public:
  using WritesMembers<JsonSize>::operator();

  JsonSize(std::uint64_t depth, std::uint64_t& bytes) : depth_(depth), bytes_(bytes) {}

  template <typename T>
  void operator()(const char* name, const T& value,
                  Presence presence = json_fields::kDefault<incident_json::Format, T>) {
    if (begin(name, json_fields::form_of(presence, json_fields::is_known(value)))) add(value);
  }
  template <typename Body>
  void object(const char* name, const Body& body, Presence presence = Presence::kAlways, bool is_known = true) {
    if (begin(name, json_fields::form_of(presence, is_known))) add_object(body);
  }

  template <typename T>
  void add(const T& value) {
    if constexpr (std::is_arithmetic_v<T>) {
      bytes_ += 10;
    } else if constexpr (std::is_same_v<T, WallTime>) {
      bytes_ += 32;
    } else if constexpr (std::is_same_v<T, std::string>) {
      bytes_ += text_bytes(value);
    } else {
      add_object([&](JsonSize& fields) { incident_json::describe(fields, value); });
    }
  }
  template <typename T>
  void add(const std::optional<T>& value) {
    if (value) add(*value);
  }
  template <typename T>
  void add(const std::map<std::string, T>& values) {
    add_object([&](JsonSize& fields) {
      for (const auto& [name, value] : values) fields(name.c_str(), value);
    });
  }
  template <typename T>
  void add(const std::vector<T>& values) {
    add_object([&](JsonSize& items) {
      for (const T& value : values) {
        bytes_ += line_bytes(items.depth_);
        items.add(value);
      }
    });
  }

 private:
  // Whether a value follows.
  [[nodiscard]] bool begin(std::string_view name, json_fields::Form form) {
    if (form == json_fields::Form::kNothing) return false;
    bytes_ += line_bytes(depth_) + text_bytes(name) + 2;
    if (form == json_fields::Form::kNull) bytes_ += 4;
    return form == json_fields::Form::kValue;
  }
  template <typename Body>
  void add_object(const Body& body) {
    JsonSize fields(depth_ + 1, bytes_);
    body(fields);
    bytes_ += line_bytes(depth_);
  }

  const std::uint64_t depth_;
  std::uint64_t& bytes_;
};

bool shorten(std::string& text) {
  constexpr std::size_t kKept = 200;
  if (text.size() <= kKept) return false;
  text = printable(text.substr(0, kKept)) + "...";
  return true;
}

}  // namespace

std::uint64_t serialised_bytes(const Incident& incident) {
  std::uint64_t bytes = 0;
  JsonSize(0, bytes).add(incident);
  // Not written, but an incident in memory carries the spool file's name of each capture.
  for (const IncidentCapture& capture : incident.captures) bytes += capture.spool_file.size();
  return bytes;
}

void bound_serialised(Incident& incident, std::uint64_t max_bytes) {
  const std::uint64_t bytes = serialised_bytes(incident);
  if (bytes <= max_bytes) return;
  bool is_shortened = false;
  for (std::size_t i = 1; i < incident.victims.size(); ++i) {
    IncidentVictim& victim = incident.victims[i];
    for (std::string* text : {&victim.cmdline, &victim.exe, &victim.cgroup_path}) is_shortened |= shorten(*text);
  }
  if (!is_shortened) return;
  incident.notes.push_back(fmt::format(
      "victims: command lines and paths behind the first are shortened: whole they would take {}", human_bytes(bytes)));
}

}  // namespace oomw
