// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/report/problem.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "harness/base/text.hpp"

namespace stepleak {
namespace {

// "train.py" of "train.py:step"; empty for a scenario's name and a module.
std::string file_of_target(const std::string& target) {
  const auto end = target.rfind(".py");
  if (end == std::string::npos) return {};
  const auto behind = target.substr(end + 3);
  return behind.empty() || behind.front() == ':' ? target.substr(0, end + 3) : std::string();
}

std::vector<SourcePlace> places_of(const Finding& finding, const SourceTree& tree) {
  std::vector<SourcePlace> places;
  const auto add = [&](const std::string& file, int line, const std::string& text) {
    if (line <= 0) return;
    if (auto place = place_in(tree, file, line, text)) places.push_back(std::move(*place));
  };
  add(finding.kept_by.file, finding.kept_by.line, finding.kept_by.text);
  for (const auto& frame : finding.where) {
    if (frame.owner == FrameOwner::user) add(frame.file, frame.line, frame.text);
  }
  return places;
}

std::optional<SourcePlace> place_of(const Result& result, const Finding* finding, const SourceTree& tree) {
  auto places = finding != nullptr ? places_of(*finding, tree) : std::vector<SourcePlace>();
  if (auto target = place_in(tree, file_of_target(result.target), 1)) places.push_back(std::move(*target));
  const auto below = std::find_if(places.begin(), places.end(), [](const auto& place) { return place.is_below; });
  if (below != places.end()) return *below;
  return places.empty() ? std::nullopt : std::optional(places.front());
}

std::string rule_of(const Result& result, const Finding* finding) {
  if (finding != nullptr) return std::string(to_string(finding->kind));
  return result.verdict == Verdict::clean ? "unexpected" : std::string(to_string(result.verdict));
}

std::string message_of(const ReportCase& report_case, const Finding* finding) {
  const auto& result = *report_case.result;
  auto text = fmt::format("{}: {}", result.target, report_case.failure);
  const auto add = [&](std::string_view label, const std::string& more) {
    if (!more.empty()) text += fmt::format("\n{}{}", label, more);
  };
  if (finding != nullptr) {
    add("", finding->what);
    add("holder: ", finding->holder);
    add("fix: ", finding->fix);
  } else if (result.failure) {
    add("", result.failure->what);
    add("fix: ", result.failure->remedy);
  }
  return printable(text);
}

}  // namespace

std::optional<SourcePlace> place_in(const SourceTree& tree, const std::string& file, int line,
                                    const std::string& text) {
  if (file.empty() || file.front() == '<') return std::nullopt;
  const auto path = (tree.working_folder / file).lexically_normal();
  const auto below = path.lexically_relative(tree.root);
  const bool is_below = !below.empty() && *below.begin() != ".." && *below.begin() != ".";
  return SourcePlace{(is_below ? below : path).string(), is_below, line, text};
}

std::vector<Problem> problems_of(const std::vector<ReportCase>& cases, const SourceTree& tree) {
  std::vector<Problem> problems;
  for (const auto& report_case : cases) {
    if (report_case.failure.empty()) continue;
    const auto& result = *report_case.result;
    const auto severity = result.verdict == Verdict::inconclusive ? Severity::warning : Severity::error;
    const auto add = [&](const Finding* finding) {
      problems.push_back({&result, finding, severity, rule_of(result, finding), message_of(report_case, finding),
                          place_of(result, finding, tree)});
    };
    const auto count = problems.size();
    for (std::size_t i = 0; i < result.findings.size(); ++i) {
      if (i >= report_case.is_known.size() || !report_case.is_known[i]) add(&result.findings[i]);
    }
    if (problems.size() == count) add(nullptr);
  }
  return problems;
}

}  // namespace stepleak
