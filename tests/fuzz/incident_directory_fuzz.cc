// SPDX-License-Identifier: Apache-2.0
// A directory of incidents with foreign contents: incident.json of any bytes, other entries of any name and kind. The
// first byte says what stands where the file should, the next 16 are the name of a second directory.
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/result.h"
#include "fuzz/cost_oracle.h"
#include "store/incident_reader.h"

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kNameBytes = 16;
constexpr const char* kName = "20261121T044040Z-cgroup-test-leak-leaky-go-23554042";
// Files are slow under load: the fixed part is theirs.
constexpr oomw::fuzz::CostBounds kBounds = {.fixed_us = 2'000'000};

// One for this process, in memory where the machine has /dev/shm.
struct Scratch {
  Scratch() {
    std::string form = fs::exists("/dev/shm") ? "/dev/shm/oomw-fuzz-XXXXXX" : "/tmp/oomw-fuzz-XXXXXX";
    OOMW_CHECK(mkdtemp(form.data()) != nullptr);
    path = form;
  }
  ~Scratch() { fs::remove_all(path); }
  std::string path;
};

void write(const fs::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

void make_entry(const fs::path& file, unsigned kind, std::string_view bytes) {
  std::error_code ignored;
  switch (kind % 6) {
    case 0:
    case 1:
      write(file, bytes);
      break;
    case 2:
      fs::create_symlink("/dev/zero", file, ignored);
      break;
    case 3:
      OOMW_CHECK(mkfifo(file.c_str(), 0600) == 0);
      break;
    case 4:
      fs::create_directory(file, ignored);
      break;
    default:
      fs::create_symlink(file, file, ignored);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Scratch scratch;
  const oomw::fuzz::CostOracle oracle(size, kBounds);
  if (size < 1 + kNameBytes) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  std::string other(rest.substr(0, kNameBytes));
  for (char& c : other) c = c == '/' || c == '\0' ? '_' : c;
  const fs::path root = fs::path(scratch.path) / "incidents";
  fs::create_directories(root / kName);
  make_entry(root / kName / "incident.json", data[0], rest.substr(kNameBytes));
  std::error_code ignored;
  fs::create_directories(root / other, ignored);
  make_entry(root / kName / "summary.json", data[0] / 6u, rest);
  write(root / other / "incident.json", rest.substr(kNameBytes));

  const oomw::IncidentReader reader(scratch.path);
  const auto all = reader.list();
  OOMW_CHECK(!all || all->size() <= 2);
  const auto summaries = reader.summaries();
  OOMW_CHECK(!summaries || summaries->size() <= 2);
  for (const std::string& what : {std::string(kName), other, std::string("2"), (root / kName).string()}) {
    (void)reader.get(what);
  }
  fs::remove_all(root, ignored);
  return 0;
}
