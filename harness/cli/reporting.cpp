// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/cli/reporting.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <system_error>

#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/cli/known_leaks.hpp"
#include "harness/cli/no_memory.hpp"
#include "harness/explain/source_excerpts.hpp"
#include "harness/report/console.hpp"
#include "harness/report/html.hpp"
#include "harness/trace/serialise.hpp"

namespace stepleak {
namespace {

// Of what was printed; 0: nothing was lost.
int print_error = 0;

int rank_of(ExitCode code) {
  static constexpr ExitCode kOrder[] = {ExitCode::clean, ExitCode::inconclusive, ExitCode::leak, ExitCode::failure,
                                        ExitCode::wrong_use};
  return static_cast<int>(std::find(std::begin(kOrder), std::end(kOrder), code) - std::begin(kOrder));
}

std::string failure_of(const Result& result, bool is_strict) {
  if (result.verdict != Verdict::clean) return summary_of(result);
  return is_strict && !result.notes.empty() ? result.notes.front() : "";
}

ExitCode code_of(const Result& result, bool is_strict) {
  const auto code = exit_code(result.verdict);
  return code == ExitCode::clean && is_strict && !result.notes.empty() ? ExitCode::leak : code;
}

// What went into a pipe or a device is read by now.
bool stays(const std::string& file) {
  std::error_code unusable;
  return std::filesystem::symlink_status(file, unusable).type() == std::filesystem::file_type::regular;
}

ConsoleOptions looks_of(const ReportOptions& options) {
  const auto descriptor = is_stdout_taken(options) ? STDERR_FILENO : STDOUT_FILENO;
  return {.use_colours = use_colours(options.colours, descriptor), .columns = columns_of_terminal(descriptor)};
}

}  // namespace

std::string json_of(const std::vector<const Result*>& results) {
  if (results.size() == 1) return to_json(*results.front());
  std::string text = "[\n";
  for (std::size_t i = 0; i < results.size(); ++i) text += (i > 0 ? ",\n" : "") + to_json(*results[i]);
  return text + "]\n";
}

void add_output_option(CLI::App& verb, const std::string& name, std::string& file, const std::string& help) {
  const auto is_named = [](const std::string& given) {
    return given.empty() ? std::string("no file is named: give a path, or leave the option out") : std::string();
  };
  verb.add_option(name, file, help)->check(is_named);
}

void add_report_options(CLI::App& verb, ReportOptions& options) {
  add_output_option(verb, "--json", options.json_file, "write the whole result here");
  add_output_option(verb, "--html", options.html_file, "write a page with pictures here, one file for a browser");
  add_ci_options(verb, options);
  verb.add_flag("--strict", options.is_strict, "notes fail too");
}

std::vector<std::string> output_files(const ReportOptions& options) {
  return {options.json_file,  options.html_file,         options.junit_file,
          options.sarif_file, options.code_quality_file, options.trace_file};
}

bool is_stdout_taken(const ReportOptions& options) {
  const auto files = output_files(options);
  return std::find(files.begin(), files.end(), kStandardOutput) != files.end();
}

void print_text(const std::string& text, const ReportOptions& options) {
  auto* stream = is_stdout_taken(options) ? stderr : stdout;
  const bool is_whole = std::fwrite(text.data(), 1, text.size(), stream) == text.size() && std::fflush(stream) == 0;
  if (!is_whole && errno != EPIPE) print_error = errno;
}

ExitCode printed(ExitCode code) {
  if (std::fflush(stdout) != 0 && errno != EPIPE) print_error = errno;
  if (print_error == 0) return code;
  tell(fmt::format("standard output did not take the whole report: {}", std::strerror(print_error)));
  return worst_of(code, ExitCode::failure);
}

void print_aside(std::string_view text) { (void)std::fwrite(text.data(), 1, text.size(), stderr); }

void tell(std::string_view what, std::string_view remedy) {
  // An error may quote a file's line of megabytes.
  constexpr std::size_t kMost = 8 << 10;
  const auto rest = what.size() > kMost ? fmt::format(" ... ({} bytes more)", what.size() - kMost) : std::string();
  print_aside(fmt::format("stepleak: {}{}\n", printable(what.substr(0, kMost)), rest));
  if (!remedy.empty()) print_aside(fmt::format("  remedy: {}\n", printable(remedy)));
}

Error as_error(const std::exception& error) {
  if (const auto* known = dynamic_cast<const Error*>(&error); known != nullptr) return *known;
  if (dynamic_cast<const std::bad_alloc*>(&error) == nullptr) return failure_error(error.what());
  return failure_error("there is no memory left", "free some, or run less at once: --jobs 1");
}

void tell(const std::exception& error) {
  const auto known = as_error(error);
  tell(known.what(), known.remedy());
}

bool is_done(const std::function<void()>& work) {
  const NoMemoryEnd guard;
  try {
    work();
    return true;
  } catch (const std::exception& error) {
    tell(error);
    return false;
  }
}

void print_whole(const std::function<void()>& print) {
  if (!is_done(print)) print_error = ENOMEM;
}

void print_result(const Result& result, const ReportOptions& options) {
  print_text(to_console(result, looks_of(options)), options);
}

ExitCode worst_of(ExitCode a, ExitCode b) { return rank_of(a) > rank_of(b) ? a : b; }

ReportEnd write_reports(const std::vector<Result>& results, const std::string& suite, const ReportOptions& options,
                        const ConsoleOptions& looks) {
  auto worst = ExitCode::clean;
  std::string written;
  const auto fail = [&worst] { worst = worst_of(worst, ExitCode::failure); };
  KnownLeaks known;
  const auto all = [&results] {
    std::vector<const Result*> pointers;
    for (const auto& result : results) pointers.push_back(&result);
    return pointers;
  };
  try {
    known = known_leaks(options.known_file, all());
    for (const auto& line : known.lines) print_aside(fmt::format("  known   {}\n", printable_line(line)));
  } catch (const std::exception& error) {
    // The files are written all the same: what was run is not to be lost.
    tell(error);
    const auto* told = dynamic_cast<const Error*>(&error);
    worst = told != nullptr ? told->code() : ExitCode::failure;
  }
  if (known.has_expired) worst = ExitCode::leak;
  const auto write_cases = [&] {
    std::vector<ReportCase> cases;
    for (std::size_t i = 0; i < results.size(); ++i) {
      cases.push_back(
          {&results[i], known.excuses(i) ? "" : failure_of(results[i], options.is_strict), known.findings_of(i)});
    }
    if (!write_ci_files(cases, suite, options)) fail();
  };
  if (!is_done(write_cases)) fail();
  const auto write = [&](const std::string& file, const auto& text) {
    if (file.empty()) return;
    if (!is_done([&] { write_file(file, text()); })) return fail();
    if (stays(file)) written += (written.empty() ? "" : "  ") + file;
  };
  write(options.json_file, [&] { return json_of(all()); });
  write(options.html_file, [&] {
    std::vector<HtmlRun> runs;
    for (const auto& result : results) runs.push_back({&result, source_excerpts(result)});
    return to_html(runs);
  });
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!known.excuses(i)) worst = worst_of(worst, code_of(results[i], options.is_strict));
  }
  return {worst, written.empty() ? std::string() : report_line("more", printable_line(written), looks)};
}

ExitCode report_results(const std::vector<Result>& results, const std::string& suite, const ReportOptions& options) {
  const auto [code, more] = write_reports(results, suite, options, looks_of(options));
  if (!more.empty()) print_text(more, options);
  return code;
}

bool takes_escapes(int descriptor) {
  const auto value_of = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value != nullptr ? value : "");
  };
  const auto terminal = value_of("TERM");
  return ::isatty(descriptor) != 0 && !terminal.empty() && terminal != "dumb" && value_of("NO_COLOR").empty();
}

std::size_t columns_of_terminal(int descriptor) {
  winsize size{};
  return ::isatty(descriptor) != 0 && ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string row_of_scenario(std::string_view indent, const std::string& name, const std::string& rest, int descriptor,
                            std::size_t table_columns) {
  const auto columns = columns_of_terminal(descriptor);
  if (columns > 0 && columns < table_columns) {
    auto packed = rest;
    const auto are_blanks = [](char a, char b) { return a == ' ' && b == ' '; };
    packed.erase(std::unique(packed.begin(), packed.end(), are_blanks), packed.end());
    return fmt::format("{0}{1}\n{0}  {2}\n", indent, printable_line(name), packed);
  }
  return fmt::format("{}{:<48} {}\n", indent, printable_line(name), rest);
}

bool use_colours(const std::string& choice, int descriptor) {
  return choice == "always" || (choice == "auto" && takes_escapes(descriptor));
}

}  // namespace stepleak
