// SPDX-License-Identifier: Apache-2.0
// Finds out which templates the messages of a log are made by: words that stay the same are a path in a tree, and
// numbers are placeholders. Each template counts how often it was seen and remembers one example.
#include <cctype>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "pace.h"

namespace logs {

class TreeNode {
 public:
  explicit TreeNode(std::string word) : word_(std::move(word)) {}
  virtual ~TreeNode() = default;
  virtual void Saw(const std::string& message) = 0;
  const std::string& word() const { return word_; }

 private:
  std::string word_;
};

class TemplateEnd : public TreeNode {
 public:
  explicit TemplateEnd(const std::string& word) : TreeNode(word) {}
  void Saw(const std::string& message) override {
    if (seen_++ == 0) example_ = message;
  }

 private:
  long seen_ = 0;
  std::string example_;
};

class WordBranch : public TreeNode {
 public:
  explicit WordBranch(const std::string& word) : TreeNode(word), children_(64) {}
  void Saw(const std::string&) override { ++passed_; }
  WordBranch* Branch(const std::string& word) { return static_cast<WordBranch*>(Find<WordBranch>(word)); }
  TreeNode* End(const std::string& word) { return Find<TemplateEnd>(word); }

 private:
  template <typename Kind>
  TreeNode* Find(const std::string& word) {
    auto& row = children_[std::hash<std::string>{}(word) % children_.size()];
    for (const auto& child : row) {
      if (child->word() == word) return child.get();
    }
    row.push_back(std::make_unique<Kind>(word));
    if (row.size() > 40) Widen();
    return Find<Kind>(word);
  }
  void Widen() {
    std::vector<std::vector<std::unique_ptr<TreeNode>>> wider(children_.size() * 8);
    for (auto& row : children_) {
      for (auto& child : row) wider[std::hash<std::string>{}(child->word()) % wider.size()].push_back(std::move(child));
    }
    children_ = std::move(wider);
  }

  long passed_ = 0;
  std::vector<std::vector<std::unique_ptr<TreeNode>>> children_;
};

class TemplateMiner {
 public:
  void Add(const std::string& message) {
    std::istringstream words(message);
    WordBranch* at = &root_;
    std::string word, last;
    for (words >> last; words >> word; last = word) at = at->Branch(Masked(last));
    at->End(Masked(last))->Saw(message);
  }

 private:
  static std::string Masked(const std::string& word) {
    for (const char c : word) {
      if (!std::isdigit(static_cast<unsigned char>(c))) return word;
    }
    return "<number>";
  }

  WordBranch root_{""};
};

}  // namespace logs

int main() {
  logs::TemplateMiner miner;
  const double begin = seconds_now();
  char message[200];
  for (long number = 0;;) {
    for (const long due = wait_due(begin, 9000, number); number < due; ++number) {
      const char* what = number % 3 ? "accepted" : "closed";
      if (number % 2) {
        std::snprintf(message, sizeof message, "worker %ld %s a connection after %ld ms", number % 16, what,
                      number % 900);
      } else {
        std::snprintf(message, sizeof message, "request %s of user %ld ended as id=%08lx", what, number % 4000,
                      number * 2654435761 % 4294967296);
      }
      miner.Add(message);
    }
  }
}
