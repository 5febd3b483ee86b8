// SPDX-License-Identifier: Apache-2.0
#include "captures/metrics_text.h"

#include <charconv>
#include <optional>

namespace oomw {
namespace {

bool is_name_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':' || c == '.';
}

// The rest of a line; every step takes from its front.
class Cursor {
 public:
  explicit Cursor(std::string_view line) : rest_(line) {}

  void skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t')) rest_.remove_prefix(1);
  }
  [[nodiscard]] bool take(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view name() {
    std::size_t length = 0;
    while (length < rest_.size() && is_name_byte(rest_[length])) ++length;
    const std::string_view found = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return found;
  }
  // Up to the closing quote, which it takes; the opening one has been taken.
  std::optional<std::string> quoted() {
    std::string value;
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return value;
      value += c == '\\' ? escaped() : c;
    }
    return std::nullopt;
  }
  // "NaN" and "+Inf" are numbers of the format; a caller that needs an amount refuses them.
  std::optional<double> number() {
    if (!rest_.empty() && rest_.front() == '+') rest_.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc()) return std::nullopt;
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  [[nodiscard]] bool is_at_end_of_value() const { return rest_.empty() || rest_.front() == ' '; }

 private:
  char escaped() {
    if (rest_.empty()) return '\\';
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c == 'n' ? '\n' : c;
  }
  std::string_view rest_;
};

bool read_labels(Cursor& cursor, MetricSample& sample) {
  while (!cursor.take('}')) {
    cursor.skip_blanks();
    const std::string_view key = cursor.name();
    if (key.empty() || !cursor.take('=') || !cursor.take('"')) return false;
    auto value = cursor.quoted();
    if (!value || sample.labels.size() == kMaxMetricLabels) return false;
    sample.labels.emplace_back(key, std::move(*value));
    cursor.skip_blanks();
    (void)cursor.take(',');
    cursor.skip_blanks();
  }
  return true;
}

std::optional<MetricSample> sample_of(std::string_view line) {
  if (line.size() > kMaxMetricLine || line.starts_with('#')) return std::nullopt;
  Cursor cursor(line);
  MetricSample sample;
  sample.name = cursor.name();
  if (sample.name.empty()) return std::nullopt;
  cursor.skip_blanks();
  if (cursor.take('{') && !read_labels(cursor, sample)) return std::nullopt;
  cursor.skip_blanks();
  const auto value = cursor.number();
  if (!value || !cursor.is_at_end_of_value()) return std::nullopt;
  sample.value = *value;
  return sample;
}

}  // namespace

const std::string* MetricSample::label(std::string_view key) const {
  for (const auto& [known, text] : labels) {
    if (known == key) return &text;
  }
  return nullptr;
}

void for_each_metric(std::string_view text, const std::function<void(const MetricSample&)>& visit) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (const auto sample = sample_of(line)) visit(*sample);
  }
}

}  // namespace oomw
