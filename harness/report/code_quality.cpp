// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/report/code_quality.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/base/files.hpp"
#include "harness/base/text.hpp"

namespace stepleak {
namespace {

// The same leak of two targets is two issues; one that has moved by some lines is the same.
std::string fingerprint_of(const Problem& problem) {
  const auto& own = problem.finding != nullptr ? problem.finding->fingerprint : std::string();
  return fnv1a_hex(fmt::format("{}|{}|{}|{}", problem.rule, own, problem.result->target, problem.place->file));
}

}  // namespace

std::string to_code_quality(const std::vector<Problem>& problems) {
  auto issues = nlohmann::ordered_json::array();
  for (const auto& problem : problems) {
    if (!problem.place || !problem.place->is_below) continue;
    issues.push_back(
        {{"description", problem.message},
         {"check_name", problem.rule},
         {"fingerprint", fingerprint_of(problem)},
         {"severity", problem.severity == Severity::error ? "major" : "minor"},
         {"location", {{"path", printable_line(problem.place->file)}, {"lines", {{"begin", problem.place->line}}}}}});
  }
  return issues.dump(2) + "\n";
}

}  // namespace stepleak
