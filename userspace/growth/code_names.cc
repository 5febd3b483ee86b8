// SPDX-License-Identifier: Apache-2.0
#include "growth/code_names.h"

#include <cxxabi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "growth/rust_names.h"

namespace oomw::growth {
namespace {

constexpr std::size_t kMaxSymbol = 1024, kMaxReadable = 4096;
// References to what a name has had before: each two of them can double its length.
constexpr int kMaxReferences = 24;

// "S_", "S1_", "T_", "T0_": references in a mangled name; identifiers that look like one are counted too.
int references_in(std::string_view symbol) {
  int count = 0;
  for (std::size_t i = 0; i + 1 < symbol.size(); ++i) {
    const bool is_start = symbol[i] == 'S' || symbol[i] == 'T';
    if (is_start && (symbol[i + 1] == '_' || is_digit(symbol[i + 1]))) ++count;
  }
  return count;
}

// The identifiers of "_ZN3foo3barE...", in order; empty if it is no such name.
std::vector<std::string_view> nested_parts(std::string_view symbol) {
  std::vector<std::string_view> parts;
  if (!symbol.starts_with("_ZN")) return parts;
  symbol.remove_prefix(3);
  while (!symbol.empty() && is_digit(symbol.front())) {
    std::size_t digits = 0, size = 0;
    for (; digits < symbol.size() && digits < 4 && is_digit(symbol[digits]); ++digits) {
      size = size * 10 + static_cast<std::size_t>(symbol[digits] - '0');
    }
    if (size == 0 || size > symbol.size() - digits) return {};
    parts.push_back(symbol.substr(digits, size));
    symbol.remove_prefix(digits + size);
  }
  return parts;
}

bool is_rust_hash(std::string_view part) {
  return part.size() == 17 && part.front() == 'h' && is_lower_hex(part.substr(1));
}

// What older Rust writes for characters that symbols may not have.
std::string rust_text(std::string_view part) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kEscapes = {{
      {"$LT$", "<"},
      {"$GT$", ">"},
      {"$RF$", "&"},
      {"$BP$", "*"},
      {"$LP$", "("},
      {"$RP$", ")"},
      {"$C$", ","},
      {"$SP$", "@"},
      {"$u20$", " "},
      {"$u7b$", "{"},
      {"$u7d$", "}"},
      {"$u27$", "'"},
      {"..", "::"},
  }};
  if (part.starts_with("_$")) part.remove_prefix(1);
  std::string text;
  while (!part.empty()) {
    const auto* found = std::ranges::find_if(kEscapes, [&](const auto& one) { return part.starts_with(one.first); });
    text += found == kEscapes.end() ? part.substr(0, 1) : found->second;
    part.remove_prefix(found == kEscapes.end() ? 1 : found->first.size());
  }
  return text;
}

std::string joined(const std::vector<std::string_view>& parts, bool is_rust) {
  std::string name;
  for (const std::string_view part : parts) {
    if (!name.empty()) name += "::";
    name += is_rust ? rust_text(part) : std::string(part);
  }
  return name;
}

// "f(int) const" -> "f"; "(anonymous namespace)::f(int)" and "operator()" keep theirs.
std::string_view without_parameters(std::string_view name) {
  if (const auto clone = name.find(" [clone"); clone != std::string_view::npos) name = name.substr(0, clone);
  if (name.ends_with(" const")) name.remove_suffix(6);
  if (!name.ends_with(')')) return name;
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] != '(' || --depth > 0) continue;
    const std::string_view before = name.substr(0, i);
    return before.empty() || before.ends_with("operator") || before.ends_with(' ') ? name : before;
  }
  return name;
}

std::optional<std::string> demangled(const std::string& symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  if (status != 0 || text == nullptr) return std::nullopt;
  return std::string(text.get(), std::min(std::string_view(text.get()).size(), kMaxReadable));
}

template <std::size_t N>
bool begins_with_any(std::string_view name, const std::array<std::string_view, N>& beginnings) {
  return std::ranges::any_of(beginnings, [&](std::string_view one) { return name.starts_with(one); });
}

bool is_c_library(std::string_view module) {
  static constexpr std::array<std::string_view, 7> kModules = {"libc.so",     "libc-2.",     "ld-linux",   "ld-musl",
                                                               "libjemalloc", "libtcmalloc", "libmimalloc"};
  return begins_with_any(module, kModules);
}

}  // namespace

std::string readable_name(std::string_view symbol) {
  // Versions and the suffixes of compilers: "f@@V1", "f.llvm.123", "f.part.0".
  symbol = symbol.substr(0, std::min({symbol.find('@'), symbol.find(".llvm."), symbol.size()}));
  if (symbol.size() > kMaxSymbol) return std::string(symbol);
  if (symbol.starts_with("_R")) return rust_name(symbol).value_or(std::string(symbol));
  if (!symbol.starts_with("_Z")) return std::string(symbol);
  std::vector<std::string_view> parts = nested_parts(symbol);
  if (parts.size() > 1 && is_rust_hash(parts.back())) {
    parts.pop_back();
    return joined(parts, true);
  }
  if (references_in(symbol) <= kMaxReferences) {
    if (const auto text = demangled(std::string(symbol))) return std::string(without_parameters(*text));
  }
  return parts.empty() ? std::string(symbol) : joined(parts, false);
}

bool is_allocator(std::string_view name, std::string_view module) {
  static constexpr std::array<std::string_view, 30> kPlain = {"malloc",
                                                              "calloc",
                                                              "realloc",
                                                              "reallocarray",
                                                              "memalign",
                                                              "posix_memalign",
                                                              "aligned_alloc",
                                                              "valloc",
                                                              "pvalloc",
                                                              "free",
                                                              "mmap",
                                                              "mmap64",
                                                              "munmap",
                                                              "mremap",
                                                              "brk",
                                                              "sbrk",
                                                              "sysmalloc",
                                                              "malloc_consolidate",
                                                              "memcpy",
                                                              "memset",
                                                              "memmove",
                                                              "strdup",
                                                              "strndup",
                                                              "read",
                                                              "__rust_alloc",
                                                              "__rust_realloc",
                                                              "__rdl_alloc",
                                                              "__rdl_realloc",
                                                              "__rust_alloc_zeroed",
                                                              "__rdl_alloc_zeroed"};
  static constexpr std::array<std::string_view, 38> kBeginnings = {"operator new",
                                                                   "_int_malloc",
                                                                   "_int_realloc",
                                                                   "_int_memalign",
                                                                   "__libc_malloc",
                                                                   "__libc_calloc",
                                                                   "__libc_realloc",
                                                                   "__libc_memalign",
                                                                   "__GI___libc_",
                                                                   "__mmap",
                                                                   "__memcpy_",
                                                                   "__memset_",
                                                                   "__memmove_",
                                                                   "PyMem_",
                                                                   "_PyMem_",
                                                                   "PyObject_Malloc",
                                                                   "PyObject_Calloc",
                                                                   "PyObject_Realloc",
                                                                   "_PyObject_Malloc",
                                                                   "_PyObject_Calloc",
                                                                   "_PyObject_Realloc",
                                                                   "_PyObject_Arena",
                                                                   "_PyObject_GC_",
                                                                   "je_",
                                                                   "tc_",
                                                                   "std::allocator<",
                                                                   "__gnu_cxx::new_allocator<",
                                                                   "std::__new_allocator<",
                                                                   "alloc::alloc::",
                                                                   "alloc::raw_vec::",
                                                                   "<alloc::alloc::",
                                                                   "<alloc::raw_vec::",
                                                                   "__rustc::__rust_",
                                                                   "__rustc::__rdl_",
                                                                   "Perl_safesys",
                                                                   "Perl_more_bodies",
                                                                   "Perl_more_sv",
                                                                   "Perl_sv_grow"};
  return is_c_library(module) || std::ranges::find(kPlain, name) != kPlain.end() || begins_with_any(name, kBeginnings);
}

}  // namespace oomw::growth
