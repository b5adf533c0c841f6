// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/report/annotations.hpp"

#include <fmt/format.h>

#include "harness/base/text.hpp"

namespace stepleak {
namespace {

// As GitHub defines it: a message keeps colons and commas, a property does not.
std::string escaped(const std::string& text, bool is_property) {
  std::string out;
  for (const char letter : printable(text)) {
    const bool is_special =
        letter == '%' || letter == '\r' || letter == '\n' || (is_property && (letter == ':' || letter == ','));
    out += is_special ? fmt::format("%{:02X}", static_cast<unsigned char>(letter)) : std::string(1, letter);
  }
  return out;
}

}  // namespace

std::string to_annotations(const std::vector<Problem>& problems) {
  std::string text;
  for (const auto& problem : problems) {
    text += problem.severity == Severity::error ? "::error " : "::warning ";
    if (problem.place && problem.place->is_below) {
      text += fmt::format("file={},line={},", escaped(problem.place->file, true), problem.place->line);
    }
    text += fmt::format("title=stepleak {}::{}\n", escaped(problem.rule, true), escaped(problem.message, false));
  }
  return text;
}

}  // namespace stepleak
