// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "harness/api/options.hpp"
#include "harness/api/policy_of.hpp"
#include "harness/api/result_of.hpp"
#include "harness/base/errors.hpp"
#include "harness/base/files.hpp"
#include "harness/base/memory_file.hpp"
#include "harness/base/text.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/known_leaks.hpp"
#include "harness/cli/layout.hpp"
#include "harness/cli/progress.hpp"
#include "harness/cli/reporting.hpp"
#include "harness/cli/script_device.hpp"
#include "harness/cli/script_record.hpp"
#include "harness/drive/script.hpp"
#include "harness/drive/stop_signals.hpp"
#include "harness/observe/flight_recorder.hpp"
#include "harness/report/console.hpp"
#include "harness/report/outputs.hpp"
#include "harness/trace/policy.hpp"
#include "harness/trace/trace_file.hpp"

namespace stepleak {
namespace {

struct WatchCommand {
  Options options;
  ReportOptions reports;
  std::vector<std::string> script;  ///< FILE.py ARGS..., or -m MODULE ARGS...
  std::string trace_file;
  std::string progress = "auto";
  std::int64_t most_steps = 0;
  bool stops = false;
  bool gives_exit_code = false;
  bool is_for_bisect = false;

  void check() const {
    if (script.empty()) throw usage_error("no script was named", "write: stepleak watch train.py --its --args");
    const auto& first = script.front();
    // Of what could not be the name of an option CLI11 makes an argument.
    if (first != "-m" && first.starts_with("-")) {
      throw usage_error(fmt::format("there is no option {}", first), "see stepleak watch --help");
    }
    if (first == "-m") {
      if (script.size() < 2) throw usage_error("-m names no module", "write: stepleak watch -m package.module --args");
    } else if (std::error_code unusable; !std::filesystem::exists(first, unusable)) {
      throw usage_error(fmt::format("there is no file {}", first),
                        "name a Python file, or a module: stepleak watch -m package.module");
    } else if (std::filesystem::is_directory(first, unusable) &&
               !std::filesystem::exists(std::filesystem::path(first) / "__main__.py", unusable)) {
      throw usage_error(fmt::format("there is no __main__.py in the folder {}", first), "name a Python file in it");
    }
    check_steps(options);
    (void)parse_effort(options.effort);
    auto outputs = output_files(reports);
    outputs.push_back(trace_file);
    for (const auto& output : outputs) {
      if (output == kStandardOutput) throw usage_error("the standard output is the script's", "name a file");
    }
    check_known(reports.known_file);
    check_outputs(outputs, {first, reports.known_file});
    check_device_of_script(options.device);
  }

  [[nodiscard]] std::string name() const { return script.front() == "-m" ? "-m " + script[1] : script.front(); }

  // As harness/python/stepleak/_script.py reads it.
  [[nodiscard]] std::string request(const MemoryFile& recorder, const MemoryFile& messages) const {
    const nlohmann::json options_of_watch{{"target", name()},
                                          {"device", options.device},
                                          {"effort", options.effort},
                                          {"steps", options.steps},
                                          {"min_steps", options.minimum_steps},
                                          {"period", options.period},
                                          {"budget", options.budget_seconds}};
    const nlohmann::json request{{"options", options_of_watch},
                                 {"recorder", recorder.descriptor()},
                                 {"messages", messages.descriptor()},
                                 {"stops", stops},
                                 {"most_steps", most_steps}};
    // A file's name need not be UTF-8.
    return request.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  ExitCode operator()() const {
    check();
    const MemoryFile recorder_file("stepleak-recorder");
    const MemoryFile messages("stepleak-messages");
    const FlightRecorder recorder(recorder_file.descriptor());
    std::vector<std::string> command{layout().python, layout().package_folder / "stepleak/_script.py",
                                     request(recorder_file, messages)};
    command.insert(command.end(), script.begin(), script.end());
    const auto before_exec = [&] {
      recorder_file.share();
      messages.share();
      unset_for_import();
    };
    // The terminal is the script's: nothing is said in between unless it was asked for.
    const auto style = progress == "auto" ? ProgressStyle::never : progress_style(progress);
    Progress line(1, policy_of(options), style);
    const auto meanwhile = [&] { line.show(0, name(), recorder); };
    const auto end =
        run_script(command, before_exec, style == ProgressStyle::never ? std::function<void()>() : meanwhile);
    const StopSignals signals;  // what it came to is still to be written
    line.clear();
    auto told = read_messages(messages.tail(std::size_t{1} << 30));
    if (!told.record && told.why_none.empty() && end.signal == 0 && recorder.step() == 0) {
      told.why_none =
          "no step was found: the process ended without Python's exit, by os._exit(), or as another program that it "
          "became by os.exec...(); put stepleak watch before the script that is run then";
    }
    const auto code = report(recorded(told, recorder, end), told);
    // A script that fails on its own leaks no more for that.
    const bool has_failed = end.signal != 0 || end.exit_code != 0;
    if (is_for_bisect) return has_failed && code != ExitCode::leak ? ExitCode::failure : code;
    if (end.signal != 0) end_by_signal(end.signal);
    if (end.exit_code != 0) std::exit(end.exit_code);
    return code;
  }

  [[nodiscard]] RunRecord recorded(const ScriptMessages& told, const FlightRecorder& recorder,
                                   const ScriptEnd& end) const {
    // Where its watch ended without a record, what the recorder has is of no use.
    auto record = told.record             ? *told.record
                  : told.why_none.empty() ? record_of_end(recorder, end)
                                          : RunRecord{.seconds = end.seconds};
    record.target = name();
    if (told.record && record.failure) record.failure->reason = "the script ended by an exception";
    if (!told.how.empty()) record.conditions["steps found by"] = told.how;
    return record;
  }

  [[nodiscard]] ExitCode report(const RunRecord& record, const ScriptMessages& told) const {
    auto result = result_of(record);
    if (result.verdict == Verdict::inconclusive && !told.why_none.empty()) result.reason = told.why_none;
    const ConsoleOptions looks{.use_colours = use_colours(reports.colours, STDERR_FILENO),
                               .columns = columns_of_terminal(STDERR_FILENO)};
    auto text = to_console(result, looks);
    if (!told.how.empty()) text += report_line("steps", printable_line(told.how), looks);
    // The other stream is the script's.
    print_aside(text);
    auto [code, more] = write_reports({result}, "stepleak watch", reports, looks);
    print_aside(more);
    if (!trace_file.empty() && !is_done([&] { write_trace_file(trace_file, {record}); })) code = ExitCode::failure;
    const bool is_written_all = code != ExitCode::failure || result.verdict == Verdict::failure;
    return stops || gives_exit_code || is_for_bisect || !is_written_all ? code : ExitCode::clean;
  }
};

}  // namespace

void add_watch_command(CLI::App& app, Command& chosen) {
  auto* verb = app.add_subcommand("watch", "Judge an unchanged script while it runs");
  auto command = std::make_shared<WatchCommand>();
  // The first word that is none of ours, and all behind it, is the script and what belongs to it.
  verb->prefix_command();
  add_judging_options(*verb, command->options);
  verb->add_flag("--stop", command->stops, "end the script at a boundary once it is decided; exit with the verdict");
  verb->add_option("--max-steps", command->most_steps, "end the script after so many steps; 0: do not")
      ->check(CLI::Range(std::int64_t{0}, kMostSteps))
      ->capture_default_str();
  verb->add_flag("--exit-code", command->gives_exit_code, "exit with the verdict where the script exits with 0");
  add_progress_option(*verb, command->progress);
  add_bisect_option(*verb);
  add_report_options(*verb, command->reports);
  add_output_option(*verb, "--trace", command->trace_file, "keep what the result rests on here, for stepleak analyze");
  verb->footer(
      "Then the script and its arguments: FILE.py ARGS... or -m MODULE ARGS...\n"
      "It runs as under python; its exit code is kept, and the report goes to stderr.\n"
      "Example: stepleak watch --json result.json train.py --epochs 3");
  verb->callback([&chosen, command, verb] {
    command->script = verb->remaining();
    command->is_for_bisect = verb->count(kBisect) > 0;
    chosen = *command;
  });
}

}  // namespace stepleak
