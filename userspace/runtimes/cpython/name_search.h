// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtimes/cpython/frames.h"
#include "runtimes/cpython/objects.h"

namespace oomw::cpython {

struct NamedContainer {
  std::uint64_t address = 0;
  std::string held_as;  // "`REQUEST_LOG` in module `app`"
};

// Where a search for names begins: addresses.
struct NameRoots {
  std::vector<std::uint64_t> modules;
  std::vector<std::uint64_t> frames;      // that may be some; their callers' follow from them
  std::vector<std::uint64_t> generators;  // and coroutines, of functions of which few wait
  std::vector<std::uint64_t> instances;   // the only one of its class each
};

// Names of lists, dicts, sets and deques: follows references from the globals of modules, by the attributes of classes
// and of instances and through small containers, nearest first; from the program's own modules before those of the
// language and of installed packages, which are so many that the limits may be reached in them; with the variables that
// their functions share; between those from the variables of calls that have not returned, and after all from objects
// that are the only ones of their class. A name consists of identifiers in module, class and instance tables and in
// code only, whose structure was checked; keys of other dicts are data and never shown. Bounded. Borrows the reader.
class NameSearch {
 public:
  static constexpr std::size_t kMaxObjects = 60'000, kMaxNamed = 8192;
  static constexpr std::uint64_t kMaxEntries = 4096;  // of one table
  static constexpr std::uint64_t kFewEntries = 64;    // of a container that is followed
  static constexpr int kMaxDepth = 3;
  static constexpr std::size_t kMaxFrames = 256;

  NameSearch(ObjectReader& objects, TypeTable& types) : objects_(objects), types_(types), frames_(objects, types) {}
  void run(const NameRoots& roots);
  [[nodiscard]] const std::vector<NamedContainer>& named() const { return named_; }
  [[nodiscard]] std::string name_of(std::uint64_t address) const;

 private:
  struct Place {
    Object object;
    std::string text;  // how it is reached: "`CACHE` in module `app`"
    int depth = 0;
  };

  void follow_all();
  void follow_frames(const NameRoots& roots);
  void add_locals(const Frame& frame);
  // What a name refers to.
  void add(std::uint64_t address, const std::string& text, int depth);
  void follow(const Place& place);
  void follow_table(std::uint64_t dict, const std::string& of, int depth);
  void follow_instance(const Place& place);
  void follow_values(const Place& place, std::uint64_t values, std::uint64_t capacity);
  // The names of the attributes that the instances of a class share.
  [[nodiscard]] std::optional<KeyTable> shared_keys(const TypeInfo& type);

  ObjectReader& objects_;
  TypeTable& types_;
  FrameReader frames_;
  std::unordered_set<std::string> own_modules_;
  bool follows_functions_ = false;  // those of the program's own modules
  std::vector<NamedContainer> named_;
  std::unordered_map<std::uint64_t, std::size_t> by_address_;
  std::unordered_set<std::uint64_t> seen_;
  std::deque<Place> waiting_;
  std::unordered_map<const TypeInfo*, std::optional<KeyTable>> keys_;
};

}  // namespace oomw::cpython
