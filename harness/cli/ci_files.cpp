// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// What CI systems read of results: files that are asked for, and lines in a job's log.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "harness/base/files.hpp"
#include "harness/cli/reporting.hpp"
#include "harness/report/annotations.hpp"
#include "harness/report/code_quality.hpp"
#include "harness/report/junit.hpp"
#include "harness/report/sarif.hpp"

namespace stepleak {
namespace {

// CI systems name files from the root of the repository, wherever in it the command runs.
SourceTree source_tree() {
  std::error_code ignored;
  const auto here = std::filesystem::current_path(ignored);
  for (auto folder = here; folder.has_relative_path(); folder = folder.parent_path()) {
    if (std::filesystem::exists(folder / ".git", ignored)) return {folder, here};
  }
  return {here, here};
}

bool is_github() {
  const char* value = std::getenv("GITHUB_ACTIONS");
  return value != nullptr && std::string_view(value) == "true";
}

}  // namespace

void add_ci_options(CLI::App& verb, ReportOptions& options) {
  add_output_option(verb, "--junit", options.junit_file, "write a JUnit file here");
  add_output_option(verb, "--sarif", options.sarif_file, "write a SARIF file here, for code scanning");
  add_output_option(verb, "--code-quality", options.code_quality_file, "write a code quality report of GitLab's here");
  verb.add_option("--known", options.known_file, "leaks that are let be, with their reasons (docs/known-leaks.md)")
      ->check(CLI::ExistingFile);
  verb.add_option("--colour", options.colours, "auto, always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

bool write_ci_files(const std::vector<ReportCase>& cases, const std::string& suite, const ReportOptions& options) {
  bool is_whole = true;
  const auto write = [&](const std::string& file, const std::function<std::string()>& text) {
    if (!file.empty() && !is_done([&] { write_file(file, text()); })) is_whole = false;
  };
  write(options.junit_file, [&] { return to_junit(suite, cases); });
  const auto write_problems = [&] {
    const auto tree = source_tree();
    const auto problems = problems_of(cases, tree);
    // Not to standard output, where a file may go; GitHub reads both.
    if (is_github()) print_aside(to_annotations(problems));
    write(options.sarif_file, [&] { return to_sarif(problems, tree); });
    write(options.code_quality_file, [&] { return to_code_quality(problems); });
  };
  return is_done(write_problems) && is_whole;
}

}  // namespace stepleak
