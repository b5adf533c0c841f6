// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/gate.hpp"
#include "harness/cli/known_leaks.hpp"
#include "harness/cli/reporting.hpp"
#include "harness/drive/worker.hpp"
#include "harness/explain/source_excerpts.hpp"
#include "harness/report/console.hpp"
#include "harness/report/html.hpp"
#include "harness/report/outputs.hpp"

namespace stepleak {
namespace {

struct GateCommand {
  GateOptions options;
  bool fails_on_other_key = false;

  // Why an entry turns the gate red; empty where it does not.
  [[nodiscard]] std::string failure_of(const GateEntry& entry) const {
    const auto change = entry.comparison.change;
    const bool is_red = change == Change::worse || change == Change::fresh || change == Change::gone ||
                        (change == Change::other_key && fails_on_other_key) || entry.result.verdict == Verdict::failure;
    if (!is_red) return {};
    std::string text(to_string(change));
    for (const auto& difference : entry.comparison.differences) text += fmt::format("; {}", difference);
    return text;
  }

  [[nodiscard]] ExitCode code_of(const std::vector<GateEntry>& entries, const KnownLeaks& known) const {
    bool is_worse = known.has_expired;
    bool is_doubtful = false;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto& entry = entries[i];
      if (failure_of(entry).empty() || known.excuses(i)) continue;
      if (entry.result.verdict == Verdict::failure) return ExitCode::failure;
      if (entry.result.verdict == Verdict::inconclusive && entry.comparison.change == Change::worse) {
        is_doubtful = true;
      } else {
        is_worse = true;
      }
    }
    if (is_worse) return ExitCode::leak;
    return is_doubtful ? ExitCode::inconclusive : ExitCode::clean;
  }

  [[nodiscard]] std::vector<std::string> files_read() const {
    std::vector<std::string> files{options.reports.known_file};
    const auto outputs = output_files(options.reports);
    const bool is_any_file = std::any_of(outputs.begin(), outputs.end(),
                                         [](const auto& file) { return !file.empty() && file != kStandardOutput; });
    if (!is_any_file) return files;
    const auto store = store_of(options);
    for (const auto& name : store.scenarios()) files.push_back(store.file_of(name));
    return files;
  }

  [[nodiscard]] static std::vector<const Result*> results_of(const std::vector<GateEntry>& entries) {
    std::vector<const Result*> results;
    for (const auto& entry : entries) results.push_back(&entry.result);
    return results;
  }

  [[nodiscard]] static std::vector<HtmlRun> page_of(const std::vector<GateEntry>& entries) {
    std::vector<HtmlRun> runs;
    for (const auto& entry : entries) {
      const auto& [change, differences] = entry.comparison;
      runs.push_back({&entry.result, source_excerpts(entry.result), std::string(to_string(change)), differences});
    }
    return runs;
  }

  template <typename... Values>
  void print(fmt::format_string<Values...> text, Values&&... values) const {
    print_text(fmt::format(text, std::forward<Values>(values)...), options.reports);
  }

  void print_differences(const std::vector<GateEntry>& entries, const KnownLeaks& known, bool is_coloured) const {
    const auto columns = columns_of_terminal(is_stdout_taken(options.reports) ? STDERR_FILENO : STDOUT_FILENO);
    print("\n");
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto& entry = entries[i];
      const auto failure = known.excuses(i) ? std::string() : failure_of(entry);
      if (entry.comparison.differences.empty() && failure.empty()) continue;
      print("{}{}: {}{}\n", is_coloured && !failure.empty() ? "\x1b[31m" : "", printable_line(entry.result.target),
            to_string(entry.comparison.change), is_coloured && !failure.empty() ? "\x1b[0m" : "");
      for (const auto& difference : entry.comparison.differences)
        print("{}", hanging_text("  ", printable_line(difference), columns));
      if (!failure.empty() && entry.comparison.change != Change::gone)
        print("{}", to_console(entry.result, {is_coloured, columns}));
    }
    for (const auto& line : known.lines) print("{}", hanging_text("  known   ", printable_line(line), columns));
  }

  void print_summary(const GateRun& run, ExitCode code, double seconds) const {
    std::map<std::string_view, int> counts;
    for (const auto& entry : run.entries) ++counts[to_string(entry.comparison.change)];
    std::string summary;
    for (const auto& [name, count] : counts) summary += fmt::format(" · {} {}", count, name);
    if (!run.left_out.empty()) summary += fmt::format(" · {} left out", run.left_out.size());
    print("gate {}: {} scenarios{} · {:.1f} s\n", code == ExitCode::clean ? "green" : "red", run.entries.size(),
          summary, seconds);
    print_left_out(run, options.reports);
    if (code != ExitCode::clean) print("  what is right after all: stepleak baseline update\n");
  }

  ExitCode operator()() const {
    check_known(options.reports.known_file);
    check_outputs(output_files(options.reports), files_read());
    const auto start = std::chrono::steady_clock::now();
    const auto run = run_gate(options);
    const auto& entries = run.entries;
    const bool is_coloured =
        use_colours(options.reports.colours, is_stdout_taken(options.reports) ? STDERR_FILENO : STDOUT_FILENO);
    KnownLeaks known;
    const auto read_known = [&] { known = known_leaks(options.reports.known_file, results_of(entries)); };
    // What goes wrong from here on costs what it was about, and the rest is said and written all the same.
    const bool is_known_read = is_done(read_known);
    print_whole([&] { print_differences(entries, known, is_coloured); });
    auto code = ExitCode::failure;
    std::vector<ReportCase> cases;
    const auto judge = [&] {
      code = code_of(entries, known);
      for (std::size_t i = 0; i < entries.size(); ++i) {
        cases.push_back({&entries[i].result, known.excuses(i) ? "" : failure_of(entries[i]), known.findings_of(i)});
      }
      if (!write_ci_files(cases, "stepleak gate", options.reports)) code = ExitCode::failure;
    };
    if (!is_done(judge)) code = ExitCode::failure;
    const auto& json = options.reports.json_file;
    if (!json.empty() && !is_done([&] { write_file(json, json_of(results_of(entries))); })) code = ExitCode::failure;
    const auto& page = options.reports.html_file;
    if (!page.empty() && !is_done([&] { write_file(page, to_html(page_of(entries))); })) code = ExitCode::failure;
    // What a signal kept from its turn may be worse.
    if (!is_known_read || stopping_signal() != 0) code = worst_of(code, ExitCode::failure);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    print_whole([&] { print_summary(run, code, seconds); });
    return code;
  }
};

}  // namespace

void add_gate_command(CLI::App& app, Command& chosen) {
  auto* verb = app.add_subcommand("gate", "Run scenarios and compare them with their baselines; for nightly CI");
  auto command = std::make_shared<GateCommand>();
  add_gate_options(*verb, command->options);
  add_ci_options(*verb, command->options.reports);
  add_output_option(*verb, "--json", command->options.reports.json_file, "write the results here, as run does");
  verb->add_option("--html", command->options.reports.html_file,
                   "write a page with all runs and their differences here");
  verb->add_flag("--fail-on-other-key", command->fails_on_other_key, "a baseline of another machine or version fails");
  verb->footer("Green: every scenario behaves as its baseline, or better. Example: stepleak gate --shard 1/4");
  verb->callback([&chosen, command] { chosen = *command; });
}

}  // namespace stepleak
