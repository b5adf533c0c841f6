// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/base/errors.hpp"
#include "harness/report/console.hpp"
#include "harness/report/report_case.hpp"
#include "harness/trace/result.hpp"

namespace CLI {
class App;
}

namespace stepleak {

/// What every verb that ends in results does with them.
struct ReportOptions {
  std::string json_file;
  std::string junit_file;
  std::string sarif_file;
  std::string code_quality_file;
  std::string html_file;
  std::string trace_file;  ///< of run alone, which writes it
  std::string known_file;
  std::string colours = "auto";
  bool is_strict = false;
};

/// An option that names a file to write. Empty, as what comes of a shell's variable that is not set, is wrong use.
void add_output_option(CLI::App& verb, const std::string& name, std::string& file, const std::string& help);

/// --json, --html, --strict, and what add_ci_options() adds.
void add_report_options(CLI::App& verb, ReportOptions& options);

/// --junit, --sarif, --code-quality, --known and --colour: of a gate, too.
void add_ci_options(CLI::App& verb, ReportOptions& options);

/// What --json writes: one result as it is, several as a list.
[[nodiscard]] std::string json_of(const std::vector<const Result*>& results);

/// The files that are asked for, for check_outputs().
[[nodiscard]] std::vector<std::string> output_files(const ReportOptions& options);

/// Prints to standard output, or where a file goes there ("-") to standard error. A reader that is gone costs no
/// result.
void print_text(const std::string& text, const ReportOptions& options = {});

/// The exit code, made a failure where standard output could not take all that was printed (a full disk): a verdict
/// that nobody can read is not to pass unseen. A reader that is gone wanted no more of it. Last of all.
[[nodiscard]] ExitCode printed(ExitCode code);

/// Writes to stderr, if that takes it: where it is closed or full there is nobody to tell.
void print_aside(std::string_view text);

/// Says on standard error what is wrong and what to do, with nothing in it that could drive a terminal.
void tell(std::string_view what, std::string_view remedy = {});

/// What was thrown, as an error of ours; no memory in words.
[[nodiscard]] Error as_error(const std::exception& error);

/// The same of what was thrown.
void tell(const std::exception& error);

/// What came of a piece of work, such as writing one file: says what went wrong on standard error, and whether anything
/// did.
[[nodiscard]] bool is_done(const std::function<void()>& work);

/// Prints a part of the report; where that fails (no memory), it says so, and printed() makes a failure of it.
void print_whole(const std::function<void()>& print);

/// Prints one result as a person reads it, but for the files that have more of it: they are not written yet.
void print_result(const Result& result, const ReportOptions& options);

/// Writes what CI systems read, all files that can be; under GitHub Actions also its annotations, to standard error.
/// Whether all was written.
[[nodiscard]] bool write_ci_files(const std::vector<ReportCase>& cases, const std::string& suite,
                                  const ReportOptions& options);

/// Whether reports go to standard error, since a file goes to standard output.
[[nodiscard]] bool is_stdout_taken(const ReportOptions& options);

/// What came of reported results.
struct ReportEnd {
  ExitCode code;     ///< of the worst: a failure hides behind no leak, a leak behind no doubt, and a known leak is none
  std::string more;  ///< the report's last line, which names the files for people that were written; empty: none was
};

/// Writes the files, all that can be; one that cannot is a failure. `looks`: of the report.
[[nodiscard]] ReportEnd write_reports(const std::vector<Result>& results, const std::string& suite,
                                      const ReportOptions& options, const ConsoleOptions& looks);

/// The same, and prints the last line behind results that were printed. Gives the exit code.
[[nodiscard]] ExitCode report_results(const std::vector<Result>& results, const std::string& suite,
                                      const ReportOptions& options);

/// The worse of two: 64, 3, 1, 2, 0.
[[nodiscard]] ExitCode worst_of(ExitCode a, ExitCode b);

/// Whether escape sequences may go there: to a terminal that knows them (TERM), unless NO_COLOR forbids it.
[[nodiscard]] bool takes_escapes(int descriptor);

/// How wide the terminal behind this stream is; 0 where there is none, or it does not say so.
[[nodiscard]] std::size_t columns_of_terminal(int descriptor);

/// A row of a table whose first column are names of scenarios. A terminal narrower than `table_columns` gets the rest
/// of each in a row of its own.
[[nodiscard]] std::string row_of_scenario(std::string_view indent, const std::string& name, const std::string& rest,
                                          int descriptor, std::size_t table_columns);

/// Whether to colour this stream: "always", "never", or "auto" where it takes escape sequences.
[[nodiscard]] bool use_colours(const std::string& choice, int descriptor);

}  // namespace stepleak
