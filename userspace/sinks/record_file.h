// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/clock.h"
#include "sinks/delivery.h"
#include "sinks/otlp_record.h"

namespace oomw {

// OTLP JSON, one line for each form of an incident, as the Collector's otlpjsonfile receiver and any collector of logs
// reads it. Appended to a file, which becomes <path>.1 when it would grow beyond max_bytes, or given to `print`.
class RecordFile final : public Destination {
 public:
  using Print = std::function<bool(std::string line)>;  // any thread; false: the line was dropped
  // path "-" = print.
  RecordFile(std::string path, std::uint64_t max_bytes, Print print, OtlpMapping mapping, const Clock& clock);
  [[nodiscard]] Delivery deliver(const StoredIncident& stored, unsigned nth) override;

 private:
  [[nodiscard]] Result<> append(const std::string& line) const;

  const std::string path_;
  const std::uint64_t max_bytes_;
  const Print print_;
  const OtlpMapping mapping_;
  const Clock& clock_;
};

}  // namespace oomw
