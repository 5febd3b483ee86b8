// SPDX-License-Identifier: Apache-2.0
// The one table of what calls a program's handlers: the frameworks that are known, and the configuration's own rows.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace oomw {

// Rows are "KIND WHERE [FUNCTION]", two or three words:
//   KIND  what is called by it: endpoint | method | job; or library: code of a framework, which is nobody's handler
//   Go            WHERE: what the function's name begins with. FUNCTION: what the rest of it contains
//   Python, Node  WHERE: the last part of the file's name. FUNCTION: what the function's name ends with
//   Java          WHERE: what the method's name ends with ("library": begins with)
// "endpoint github.com/acme/router .(*Mux)." skips the version in "github.com/acme/router/v5.(*Mux).ServeHTTP".
// An immutable value; any thread.
class OperationPatterns {
 public:
  static constexpr std::size_t kMax = 64, kMaxText = 160;  // rows, bytes of each: 10 KiB of a message to a reader

  OperationPatterns() = default;  // those that are built in
  // And these. kInvalid: fault_of() one of them, or too many.
  [[nodiscard]] static Result<OperationPatterns> make(const std::vector<std::string>& rows);
  // What a row must do that it does not: "begin with endpoint, method, job or library"; "" = nothing is wrong with it.
  [[nodiscard]] static std::string fault_of(std::string_view row);

  // The rows that are not built in, for another process: make() takes them, of_text() as lines.
  [[nodiscard]] std::vector<std::string> rows() const;
  [[nodiscard]] std::string text() const;
  [[nodiscard]] static Result<OperationPatterns> of_text(std::string_view text);

  // What a Go function calls: endpoint | method | job; "" = it is no dispatcher. Points to constants.
  [[nodiscard]] std::string_view called_by_go(std::string_view function) const;
  [[nodiscard]] bool is_go_library(std::string_view function) const;
  // The same of Python, Node and Java. file: the last part of its name, "" for Java.
  [[nodiscard]] std::string_view called_by(std::string_view file, std::string_view function) const;
  [[nodiscard]] bool is_library(std::string_view file, std::string_view function) const;

 private:
  struct Row {
    std::string_view kind;  // a constant
    std::string where, function;
  };
  [[nodiscard]] static Row row_of(std::string_view text);
  // The kind of the first row, built in or not, that fits; "" = none does.
  template <typename Fits>
  [[nodiscard]] std::string_view kind_of(Fits fits) const;

  std::vector<Row> rows_;
};

}  // namespace oomw
