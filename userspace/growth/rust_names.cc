// SPDX-License-Identifier: Apache-2.0
#include "growth/rust_names.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

namespace oomw::growth {
namespace {

constexpr std::size_t kMaxWritten = 4096;
constexpr int kMaxDepth = 96, kMaxSteps = 4096;

constexpr std::array<std::pair<char, std::string_view>, 22> kBasicTypes = {{
    {'a', "i8"},   {'b', "bool"},  {'c', "char"},  {'d', "f64"}, {'e', "str"}, {'f', "f32"},
    {'h', "u8"},   {'i', "isize"}, {'j', "usize"}, {'l', "i32"}, {'m', "u32"}, {'n', "i128"},
    {'o', "u128"}, {'p', "_"},     {'s', "i16"},   {'t', "u16"}, {'u', "()"},  {'v', "..."},
    {'x', "i64"},  {'y', "u64"},   {'z', "!"},     {'\0', ""},
}};
constexpr std::string_view kSigned = "aslxni", kUnsigned = "htmyoj";

bool is_upper(char c) { return c >= 'A' && c <= 'Z'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

// Reads the grammar of "Rust Symbol Mangling (v0)" from left to right and writes what it reads. The first error ends
// it: from then on nothing is read or written.
class Reader {
 public:
  explicit Reader(std::string_view symbol) : in_(symbol) {}

  [[nodiscard]] std::optional<std::string> read() {
    path(true);
    // The crate that made this copy of a generic function.
    if (is_upper(peek())) skip_path();
    const bool is_at_end = at_ == in_.size() || in_[at_] == '.' || in_[at_] == '$';
    if (has_failed_ || !is_at_end || out_.empty()) return std::nullopt;
    return std::move(out_);
  }

 private:
  [[nodiscard]] char peek() const { return has_failed_ || at_ >= in_.size() ? '\0' : in_[at_]; }
  [[nodiscard]] char next() {
    const char c = peek();
    if (c == '\0')
      has_failed_ = true;
    else
      ++at_;
    return c;
  }
  [[nodiscard]] bool take(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  void put(std::string_view text) {
    if (has_failed_ || is_silent_) return;
    if (out_.size() + text.size() > kMaxWritten)
      has_failed_ = true;
    else
      out_ += text;
  }

  // Every step of the grammar that can contain others is counted.
  class Step {
   public:
    explicit Step(Reader& reader) : reader_(reader) {
      if (++reader.depth_ > kMaxDepth || ++reader.steps_ > kMaxSteps) reader.has_failed_ = true;
    }
    ~Step() { --reader_.depth_; }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Reader& reader_;
  };

  // "_" is 0, "0_" is 1, "z_" 36; 64 bits, as hashes of crates have.
  [[nodiscard]] std::uint64_t number() {
    if (take('_')) return 0;
    std::uint64_t value = 0;
    while (!take('_')) {
      const char c = next();
      const int digit = is_digit(c) ? c - '0' : is_lower(c) ? c - 'a' + 10 : is_upper(c) ? c - 'A' + 36 : -1;
      const bool is_too_large = __builtin_mul_overflow(value, 62, &value) ||
                                __builtin_add_overflow(value, static_cast<std::uint64_t>(digit), &value);
      if (digit < 0 || is_too_large) has_failed_ = true;
      if (has_failed_) return 0;
    }
    return value + 1;
  }
  [[nodiscard]] std::uint64_t number_behind(char tag) { return take(tag) ? number() + 1 : 0; }

  // Characters outside ASCII are left as they are encoded.
  [[nodiscard]] std::string identifier() {
    const bool is_encoded = take('u');
    std::size_t size = 0;
    if (!is_digit(peek())) has_failed_ = true;
    if (!take('0')) {
      while (is_digit(peek()) && size <= in_.size()) size = size * 10 + static_cast<std::size_t>(next() - '0');
    }
    (void)take('_');
    if (has_failed_ || size > in_.size() - at_) {
      has_failed_ = true;
      return {};
    }
    const std::string_view text = in_.substr(at_, size);
    at_ += size;
    return is_encoded ? fmt::format("punycode{{{}}}", text) : std::string(text);
  }

  // What was read before, from its place; it must lie before the reference.
  template <typename Read>
  void again(const Read& read) {
    const std::size_t from = at_ - 1;
    const std::uint64_t to = number();
    if (to >= from) has_failed_ = true;
    if (has_failed_ || is_silent_) return;
    const std::size_t behind = std::exchange(at_, static_cast<std::size_t>(to));
    read();
    at_ = behind;
  }
  template <typename Read>
  std::size_t list(std::string_view separator, const Read& read) {
    std::size_t count = 0;
    while (!has_failed_ && !take('E')) {
      if (count++ > 0) put(separator);
      read();
    }
    return count;
  }

  void skip_path() {
    const bool was_silent = std::exchange(is_silent_, true);
    path(false);
    is_silent_ = was_silent;
  }

  // is_value: a function's, where arguments of generics stand behind "::".
  void path(bool is_value) {
    const Step step(*this);
    switch (const char tag = next()) {
      case 'C':
        (void)number_behind('s');
        return put(identifier());
      case 'N':
        return nested(is_value);
      case 'M':
      case 'X':
        (void)number_behind('s');
        skip_path();
        return of_type(tag == 'X');
      case 'Y':
        return of_type(true);
      case 'I':
        path(is_value);
        put(is_value ? "::<" : "<");
        (void)list(", ", [this] { argument(); });
        return put(">");
      case 'B':
        return again([&] { path(is_value); });
      default:
        has_failed_ = true;
    }
  }
  void nested(bool is_value) {
    const char space = next();
    if (!is_upper(space) && !is_lower(space)) has_failed_ = true;
    path(is_value);
    const std::uint64_t which = number_behind('s');
    const std::string name = identifier();
    if (is_lower(space)) return put(name.empty() ? "" : "::" + name);
    // What has no name in the source.
    const std::string kind = space == 'C' ? "closure" : space == 'S' ? "shim" : std::string(1, space);
    put(fmt::format("::{{{}{}#{}}}", kind, name.empty() ? "" : ":" + name, which));
  }
  void of_type(bool is_of_trait) {
    put("<");
    type();
    if (is_of_trait) {
      put(" as ");
      path(false);
    }
    put(">");
  }
  void argument() {
    if (take('L')) return lifetime(number());
    if (take('K')) return constant();
    type();
  }

  // Counted from the innermost binder outwards; 0 is one that is left out.
  void lifetime(std::uint64_t index) {
    if (index > lifetimes_) has_failed_ = true;
    if (has_failed_ || index == 0) return put("'_");
    const std::uint64_t name = lifetimes_ - index;
    put(name < 26 ? fmt::format("'{}", static_cast<char>('a' + name)) : fmt::format("'_{}", name));
  }
  template <typename Read>
  void with_binder(const Read& read) {
    const std::uint64_t count = number_behind('G');
    if (count > kMaxWritten) has_failed_ = true;
    if (has_failed_) return;
    const std::uint64_t before = lifetimes_;
    for (std::uint64_t i = 0; i < count; ++i) {
      put(i == 0 ? "for<" : ", ");
      ++lifetimes_;
      lifetime(1);
    }
    if (count > 0) put("> ");
    read();
    lifetimes_ = before;
  }

  void type() {
    const Step step(*this);
    const char tag = next();
    const auto* basic = std::ranges::find(kBasicTypes, tag, [](const auto& one) { return one.first; });
    if (tag != '\0' && basic != kBasicTypes.end()) return put(basic->second);
    switch (tag) {
      case 'R':
      case 'Q':
        return reference(tag == 'Q');
      case 'P':
      case 'O':
        put(tag == 'P' ? "*const " : "*mut ");
        return type();
      case 'A':
      case 'S':
        put("[");
        type();
        if (tag == 'A') {
          put("; ");
          constant();
        }
        return put("]");
      case 'T': {
        put("(");
        const std::size_t count = list(", ", [this] { type(); });
        return put(count == 1 ? ",)" : ")");
      }
      case 'F':
        return with_binder([this] { function(); });
      case 'D':
        return any_of_traits();
      case 'B':
        return again([this] { type(); });
      default:
        if (!has_failed_) --at_;
        path(false);
    }
  }
  void reference(bool is_mutable) {
    put("&");
    if (take('L')) {
      if (const std::uint64_t index = number(); index != 0) {
        lifetime(index);
        put(" ");
      }
    }
    if (is_mutable) put("mut ");
    type();
  }
  void function() {
    if (take('U')) put("unsafe ");
    if (take('K')) {
      std::string convention = take('C') ? "C" : identifier();
      std::ranges::replace(convention, '_', '-');
      put(fmt::format("extern \"{}\" ", convention));
    }
    put("fn(");
    (void)list(", ", [this] { type(); });
    put(")");
    if (take('u')) return;
    put(" -> ");
    type();
  }
  void any_of_traits() {
    put("dyn ");
    with_binder([this] { (void)list(" + ", [this] { trait(); }); });
    if (!take('L')) has_failed_ = true;
    if (const std::uint64_t index = number(); index != 0) {
      put(" + ");
      lifetime(index);
    }
  }
  void trait() {
    bool is_open = open_path();
    while (take('p')) {
      put(is_open ? ", " : "<");
      is_open = true;
      put(identifier());
      put(" = ");
      type();
    }
    if (is_open) put(">");
  }
  // A path whose arguments may go on: true if they do.
  bool open_path() {
    const Step step(*this);
    bool is_open = false;
    if (take('B')) {
      again([&] { is_open = open_path(); });
    } else if (take('I')) {
      path(false);
      put("<");
      (void)list(", ", [this] { argument(); });
      is_open = true;
    } else {
      path(false);
    }
    return is_open;
  }

  void constant() {
    const Step step(*this);
    const char tag = next();
    if (tag == 'B') return again([this] { constant(); });
    if (tag == 'p') return put("_");
    if (kSigned.find(tag) != std::string_view::npos && take('n')) put("-");
    const std::string_view digits = hex_digits();
    const std::uint64_t value = digits.size() <= 16 ? number_of(digits) : 0;
    if (tag == 'b' && value <= 1) return put(value == 1 ? "true" : "false");
    if (tag == 'c') return put(fmt::format("'\\u{{{:x}}}'", value));
    if (kSigned.find(tag) == std::string_view::npos && kUnsigned.find(tag) == std::string_view::npos)
      has_failed_ = true;
    put(digits.size() <= 16 ? std::to_string(value) : "0x" + std::string(digits));
  }
  [[nodiscard]] std::string_view hex_digits() {
    const std::size_t begin = at_;
    while (is_digit(peek()) || (peek() >= 'a' && peek() <= 'f')) ++at_;
    const std::string_view digits = in_.substr(begin, at_ - begin);
    if (!take('_')) has_failed_ = true;
    return digits;
  }
  [[nodiscard]] static std::uint64_t number_of(std::string_view digits) {
    std::uint64_t value = 0;
    for (const char c : digits) value = value << 4 | static_cast<std::uint64_t>(is_digit(c) ? c - '0' : c - 'a' + 10);
    return value;
  }

  const std::string_view in_;
  std::size_t at_ = 0;
  std::string out_;
  std::uint64_t lifetimes_ = 0;  // that binders around this place have named
  int depth_ = 0, steps_ = 0;
  bool is_silent_ = false, has_failed_ = false;
};

}  // namespace

std::optional<std::string> rust_name(std::string_view symbol) {
  // A digit would be the number of a later grammar.
  if (!symbol.starts_with("_R") || symbol.size() < 3 || !is_upper(symbol[2])) return std::nullopt;
  return Reader(symbol.substr(2)).read();
}

}  // namespace oomw::growth
