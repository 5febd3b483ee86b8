// SPDX-License-Identifier: Apache-2.0
#include "facts/growth_place.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/text.h"
#include "facts/call_sites.h"

namespace oomw {
namespace {

// Files of Python's library that a program's own file seldom shares its name with.
constexpr std::array<std::string_view, 40> kStandardFiles = {
    "threading.py",   "socketserver.py", "decoder.py",   "encoder.py",          "copy.py",
    "pickle.py",      "csv.py",          "re.py",        "sre_parse.py",        "sre_compile.py",
    "dataclasses.py", "typing.py",       "queue.py",     "selectors.py",        "base_events.py",
    "events.py",      "runners.py",      "functools.py", "contextlib.py",       "traceback.py",
    "textwrap.py",    "uuid.py",         "random.py",    "_collections_abc.py", "ast.py",
    "abc.py",         "enum.py",         "ssl.py",       "socket.py",           "codecs.py",
    "copyreg.py",     "runpy.py",        "tempfile.py",  "subprocess.py",       "serving.py",
    "wsgi.py",        "web_protocol.py", "web_app.py",   "proactor_events.py",  "selector_events.py"};

// Functions that stand around another because a decorator put them there.
constexpr std::array<std::string_view, 9> kDecorators = {"wrapper",        "wrapped",       "inner",
                                                         "_wrapper",       "_wrapped_view", "wrapped_view",
                                                         "decorated_view", "decorated",     "decorated_function"};

// What runs on a collector's threads: HotSpot's, V8's and CPython's.
constexpr std::array<std::string_view, 14> kCollectors = {"GCTaskThread",
                                                          "G1ParTask",
                                                          "G1Young",
                                                          "G1ConcurrentMark",
                                                          "ParallelGC",
                                                          "PSPromotionManager",
                                                          "PSScavenge",
                                                          "DefNew",
                                                          "GenCollect",
                                                          "ShenandoahGC",
                                                          "ZCollectedHeap",
                                                          "gang_worker",
                                                          "v8::internal::Scavenger",
                                                          "v8::internal::MarkCompact"};
constexpr std::array<std::string_view, 3> kCollectorThreads = {"WorkerThread::run", "GangWorker::run",
                                                               "G1CollectedHeap::"};

// A frame in parts, whatever its language writes it as.
struct Parts {
  std::string function;  // without return type, parameters and V8's marks
  std::string file;      // its last part
  std::uint64_t line = 0;
  bool is_library = false;
};

bool is_library_path(std::string_view path) {
  constexpr std::array<std::string_view, 5> kParts = {"site-packages/", "dist-packages/", "/lib/python",
                                                      "node_modules/", "node:"};
  return path.starts_with('<') ? path.starts_with("<frozen") : std::ranges::any_of(kParts, [&](std::string_view part) {
    return path.find(part) != std::string_view::npos;
  });
}

std::uint64_t leading_number(std::string_view text) {
  std::uint64_t number = 0;
  for (const char c : text.substr(0, 9)) {
    if (c < '0' || c > '9') break;
    number = number * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return number;
}

// "JS:*tick /app/leak.js:7:3" of V8's perf map.
bool take_v8(std::string_view text, Parts& parts) {
  constexpr std::array<std::string_view, 4> kKinds = {"JS:", "LazyCompile:", "Function:", "Eval:"};
  const auto kind = std::ranges::find_if(kKinds, [&](std::string_view start) { return text.starts_with(start); });
  if (kind == kKinds.end()) return false;
  text.remove_prefix(kind->size());
  text.remove_prefix(std::min(text.find_first_not_of("*~^+"), text.size()));
  const std::size_t gap = text.find(' ');
  parts.function = text.substr(0, gap);
  if (gap == std::string_view::npos) return true;
  const std::string_view place = text.substr(gap + 1);
  const std::size_t colon = place.find(':', place.starts_with("node:") ? 5 : place.starts_with("file:") ? 5 : 0);
  parts.file = base_name(place.substr(0, colon));
  parts.is_library = is_library_path(place);
  parts.line = colon == std::string_view::npos ? 0 : leading_number(place.substr(colon + 1));
  return true;
}

// "void org.acme.Shop.put(java.lang.String)" of HotSpot's perf map is "org.acme.Shop.put".
std::string_view java_name(std::string_view text) {
  text = text.substr(0, text.find('('));
  return text.substr(text.rfind(' ') + 1);
}

bool is_java(const GrowthFrame& frame) {
  return frame.is_managed && frame.file.empty() && frame.function.find('(') != std::string::npos;
}

// Go's function table has each function's file, and no other native code has one.
bool is_go(const GrowthFrame& frame) {
  return !frame.is_managed && (frame.file.ends_with(".go") || frame.file.ends_with(".s"));
}

Parts parts_of(const GrowthFrame& frame) {
  Parts parts{frame.function, std::string(base_name(frame.file)), frame.line, frame.is_library};
  if (frame.is_managed && take_v8(frame.function, parts)) return parts;
  if (is_java(frame)) {
    parts.function = java_name(frame.function);
    return parts;
  }
  if (is_go(frame)) {
    parts.function = without_type_arguments(frame.function);
    return parts;
  }
  const bool is_standard = std::ranges::find(kStandardFiles, parts.file) != kStandardFiles.end();
  if (frame.is_managed && (is_standard || is_library_path(frame.file))) parts.is_library = true;
  return parts;
}

std::string_view without_class(std::string_view function) { return function.substr(function.rfind('.') + 1); }

bool is_decorator(const Parts& parts) {
  return std::ranges::find(kDecorators, without_class(parts.function)) != kDecorators.end();
}

// Lambdas and comprehensions name nothing; a file's code outside functions only where no function is the program's.
bool is_name(const Parts& parts) { return !parts.function.empty() && !parts.function.starts_with('<'); }

struct ManagedFrame {
  const GrowthFrame* frame;
  Parts parts;
  std::string_view calls;  // a dispatcher's: endpoint | method | job
};

std::vector<ManagedFrame> managed_of(const GrowthStack& stack, const OperationPatterns& patterns) {
  std::vector<ManagedFrame> frames;
  for (const GrowthFrame& frame : stack.frames) {
    if (!frame.is_managed || frame.is_allocator) continue;
    Parts parts = parts_of(frame);
    parts.is_library |= patterns.is_library(parts.file, parts.function);
    const std::string_view calls = patterns.called_by(parts.file, parts.function);
    frames.push_back({&frame, std::move(parts), calls});
  }
  return frames;
}

bool is_own(const ManagedFrame& frame) {
  return !frame.parts.is_library && frame.calls.empty() && is_name(frame.parts);
}

bool is_outside_functions(const ManagedFrame& frame) {
  return !frame.parts.is_library && frame.calls.empty() && frame.parts.function == "<module>";
}

// http.server calls one function for all of a method's paths, which calls the endpoint's.
bool is_router(const ManagedFrame& frame, const ManagedFrame& dispatcher) {
  const std::string_view name = without_class(frame.parts.function);
  return dispatcher.parts.file == "server.py" && name.starts_with("do_") &&
         std::ranges::all_of(name.substr(3), [](char c) { return c >= 'A' && c <= 'Z'; });
}

bool may_be_operation(const ManagedFrame& frame) {
  return !frame.parts.is_library && is_name(frame.parts) && !is_decorator(frame.parts);
}

// The program's own frame next to the leaf's side of the innermost dispatcher; a decorator's only if nothing is inside.
std::optional<Operation> operation_of(const std::vector<ManagedFrame>& frames) {
  const auto dispatcher = std::ranges::find_if(frames, [](const ManagedFrame& frame) { return !frame.calls.empty(); });
  if (dispatcher == frames.end()) return std::nullopt;
  for (auto frame = dispatcher; frame != frames.begin();) {
    --frame;
    if (!may_be_operation(*frame)) continue;
    if (is_router(*frame, *dispatcher) && std::any_of(frames.begin(), frame, may_be_operation)) continue;
    return Operation{std::string(dispatcher->calls), printable(frame->parts.function, kMaxCodeName)};
  }
  return std::nullopt;
}

constexpr std::size_t kMaxUses = 64;

std::set<std::pair<std::string, std::string>> uses_of(const std::vector<ManagedFrame>& frames,
                                                      const std::optional<Operation>& operation) {
  std::set<std::pair<std::string, std::string>> uses;
  for (const ManagedFrame& frame : frames) {
    if (!is_own(frame)) continue;
    for (const std::string& name : frame.frame->uses) {
      if (uses.size() < kMaxUses) uses.emplace(name, frame.parts.file);
    }
    if (operation && printable(frame.parts.function, kMaxCodeName) == operation->name) break;
  }
  return uses;
}

std::string place_text(const Parts& parts, std::string_view module) {
  const std::string function = printable(parts.function, kMaxCodeName);
  if (!parts.file.empty()) {
    const std::string file = printable(parts.file, kMaxCodeName);
    return parts.line == 0 ? fmt::format("{} ({})", function, file)
                           : fmt::format("{} ({}:{})", function, file, parts.line);
  }
  return module.empty() ? function : fmt::format("{} ({})", function, printable(std::string(module), kMaxCodeName));
}

// What the C library, the loader and interpreters are made of is nobody's own code.
bool is_system_module(std::string_view module) {
  constexpr std::array<std::string_view, 21> kStarts = {
      "libc.", "libc-", "ld-",  "libstdc++", "libgcc", "libpthread", "libm.", "libpython", "python", "libjvm", "libjli",
      "node",  "java",  "perl", "libperl",   "ruby",   "libruby",    "php",   "libphp",    "lua",    "liblua"};
  return std::ranges::any_of(kStarts, [&](std::string_view start) { return module.starts_with(start); });
}

// "std::vector<int>::push_back<int>" of "void std::vector<int>::push_back<int>": templates are named with what they
// return.
std::string_view without_returned_type(std::string_view name) {
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < name.size() && !name.substr(i).starts_with("operator"); ++i) {
    const char c = name[i];
    if (c == '<' || c == '(' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == '}') --depth;
    if (c == ' ' && depth == 0) begin = i + 1;
  }
  return name.substr(begin);
}

bool is_standard_path(std::string_view path) {
  constexpr std::array<std::string_view, 5> kStarts = {"std::", "__gnu_cxx::", "core::", "alloc::", "hashbrown::"};
  return std::ranges::any_of(kStarts, [&](std::string_view start) { return path.starts_with(start); });
}

// A type of Rust's as far as its first name: "&shop::Cart" and "[shop::Cart]" are the program's. One without a path is
// a number, a text or a parameter of a generic.
bool is_standard_type(std::string_view type) {
  constexpr std::array<std::string_view, 7> kBefore = {"&", "*", "[", "(", "mut ", "const ", "dyn "};
  for (bool is_cut = true; is_cut;) {
    is_cut = false;
    for (const std::string_view before : kBefore) {
      if (!type.starts_with(before)) continue;
      type.remove_prefix(before.size());
      is_cut = true;
    }
  }
  return is_standard_path(type) || type.substr(0, type.find_first_of("<>,;)] ")).find("::") == std::string_view::npos;
}

// "<u64 as core::fmt::Display>::fmt", "<alloc::string::String>::push".
bool is_standard_method(std::string_view name) {
  name.remove_prefix(1);
  int depth = 0;
  for (std::size_t i = 0; i < name.size() && depth >= 0; ++i) {
    depth += name[i] == '<' ? 1 : name[i] == '>' && (i == 0 || name[i - 1] != '-') ? -1 : 0;
    if (depth == 0 && name.substr(i).starts_with(" as ")) {
      return is_standard_type(name.substr(0, i)) && is_standard_type(name.substr(i + 4));
    }
  }
  return is_standard_type(name);
}

// Templates and generics of the language's library are compiled into the program.
bool is_standard(const GrowthFrame& frame) {
  const std::string_view name = without_returned_type(frame.function);
  return name.starts_with('<') ? is_standard_method(name) : is_standard_path(name);
}

bool is_native_code(const GrowthFrame& frame) {
  return !frame.is_allocator && !frame.is_managed && !is_go(frame) && !frame.is_library && !frame.module.empty() &&
         !is_system_module(frame.module);
}

// "shop!fn_1ab0": no symbol names it, but its address does.
bool is_address(const GrowthFrame& frame) { return frame.function.starts_with(frame.module + "!fn_"); }

bool has_name(const GrowthFrame& frame) {
  return !is_address(frame) && !frame.function.starts_with('[') && !frame.function.starts_with(frame.module + "+0x");
}

// A template of the library only if nothing of the program called it: a thread's function may be compiled into one.
// Without any name an address, which a debugger can look up: rather one that refers to texts of the program's own. A
// library that called the program's code without a name is not named in its place.
const GrowthFrame* native_code_of(const GrowthStack& stack) {
  const auto outermost = std::find_if(stack.frames.rbegin(), stack.frames.rend(), is_native_code);
  const GrowthFrame *standard = nullptr, *telling = nullptr, *address = nullptr;
  bool is_beyond = false;  // such a library's call
  for (const GrowthFrame& frame : stack.frames) {
    if (!is_native_code(frame)) continue;
    if (address != nullptr && address->module == outermost->module && frame.module != address->module) is_beyond = true;
    const bool counts = !is_beyond || frame.module == address->module;
    const bool is_named = has_name(frame) && counts;
    if (is_named && !is_standard(frame)) return &frame;
    if (is_named && standard == nullptr) standard = &frame;
    if (!is_address(frame) || is_beyond) continue;
    if (address == nullptr) address = &frame;
    if (telling == nullptr && !frame.uses.empty()) telling = &frame;
  }
  return standard != nullptr ? standard : telling != nullptr ? telling : address;
}

// shop!fn_1ab0, which refers to "invoice %ld of %s"
std::string address_text(const GrowthFrame& frame) {
  std::string text = printable(frame.function, kMaxCodeName);
  for (std::size_t i = 0; i < frame.uses.size(); ++i) {
    text += fmt::format("{}\"{}\"", i == 0 ? ", which refers to " : " and ", printable(frame.uses[i], kMaxCodeName));
  }
  return text;
}

bool contains_any(std::string_view text, const auto& names) {
  return std::ranges::any_of(names, [&](std::string_view name) { return text.find(name) != std::string_view::npos; });
}

bool is_collectors(const GrowthStack& stack) {
  return std::ranges::any_of(stack.frames, [](const GrowthFrame& frame) {
    return !frame.is_managed &&
           (contains_any(frame.function, kCollectors) || contains_any(frame.function, kCollectorThreads));
  });
}

void add_caller(GrowthPlace& place, const std::string& function) {
  std::string name = printable(function, kMaxCodeName);
  const std::string& last = place.callers.empty() ? place.function : place.callers.back();
  if (name != last) place.callers.push_back(std::move(name));
}

void set_native(GrowthPlace& place, const GrowthStack& stack, const GrowthFrame& native) {
  place.function = printable(native.function, kMaxCodeName);
  place.code = is_address(native) ? address_text(native) : text_of(native);
  place.module = native.module;
  for (const GrowthFrame* frame = &native + 1; frame != stack.frames.data() + stack.frames.size(); ++frame) {
    if (place.callers.size() == GrowthPlace::kMaxCallers || frame->module.starts_with("lib")) return;
    if (has_name(*frame) && !is_standard(*frame)) add_caller(place, frame->function);
  }
}

// A constructor or a helper alone tells little, and Java's frames have no line.
void set_managed(GrowthPlace& place, const std::vector<ManagedFrame>& frames,
                 std::vector<ManagedFrame>::const_iterator own) {
  place.function = printable(own->parts.function, kMaxCodeName);
  place.code = place_text(own->parts, "");
  if (!is_java(*own->frame)) return;
  for (; own != frames.end() && place.callers.size() < GrowthPlace::kMaxCallers; ++own) {
    if (is_own(*own)) add_caller(place, own->parts.function);
  }
}

// False: no function of the program is in it.
bool set_go(GrowthPlace& place, const GrowthStack& stack, const OperationPatterns& patterns) {
  std::vector<const GrowthFrame*> go;
  std::vector<StackReader::Frame> frames;
  for (const GrowthFrame& frame : stack.frames) {
    if (!is_go(frame)) continue;
    go.push_back(&frame);
    frames.push_back(go_frame_of(frame.function, patterns));
  }
  const std::vector<std::size_t> own = own_frames_of(frames);
  if (own.empty()) return false;
  place.operation = operation_of(frames);
  place.function = printable(parts_of(*go[own.front()]).function, kMaxCodeName);
  place.code = text_of(*go[own.front()]);
  place.module = go[own.front()]->module;
  for (const std::size_t at : own) {
    if (place.callers.size() < GrowthPlace::kMaxCallers) add_caller(place, parts_of(*go[at]).function);
  }
  return true;
}

}  // namespace

std::string text_of(const GrowthFrame& frame) { return place_text(parts_of(frame), frame.module); }

GrowthPlace place_of(const GrowthStack& stack, const OperationPatterns& patterns) {
  GrowthPlace place;
  place.is_collector = is_collectors(stack);
  if (place.is_collector) return place;
  const std::vector<ManagedFrame> frames = managed_of(stack, patterns);
  place.operation = operation_of(frames);
  place.uses = uses_of(frames, place.operation);
  auto own = std::ranges::find_if(frames, is_own);
  if (own == frames.end()) own = std::ranges::find_if(frames, is_outside_functions);
  if (own != frames.end()) {
    set_managed(place, frames, own);
  } else if (frames.empty() && !set_go(place, stack, patterns)) {
    if (const GrowthFrame* native = native_code_of(stack)) set_native(place, stack, *native);
  }
  return place;
}

}  // namespace oomw
