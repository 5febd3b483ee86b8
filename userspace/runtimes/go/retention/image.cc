// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/retention/image.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace oomw::go::retention {

namespace {

constexpr std::uint64_t kMaxFunctionBytes = 64U << 10;
constexpr std::size_t kTextWord = 22, kDataWord = 26, kBssWord = 28;  // begin and end each; same in Go 1.19 to 1.27
constexpr std::uint64_t kMaxDataBytes = 64U << 20;

}  // namespace

bool is_runtime_function(std::string_view name) {
  for (const std::string_view prefix :
       {"runtime.", "internal/runtime", "sync.runtime_", "internal/poll.runtime", "internal/sync.runtime_"}) {
    if (name.starts_with(prefix)) return true;
  }
  return false;
}

bool is_goroutine_wrapper(std::string_view name) {
  return name.find(".gowrap") != std::string_view::npos || name.starts_with("sync.(*WaitGroup).Go.") ||
         name.starts_with("golang.org/x/sync/errgroup.(*Group).");
}

std::string without_type_arguments(std::string_view name) {
  std::string out;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool follows_name =
        !out.empty() && (std::isalnum(static_cast<unsigned char>(out.back())) || out.back() == '_');
    const bool is_map =
        out.ends_with("map") && (out.size() == 3 || !std::isalnum(static_cast<unsigned char>(out[out.size() - 4])));
    const bool is_list = c == '[' && (depth > 0 || (follows_name && !is_map));
    if (is_list) ++depth;
    if (depth == 0) out += c;
    if (c == ']' && depth > 0) --depth;
  }
  return out;
}

Result<std::unique_ptr<Image>> Image::open(const ByteSource& file, std::uint64_t load_bias) {
  std::unique_ptr<Image> image(new Image(file, load_bias));
  ASSIGN_OR_RETURN(image->elf_, elf::File::open(image->reader_));
  if (image->elf_->machine() != elf::Machine::kAmd64) return fail(ErrorCode::kUnsupported, "only amd64 programs");
  ASSIGN_OR_RETURN(image->table_, Pclntab::find(*image->elf_));
  ASSIGN_OR_RETURN(image->module_, ModuleData::find(*image->elf_, *image->table_));
  const auto range = [&](std::size_t word) {
    return elf::AddressRange{image->module_word(word), image->module_word(word + 1)};
  };
  image->text_ = range(kTextWord);
  image->data_ = range(kDataWord);
  image->bss_ = range(kBssWord);
  for (const elf::AddressRange& r : {image->data_, image->bss_}) {
    if (r.end < r.begin || r.size() > kMaxDataBytes || r.begin % 8 != 0) {
      return fail(ErrorCode::kUnsupported, "module data not understood");
    }
  }
  if (image->named("plugin.Open")) return fail(ErrorCode::kUnsupported, "a program with plugins has several modules");
  return image;
}

const Function* Image::keep(const FunctionRecord& record) {
  const auto it = functions_.find(record.entry);
  if (it != functions_.end()) return it->second.get();
  if (functions_.size() >= kMaxFunctions || name_bytes_ >= kMaxNameBytes) return nullptr;
  const auto name = table_->name_at(record.name_offset);
  if (!name.has_value()) return nullptr;
  auto function = std::make_unique<Function>();
  function->record = record;
  function->entry = text_.begin + record.entry;
  function->end = text_.begin + record.end;
  function->name = *name;
  function->is_runtime = is_runtime_function(*name);
  name_bytes_ += name->size();
  return functions_.emplace(record.entry, std::move(function)).first->second.get();
}

const Function* Image::find(std::uint64_t pc) {
  if (!text_.contains(pc)) return nullptr;
  const auto it = by_pc_.find(pc);
  if (it != by_pc_.end()) return it->second;
  const auto record = table_->function_at(pc - text_.begin);
  const Function* function = record.has_value() ? keep(*record) : nullptr;
  if (by_pc_.size() < kMaxFunctions) by_pc_.emplace(pc, function);
  return function;
}

const Function* Image::find_entry(std::uint64_t pc) {
  const Function* function = find(pc);
  return function && function->entry == pc ? function : nullptr;
}

const Function* Image::named(std::string_view name) {
  const std::array<std::string_view, 1> names{name};
  const auto found = table_->find_functions(names);
  return found.has_value() && found->front() ? keep(*found->front()) : nullptr;
}

const Function* Image::function_number(std::uint32_t index) {
  const auto record = table_->function(index);
  return record.has_value() ? keep(*record) : nullptr;
}

std::vector<std::byte> Image::code(const Function& function) const {
  std::vector<std::byte> bytes(std::min(function.end - function.entry, kMaxFunctionBytes));
  if (!elf_->read_at(function.entry - load_bias_, bytes).has_value()) bytes.clear();
  return bytes;
}

std::vector<std::uint64_t> Image::references(const Function& function) const {
  constexpr std::size_t kMaxReferences = 4096;
  const std::vector<std::byte> bytes = code(function);
  std::vector<std::uint64_t> found;
  for (std::size_t i = 2; i + 4 <= bytes.size() && found.size() < kMaxReferences; ++i) {
    if ((bytes[i - 1] & std::byte{0xc7}) != std::byte{0x05}) continue;  // mod 00, r/m 101: relative to RIP
    const auto displacement = value_at<std::int32_t>(bytes, i);
    found.push_back(function.entry + i + 4 + static_cast<std::uint64_t>(std::int64_t{displacement}));
  }
  return found;
}

std::optional<std::uint32_t> Image::frame_bytes(const Function& function, std::uint64_t pc) const {
  const auto bytes = table_->stack_bytes_at(function.record, pc - text_.begin);
  return bytes ? std::optional(*bytes) : std::nullopt;
}

std::int32_t Image::pcdata(const Function& function, std::uint32_t table, std::uint64_t pc) const {
  return table_->pcdata_at(function.record, table, pc - text_.begin).value_or(-1);
}

}  // namespace oomw::go::retention
