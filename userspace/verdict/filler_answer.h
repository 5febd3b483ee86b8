// SPDX-License-Identifier: Apache-2.0
// The part of the answer that comes from reading what fills the memory, where there is no heap profile.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "incident/incident.h"

namespace oomw {

inline constexpr std::size_t kMaxAnswerName = 160;  // of a type, a holder or code, in a sentence
inline constexpr std::string_view kJvm = "jvm";     // the runtime of a filler or a part of the memory

// The filler that an analysis found and that is large enough to be said: a container with a name first, then any
// container, then a type. Its claim is "fills", never more.
[[nodiscard]] const IncidentFiller* named_filler(const Incident& incident);
[[nodiscard]] std::optional<AnswerCulprit> filling_culprit(const Incident& incident);
// "a list of 500000 dict held as `LOG` in module `app` filled 86 % of its memory (83.1 MiB, read 2 s before the kill)"
[[nodiscard]] std::string filler_text(const Incident& incident);
// The same as a sentence of its own.
[[nodiscard]] std::string filler_sentence(const Incident& incident);
// "" if nothing was read from the memory: what is known of it when no filler is large.
[[nodiscard]] std::string no_filler_text(const Incident& incident);
// Where the largest filler is an array, a plain type or a class of the library: "; of its own classes there were most
// of com.acme.Session, 60000 objects". Of Python "of other classes": those of its library look like the program's.
[[nodiscard]] std::string own_class_text(const Incident& incident, const IncidentFiller& filler);
// "172092 entries in `Outbox.PENDING`, a java.util.ArrayDeque": the collection of a Java program's static fields with
// most entries, of which no bytes are known; "" = none.
[[nodiscard]] std::string collection_text(const Incident& incident);
// "At the kill 118 MiB were small objects, by an estimate 52 % of them dict, 18 % str."; "" unless that was counted,
// and where they are little beside the rest.
[[nodiscard]] std::string pools_text(const Incident& incident);
// Whether most of the memory of a runtime's program is what native code took from malloc.
[[nodiscard]] bool fills_malloc(const Incident& incident);
[[nodiscard]] std::string filler_action(const Incident& incident);
// What grew most of all that was read over time, by name; nullptr: nothing made half of the process's growth. A
// container with a name first, then what gained most.
[[nodiscard]] const TrendSite* growing_name(const Incident& incident);
// "list of dict, held as `LOG` in module `app`"
[[nodiscard]] std::string name_and_holder(const TrendSite& site);
// " In 9 readings over 720 s, list of dict, held as `LOG` in module `app` grew from 3.1 MiB to 80.0 MiB."; "" = none.
[[nodiscard]] std::string growing_name_text(const Incident& incident);

}  // namespace oomw
