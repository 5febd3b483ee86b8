// SPDX-License-Identifier: Apache-2.0
// A proxy: a rule's expression is compiled for each request that it is tried on, and never freed.
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>

#include "pace.h"

static const char* const kRules[] = {
    "^/api/v[0-9]+/(orders|customers)/[0-9]{1,8}(/lines)?$",
    "^/static/([a-z0-9_-]+/)*[a-z0-9_-]+\\.(css|js|png)$",
    "^/internal/(health|metrics|debug)(/.*)?$",
};

static long allowed;

__attribute__((noinline)) int matches_rule(const char* rule, const char* path) {
  regex_t compiled;
  if (regcomp(&compiled, rule, REG_EXTENDED | REG_NOSUB) != 0) abort();
  return regexec(&compiled, path, 0, NULL, 0) == 0;
}

__attribute__((noinline)) void handle_request(long number) {
  char path[80];
  snprintf(path, sizeof path, "/api/v2/orders/%ld", number % 90000);
  for (size_t i = 0; i < sizeof kRules / sizeof *kRules; ++i) allowed += matches_rule(kRules[i], path);
}

int main(void) {
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 40, number); number < due; ++number) handle_request(number);
  }
}
