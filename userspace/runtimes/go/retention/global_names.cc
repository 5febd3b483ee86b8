// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/retention/global_names.h"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/text.h"

namespace oomw::go::retention {

namespace {

constexpr std::uint64_t kMaxCodeBytes = 96U << 20;
constexpr std::uint64_t kChunkBytes = 64U << 10;
constexpr std::uint64_t kMaxSymbolBytes = 32U << 20;
constexpr std::uint64_t kMaxSearchedData = 4U << 20;
constexpr std::size_t kMaxPointers = 64;  // to the variables in question
constexpr std::uint64_t kBack = 64;       // how far before a field its variable may begin, without symbols
constexpr std::size_t kMaxUsers = 8, kShownUsers = 3;
constexpr std::string_view kUsedBy = "used by ", kMoreUsers = "...", kRuntime = "runtime.";

// The variable that holds each address, by .symtab.
void name_by_symbols(Image& image, std::span<const std::uint64_t> addresses,
                     std::map<std::uint64_t, std::string>& names) {
  const elf::File& elf = image.elf();
  const elf::Section* table = elf.find_section(".symtab");
  if (!table || table->entry_size != sizeof(Elf64_Sym) || table->size > kMaxSymbolBytes) return;
  if (table->link >= elf.sections().size()) return;
  const elf::Section& strings = elf.sections()[table->link];
  std::vector<Elf64_Sym> chunk(kChunkBytes / sizeof(Elf64_Sym));
  for (std::uint64_t done = 0; done + sizeof(Elf64_Sym) <= table->size;) {
    const std::uint64_t count = std::min<std::uint64_t>(chunk.size(), (table->size - done) / sizeof(Elf64_Sym));
    const std::span part(chunk.data(), count);
    if (!elf.reader().read(table->offset + done, std::as_writable_bytes(part)).has_value()) return;
    for (const Elf64_Sym& symbol : part) {
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_name >= strings.size) continue;
      for (const std::uint64_t address : addresses) {
        if (address - image.load_bias() - symbol.st_value >= symbol.st_size) continue;
        const auto name = elf.reader().c_string(strings.offset + symbol.st_name, Pclntab::kMaxName);
        if (name.has_value()) names[address] = printable(*name);
      }
    }
    done += count * sizeof(Elf64_Sym);
  }
}

// Globals that point to what may be the beginning of a variable in question: {variable, the global}. Where code knows a
// variable by a pointer alone, what lies before it would be taken for it (DefaultServeMux is such a pointer).
std::map<std::uint64_t, std::uint64_t> find_pointers(Image& image, CachedReader& memory,
                                                     std::span<const std::uint64_t> addresses) {
  std::map<std::uint64_t, std::uint64_t> found;
  const elf::AddressRange data = image.data();
  std::vector<std::uint64_t> chunk(kChunkBytes / sizeof(std::uint64_t));
  const std::uint64_t end = std::min(data.end, data.begin + kMaxSearchedData);
  for (std::uint64_t at = data.begin; at + sizeof(std::uint64_t) <= end; at += kChunkBytes) {
    const std::span words(chunk.data(), std::min<std::uint64_t>(chunk.size(), (end - at) / sizeof(std::uint64_t)));
    if (!memory.read(at, std::as_writable_bytes(words)).has_value()) continue;
    add_pointers(words, at, addresses, found);
  }
  return found;
}

// Code that refers to data: {target, function}. Fields are referred to by the beginning of their variable, too.
class CodeScan {
 public:
  CodeScan(Image& image, CachedReader& memory, std::span<const std::uint64_t> addresses)
      : image_(image), wanted_(addresses.begin(), addresses.end()) {
    std::ranges::sort(wanted_);
    pointers_ = find_pointers(image, memory, wanted_);
    for (const auto& [variable, pointer] : pointers_) wanted_.push_back(pointer);
    std::ranges::sort(wanted_);
  }

  void run() {
    const elf::AddressRange text = image_.text();
    std::vector<std::byte> chunk(kChunkBytes + kOverlap);
    for (std::uint64_t at = text.begin; at < text.end && at - text.begin < kMaxCodeBytes; at += kChunkBytes) {
      const std::span part(chunk.data(), std::min<std::uint64_t>(chunk.size(), text.end - at));
      if (!image_.elf().read_at(at - image_.load_bias(), part).has_value()) return;
      scan(part, at);
    }
  }

  [[nodiscard]] std::string users_of(std::uint64_t address) const {
    for (std::uint64_t back = 0; back <= kBack; back += 8) {
      auto it = users_.find(address - back);
      const auto pointer = pointers_.find(address - back);
      if (it == users_.end() && pointer == pointers_.end()) continue;
      if (it == users_.end()) it = users_.find(pointer->second);
      if (it == users_.end()) return "";
      std::string text(kUsedBy);
      for (std::size_t i = 0; i < std::min(it->second.size(), kShownUsers); ++i) {
        text += (i > 0 ? ", " : "") + printable(it->second[i]->name);
      }
      if (it->second.size() > kShownUsers) text += fmt::format(", {}", kMoreUsers);
      return text;
    }
    return "";
  }

 private:
  static constexpr std::size_t kOverlap = 8;

  void scan(std::span<const std::byte> code, std::uint64_t address) {
    for (std::size_t i = 3; i + 4 <= code.size(); ++i) {
      if ((code[i - 1] & std::byte{0xc7}) != std::byte{0x05}) continue;  // relative to RIP
      const auto displacement = value_at<std::int32_t>(code, i);
      std::uint64_t target = address + i + 4 + static_cast<std::uint64_t>(std::int64_t{displacement});
      if (target + 4 < wanted_.front() - kBack || target > wanted_.back()) continue;
      // An immediate after the displacement counts too: MOV [m], imm32 and the compares with imm8.
      const std::byte opcode = code[i - 2];
      if (opcode == std::byte{0xc7}) target += 4;
      if (opcode == std::byte{0x80} || opcode == std::byte{0x83}) target += 1;
      if (target % 8 == 0) add(target, address + i);
    }
  }

  void add(std::uint64_t target, std::uint64_t pc) {
    const auto next = std::ranges::lower_bound(wanted_, target);
    if (next == wanted_.end() || *next - target > kBack) return;  // nothing that is asked about lies there
    const Function* function = image_.find(pc);
    if (!function) return;
    auto& list = users_[target];
    if (list.size() < kMaxUsers && std::find(list.begin(), list.end(), function) == list.end())
      list.push_back(function);
  }

  Image& image_;
  std::vector<std::uint64_t> wanted_;  // never empty
  std::map<std::uint64_t, std::uint64_t> pointers_;
  std::map<std::uint64_t, std::vector<const Function*>> users_;
};

}  // namespace

void add_pointers(std::span<const std::uint64_t> words, std::uint64_t begin, std::span<const std::uint64_t> addresses,
                  std::map<std::uint64_t, std::uint64_t>& found) {
  for (std::size_t i = 0; i < words.size() && found.size() < kMaxPointers; ++i) {
    if (words[i] % sizeof(std::uint64_t) != 0) continue;
    const auto next = std::ranges::lower_bound(addresses, words[i]);
    const bool is_near = next != addresses.end() && *next - words[i] <= kBack;
    if (is_near) found.emplace(words[i], begin + i * sizeof(std::uint64_t));
  }
}

std::map<std::uint64_t, std::string> name_globals(Image& image, CachedReader& memory,
                                                  std::span<const std::uint64_t> addresses) {
  std::map<std::uint64_t, std::string> names;
  if (addresses.empty()) return names;
  name_by_symbols(image, addresses, names);
  if (names.size() == addresses.size()) return names;
  CodeScan scan(image, memory, addresses);
  scan.run();
  for (const std::uint64_t address : addresses) {
    std::string users = names.contains(address) ? "" : scan.users_of(address);
    if (!users.empty()) names[address] = std::move(users);
  }
  return names;
}

bool is_runtime_global(std::string_view name) {
  if (!name.starts_with(kUsedBy)) return name.starts_with(kRuntime);
  return std::ranges::all_of(split(name.substr(kUsedBy.size()), ','), [](std::string_view user) {
    return trim(user).starts_with(kRuntime) || trim(user) == kMoreUsers;
  });
}

}  // namespace oomw::go::retention
