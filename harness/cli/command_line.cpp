// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/cli/command_line.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/base/descriptor.hpp"
#include "harness/base/errors.hpp"
#include "harness/base/text.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/no_memory.hpp"
#include "harness/cli/reporting.hpp"
#include "harness/drive/worker.hpp"

namespace {

constexpr const char* kExamples = R"(Examples:
  stepleak run train.py:step                   judge a callable of your own file
  stepleak run loss_sum_attached               judge a scenario by name
  stepleak watch train.py --its --args         judge an unchanged script while it runs
  stepleak run train.py:step --trace T         and keep what the result rests on
  stepleak analyze T                           judge that again, without torch
  stepleak report *.json --html suite.html     results that were stored, as a page for a browser
  stepleak known add result.json --reason R    let a leak be, for --known
  stepleak gate                                all scenarios against their baselines
  stepleak baseline update --suite 'loss_*'    accept what they do now
  stepleak doctor                              what can be observed here
  stepleak init                                settings, an example and a CI file for a project

Exit codes: 0 clean or as the baseline, 1 leak or worse, 2 inconclusive, 3 harness or step failure, 64 wrong use.
)";

int exit_with(stepleak::ExitCode code) { return static_cast<int>(code); }

// Whether --bisect was given, also among arguments that do not parse: that is no bad revision either. What follows the
// script of `stepleak watch` is the script's.
bool is_for_bisect(int argc, char** argv) {
  const bool has_script = argc > 1 && std::string_view(argv[1]) == "watch";
  for (int i = 2; i < argc; ++i) {
    const std::string_view argument(argv[i]);
    if (argument == stepleak::kBisect) return true;
    if (has_script && (argument == "-m" || argument.ends_with(".py"))) return false;
  }
  return false;
}

// `stepleak watch --json F -- train.py --its`: the separator that many write there is none of the script's words.
std::vector<std::string> without_separator(const CLI::App& app, int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words.front() != "watch") return words;
  const auto* verb = app.get_subcommand("watch");
  for (std::size_t i = 1; i < words.size() && words[i].starts_with("-") && words[i] != "-m"; ++i) {
    if (words[i] == "--") {
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(i));
      break;
    }
    const auto* option = verb->get_option_no_throw(words[i]);
    if (option != nullptr && option->get_items_expected_min() > 0) ++i;
  }
  return words;
}

// `git bisect run` takes 125 for "cannot be told", and everything else up to 127 for bad.
int bisect_code(int code) {
  constexpr int kSkip = 125;
  const bool is_told = code == exit_with(stepleak::ExitCode::clean) || code == exit_with(stepleak::ExitCode::leak);
  return is_told || code > 127 ? code : kSkip;
}

// As a shell tells of a program that a signal ended.
int ended_with(stepleak::ExitCode code) {
  return stepleak::stopping_signal() != 0 ? 128 + stepleak::stopping_signal() : exit_with(code);
}

// Help, or what is wrong with the arguments, which it quotes as they were given.
int end_of_parsing(const CLI::App& app, const CLI::ParseError& error) {
  std::ostringstream out;
  std::ostringstream errors;
  const int code = app.exit(error, out, errors);
  fmt::print("{}", out.str());
  fmt::print(stderr, "{}", stepleak::printable(errors.str()));
  return code == 0 ? 0 : exit_with(stepleak::ExitCode::wrong_use);
}

int code_of(int argc, char** argv) try {
  stepleak::open_standard_streams();
  CLI::App app("stepleak repeats a training step and tells whether memory that it takes ever stops growing",
               "stepleak");
  app.set_version_flag("--version", "stepleak " STEPLEAK_VERSION);
  app.require_subcommand(1);
  app.footer(kExamples);
  stepleak::Command chosen;
  stepleak::add_run_command(app, chosen);
  stepleak::add_watch_command(app, chosen);
  stepleak::add_gate_command(app, chosen);
  stepleak::add_baseline_command(app, chosen);
  stepleak::add_analyze_command(app, chosen);
  stepleak::add_report_command(app, chosen);
  stepleak::add_known_command(app, chosen);
  stepleak::add_list_command(app, chosen);
  stepleak::add_doctor_command(app, chosen);
  stepleak::add_init_command(app, chosen);
  stepleak::add_completion_command(app, chosen);
  try {
    auto words = without_separator(app, argc, argv);
    std::reverse(words.begin(), words.end());  // as CLI11 takes them
    app.parse(std::move(words));
  } catch (const CLI::RequiredError& error) {
    // CLI11 tells only that a verb is missing, also where an unknown one was given.
    const bool is_verb = !app.get_subcommands().empty();
    if (argc > 1 && argv[1][0] != '-' && !is_verb) stepleak::tell(fmt::format("there is no verb '{}'", argv[1]));
    return end_of_parsing(app, error);
  } catch (const CLI::ParseError& error) {
    return end_of_parsing(app, error);
  }
  std::error_code gone;
  (void)std::filesystem::current_path(gone);
  if (gone) throw stepleak::failure_error("the working folder does not exist any more", "cd to one that does");
  // A reader that goes away must not take the files with it that are still to be written.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error of the write
  return ended_with(stepleak::printed(chosen()));
} catch (const stepleak::Error& error) {
  stepleak::tell(error);
  return ended_with(error.code());
} catch (const std::exception& error) {
  stepleak::tell(error);
  return exit_with(stepleak::ExitCode::failure);
}

}  // namespace

int stepleak::command_line(int argc, char** argv) {
  const bool bisects = is_for_bisect(argc, argv);
  if (bisects) NoMemoryEnd::set_exit_code(bisect_code(exit_with(ExitCode::failure)));
  const int code = code_of(argc, argv);
  return bisects ? bisect_code(code) : code;
}
