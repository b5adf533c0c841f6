// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "harness/base/errors.hpp"

namespace CLI {
class App;
}

namespace stepleak {

/// What a verb does once its options are parsed.
using Command = std::function<ExitCode()>;

/// Each adds one verb to the application and sets `chosen` when the user picks it.
void add_run_command(CLI::App& app, Command& chosen);
void add_watch_command(CLI::App& app, Command& chosen);
void add_gate_command(CLI::App& app, Command& chosen);
void add_baseline_command(CLI::App& app, Command& chosen);
void add_list_command(CLI::App& app, Command& chosen);
void add_doctor_command(CLI::App& app, Command& chosen);
void add_analyze_command(CLI::App& app, Command& chosen);
void add_known_command(CLI::App& app, Command& chosen);
void add_report_command(CLI::App& app, Command& chosen);
void add_init_command(CLI::App& app, Command& chosen);
/// Last of all: it completes the verbs that are there.
void add_completion_command(CLI::App& app, Command& chosen);

struct Options;
struct RunOptions;

/// A trace keeps a value a ledger and step: more would fill any machine's memory.
inline constexpr std::int64_t kMostSteps = 1'000'000'000;

/// The options of every verb that judges steps: --device, --effort, --steps, --min-steps, --period, --budget.
void add_judging_options(CLI::App& verb, Options& options);

/// Exit codes as `git bisect run` takes them; read by the command line itself.
inline constexpr const char* kBisect = "--bisect";
void add_bisect_option(CLI::App& verb);

/// --progress.
void add_progress_option(CLI::App& verb, std::string& choice);

/// The options of every verb that runs targets: --device, --effort, --steps, --timeout, ...
void add_run_options(CLI::App& verb, RunOptions& options);

}  // namespace stepleak
