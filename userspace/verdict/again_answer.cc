// SPDX-License-Identifier: Apache-2.0
#include "verdict/again_answer.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxCode = 160;

// "main.put" of "main.put (main.go:44)": the line may be another after the next deployment. What is remembered is cut,
// so the place may lack its end. Nor does a count last: "a dict of 9067 Order" is "a dict of Order".
std::string lasting_name(std::string_view code) {
  std::string name;
  for (const std::string_view word : split(code.substr(0, std::min(code.rfind(" ("), kMaxCode)), ' ')) {
    if (word.find_first_not_of("~0123456789") != std::string_view::npos) name.append(word).append(" ");
  }
  return name;
}

std::optional<bool> is_same_culprit(const EarlierKill& earlier, const std::optional<AnswerCulprit>& culprit) {
  if (!culprit || earlier.code.empty()) return std::nullopt;
  if (lasting_name(culprit->code) == lasting_name(earlier.code)) return true;
  const bool is_one_operation = !culprit->operation.empty() && culprit->operation == earlier.operation;
  if (culprit->claim != earlier.claim || is_one_operation) return std::nullopt;
  return false;
}

// Two limits that are hit at once are two decisions.
std::string when_text(Nanoseconds since) {
  if (since < std::chrono::seconds(1)) return "at the same moment as";
  return human_duration(since) + " after";
}

std::string earlier_text(const EarlierKill& earlier, const IncidentAnswer& answer) {
  if (answer.same_culprit == true) return "The culprit is the same as then.";
  const std::string code = printable(earlier.code, kMaxCode);
  if (answer.same_culprit == false) return fmt::format("The culprit is another; then it was {}.", code);
  if (!earlier.code.empty()) return fmt::format("Then {} was named.", code);
  return answer.culprit ? "Nobody was named then." : "Nobody was named then, either.";
}

}  // namespace

void compare_with_earlier(Incident& incident) {
  if (!incident.earlier || !incident.answer) return;
  const EarlierKill& earlier = *incident.earlier;
  IncidentAnswer& answer = *incident.answer;
  answer.same_culprit = is_same_culprit(earlier, answer.culprit);
  answer.again = fmt::format("Killed again, {} the kill before: kill {} of this workload on record. {}",
                             when_text(Nanoseconds(incident.time.ns - earlier.time.ns)), earlier.kills + 1,
                             earlier_text(earlier, answer));
}

}  // namespace oomw
