// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/explain/source_excerpts.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace stepleak {
namespace {

constexpr int kLinesAround = 6;
constexpr std::size_t kMostExcerpts = 6;
constexpr std::size_t kLongestLine = 400;  // of a generated file

void add_excerpt(std::vector<SourceExcerpt>& excerpts, const std::string& file, int line, const std::string& role) {
  const bool is_known = std::any_of(excerpts.begin(), excerpts.end(),
                                    [&](const auto& known) { return known.file == file && known.line == line; });
  std::error_code unusable;
  if (is_known || line <= 0 || excerpts.size() == kMostExcerpts || !std::filesystem::is_regular_file(file, unusable)) {
    return;
  }
  SourceExcerpt excerpt{.file = file, .line = line, .role = role, .first = std::max(1, line - kLinesAround)};
  std::ifstream source(file);
  std::string text;
  for (int number = 1; number <= line + kLinesAround && std::getline(source, text); ++number) {
    if (number >= excerpt.first) excerpt.lines.push_back(text.substr(0, kLongestLine));
  }
  if (static_cast<int>(excerpt.lines.size()) > line - excerpt.first) excerpts.push_back(std::move(excerpt));
}

}  // namespace

std::vector<SourceExcerpt> source_excerpts(const Result& result) {
  std::vector<SourceExcerpt> excerpts;
  for (const auto& finding : result.findings) {
    if (!finding.where.empty()) {
      add_excerpt(excerpts, finding.where.front().file, finding.where.front().line, "where it is made");
    }
    add_excerpt(excerpts, finding.kept_by.file, finding.kept_by.line, "where it is kept");
    add_excerpt(excerpts, finding.structure.file, finding.structure.line, "what bounds it");
  }
  return excerpts;
}

}  // namespace stepleak
