// SPDX-License-Identifier: Apache-2.0
#include "support/memory_image.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>

#include <fmt/format.h>

#include "base/files.h"
#include "base/unique_fd.h"
#include "memory/memory_map.h"
#include "pprof/codec.h"
#include "support/started_program.h"

namespace oomw::test {
namespace {

constexpr std::size_t kMaxImage = 1u << 30;
constexpr std::uint64_t kFormat = 1;

// Numbers of 8 bytes, and texts with their length in front.
void put(std::string& out, std::uint64_t number) { out.append(reinterpret_cast<const char*>(&number), sizeof number); }
void put(std::string& out, const std::string& text) {
  put(out, text.size());
  out += text;
}

class Taken {
 public:
  explicit Taken(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t number() {
    std::uint64_t number = 0;
    std::memcpy(&number, text(sizeof number).data(), is_whole_ ? sizeof number : 0);
    return number;
  }
  std::string_view text(std::uint64_t length) {
    is_whole_ = is_whole_ && length <= bytes_.size();
    const std::string_view text = bytes_.substr(0, is_whole_ ? length : 0);
    bytes_.remove_prefix(text.size());
    return text;
  }
  [[nodiscard]] bool is_whole() const { return is_whole_; }

 private:
  std::string_view bytes_;
  bool is_whole_ = true;
};

std::string path_for(const std::vector<std::string>& command) {
  const char* cache = std::getenv("OOMW_CACHE");
  struct stat program {};
  if (cache == nullptr || ::stat(command.front().c_str(), &program) != 0) return "";
  std::string key = fmt::format("{} {} {} {}", kFormat, program.st_ino, program.st_size, program.st_mtim.tv_sec);
  for (const std::string& word : command) key += '\0' + word;
  return fmt::format("{}/images/{:016x}.gz", cache, std::hash<std::string>()(key));
}

}  // namespace

MemoryImage MemoryImage::of(int pid, std::string output) {
  MemoryImage image;
  image.output_ = std::move(output);
  image.maps_ = read_file("/proc/" + std::to_string(pid) + "/maps", MemoryMap::kMaxText).value_or("");
  const UniqueFd page_map = open_of_process(pid, "pagemap"), memory = open_of_process(pid, "mem");
  const PresentPages present = PageScanner(page_map.get()).scan(MemoryMap::parse(image.maps_)).value();
  for (const PageRange& range : present.ranges()) {
    const std::size_t before = image.bytes_.size();
    image.bytes_.resize(before + range.size());
    const ssize_t n =
        ::pread(memory.get(), image.bytes_.data() + before, range.size(), static_cast<off_t>(range.begin));
    const std::uint64_t whole = n < 0 ? 0 : static_cast<std::uint64_t>(n) / kPageBytes * kPageBytes;
    image.bytes_.resize(before + whole);
    if (whole == 0) continue;
    image.ranges_.push_back({range.begin, range.begin + whole});
    image.bytes_before_.push_back(before);
  }
  return image;
}

std::optional<MemoryImage> MemoryImage::load(const std::string& path) {
  const auto packed = read_file(path, kMaxImage);
  if (!packed.has_value()) return std::nullopt;
  const auto whole = pprof::gunzip(*packed, kMaxImage);
  if (!whole.has_value()) return std::nullopt;
  Taken taken(*whole);
  MemoryImage image;
  image.maps_ = taken.text(taken.number());
  image.output_ = taken.text(taken.number());
  std::uint64_t all = 0;
  for (std::uint64_t left = taken.number(); left > 0 && taken.is_whole(); --left) {
    PageRange range;
    range.begin = taken.number(), range.end = taken.number();
    image.ranges_.push_back(range);
    image.bytes_before_.push_back(all);
    all += range.size();
  }
  image.bytes_ = taken.text(all);
  if (!taken.is_whole() || !image.has_its_files()) return std::nullopt;
  return image;
}

void MemoryImage::save(const std::string& path) const {
  std::string whole;
  put(whole, maps_);
  put(whole, output_);
  put(whole, ranges_.size());
  for (const PageRange& range : ranges_) put(whole, range.begin), put(whole, range.end);
  whole += bytes_;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  (void)write_file_atomic(path, pprof::gzip(whole));
}

Result<std::size_t> MemoryImage::read_some(std::uint64_t address, std::span<std::byte> out) const {
  const auto after = std::ranges::upper_bound(ranges_, address, {}, &PageRange::begin);
  if (after == ranges_.begin() || address >= (after - 1)->end) return 0;
  const PageRange& range = *(after - 1);
  const std::size_t n = std::min<std::uint64_t>(out.size(), range.end - address);
  const std::uint64_t from = bytes_before_[static_cast<std::size_t>(after - 1 - ranges_.begin())];
  std::memcpy(out.data(), bytes_.data() + from + (address - range.begin), n);
  return n;
}

bool MemoryImage::has_its_files() const {
  const MemoryMap map = MemoryMap::parse(maps_);
  return std::ranges::all_of(map.mappings(), [](const Mapping& mapping) {
    struct stat file {};
    return !mapping.has_file() || (::stat(mapping.name.c_str(), &file) == 0 && file.st_ino == mapping.inode);
  });
}

std::shared_ptr<const MemoryImage> image_of_program(const std::vector<std::string>& command,
                                                    const std::string& library_path,
                                                    const std::function<bool(const MemoryImage&)>& is_settled) {
  constexpr int kTries = 50;
  const std::string path = path_for(command);
  if (auto kept = path.empty() ? std::nullopt : MemoryImage::load(path)) {
    return std::make_shared<const MemoryImage>(std::move(*kept));
  }
  const StartedProgram program(command, library_path);
  if (!program.is_ready()) return nullptr;
  MemoryImage image = MemoryImage::of(program.pid(), program.output());
  bool is_good = !is_settled || is_settled(image);
  for (int i = 0; i < kTries && !is_good; ++i) {
    ::usleep(100'000);
    image = MemoryImage::of(program.pid(), program.output());
    is_good = is_settled(image);
  }
  if (is_good && !path.empty()) image.save(path);  // else every later run would read what one moment spoiled
  return std::make_shared<const MemoryImage>(std::move(image));
}

}  // namespace oomw::test
