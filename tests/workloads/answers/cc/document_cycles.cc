// SPDX-License-Identifier: Apache-2.0
// Documents and their pages hold each other by shared_ptr: none is ever freed, though nobody knows them any more.
#include <memory>
#include <string>
#include <vector>

#include "pace.h"

struct Document;

struct Page {
  virtual ~Page() = default;
  std::shared_ptr<Document> document;
  double layout[60] = {1};
};

struct Document {
  virtual ~Document() = default;
  std::vector<std::shared_ptr<Page>> pages;
  std::string title;
};

__attribute__((noinline)) void open_document(long number) {
  auto document = std::make_shared<Document>();
  document->title = "document " + std::to_string(number);
  for (int i = 0; i < 10; ++i) {
    document->pages.push_back(std::make_shared<Page>());
    document->pages.back()->document = document;
  }
}

int main() {
  const double begin = seconds_now();
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 650, number); number < due; ++number) open_document(number);
  }
}
