// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include "harness/base/text.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/gate.hpp"
#include "harness/cli/reporting.hpp"
#include "harness/report/console.hpp"

namespace stepleak {
namespace {

void print_difference(const GateEntry& entry) {
  print_text(fmt::format("{}: {}\n", printable_line(entry.result.target), to_string(entry.comparison.change)));
  for (const auto& difference : entry.comparison.differences) {
    print_text(hanging_text("  ", printable_line(difference), columns_of_terminal(STDOUT_FILENO)));
  }
}

// Why a run cannot become the accepted behaviour; empty where it can.
std::string refusal_of(const GateEntry& entry) {
  if (entry.result.verdict == Verdict::failure) return "it failed";
  if (entry.result.verdict == Verdict::inconclusive) return "it has no verdict";
  if (!entry.others.empty()) {
    return fmt::format("a scenario in {} has its name: rename one, or remove the baseline if it moved", entry.others);
  }
  return entry.contradiction;
}

// Says what becomes of a baseline without a scenario, and does it.
void end_gone(const BaselineStore& store, const GateEntry& entry, bool prunes) {
  const auto& name = entry.result.target;
  const auto file = store.file_of(name).string();
  const auto stored = store.load(name);
  std::string reason;
  if (!stored) reason = "it leads nowhere";
  if (stored && stored->scenarios.empty()) {
    reason = "it does not say whose it is; remove it yourself if no scenario needs it";
  }
  // That folder may only be missing here.
  if (stored && entry.is_moved) reason = "remove it yourself if no scenario needs it";
  const bool is_removed = prunes && reason.empty();
  if (is_removed) store.remove(name);
  const auto end = is_removed ? "removed: " + file
                              : fmt::format("stays: {}; {}", file, reason.empty() ? "--prune removes it" : reason);
  print_text(fmt::format("  {}\n", printable_line(end)));
}

ExitCode update(const GateOptions& options, bool prunes) {
  if (prunes && !are_of_one_project(options)) {
    throw usage_error("--prune would remove baselines that belong to the scenarios of another project",
                      "name the --baselines of these --scenarios");
  }
  const auto store = store_of(options);
  store.check_writable();
  const auto run = run_gate(options);
  auto code = ExitCode::clean;
  print_text("\n");
  for (const auto& entry : run.entries) {
    const auto change = entry.comparison.change;
    if (change == Change::same && entry.comparison.differences.empty() && !entry.is_moved) continue;
    print_difference(entry);
    if (change == Change::gone) {
      const auto end = [&] { end_gone(store, entry, prunes); };
      if (!is_done(end)) code = worst_of(code, ExitCode::failure);
      continue;
    }
    if (const auto refusal = refusal_of(entry); !refusal.empty()) {
      print_text(fmt::format("  refused: {}\n{}", refusal, to_console(entry.result)));
      code = worst_of(code, entry.result.verdict == Verdict::failure ? ExitCode::failure : ExitCode::leak);
      continue;
    }
    // One that cannot be written costs no other's.
    if (!is_done([&] { store.save(entry.now); })) code = worst_of(code, ExitCode::failure);
  }
  print_left_out(run, {});
  print_text(fmt::format("baselines are in {}\n", printable_line(store.file_of("x").parent_path().string())));
  return code;
}

ExitCode show(const GateOptions& options, const std::string& name) {
  const auto store = store_of(options);
  if (name.find('/') != std::string::npos) {
    throw usage_error(fmt::format("'{}' is no scenario's name", name), "stepleak baseline show lists all");
  }
  if (!name.empty()) {
    const auto baseline = store.load(name);
    if (!baseline) throw usage_error(fmt::format("'{}' has no baseline", name), "stepleak baseline show lists all");
    print_text(printable(to_json(*baseline)));
    return ExitCode::clean;
  }
  for (const auto& scenario : store.scenarios()) {
    const auto baseline = store.load(scenario);
    if (!baseline) {
      throw failure_error(fmt::format("cannot read {}: it leads nowhere", store.file_of(scenario).string()),
                          "remove it");
    }
    std::string kinds;
    for (const auto& kind : baseline->kinds) kinds += " " + kind;
    constexpr std::size_t kTableColumns = 90;
    const auto rest = fmt::format("{:<12}{}", to_string(baseline->verdict), printable_line(kinds));
    print_text(row_of_scenario("", scenario, rest, STDOUT_FILENO, kTableColumns));
  }
  return ExitCode::clean;
}

ExitCode diff(const GateOptions& options) {
  auto code = ExitCode::clean;
  const auto run = run_gate(options);
  print_text("\n");
  for (const auto& entry : run.entries) {
    if (entry.comparison.differences.empty()) continue;
    print_difference(entry);
    if (entry.comparison.change != Change::same) code = ExitCode::leak;
  }
  print_left_out(run, {});
  return code;
}

}  // namespace

void add_baseline_command(CLI::App& app, Command& chosen) {
  auto* verb = app.add_subcommand("baseline", "Accept, show or compare the stored behaviour of scenarios");
  verb->require_subcommand(1);
  auto options = std::make_shared<GateOptions>();
  auto name = std::make_shared<std::string>();
  auto* update_verb = verb->add_subcommand("update", "Run scenarios and store what they do; shows every difference");
  add_gate_options(*update_verb, *options);
  auto prunes = std::make_shared<bool>(false);
  update_verb->add_flag("--prune", *prunes,
                        "remove baselines of these scenarios that have none any more; where the whole suite runs");
  update_verb->footer(
      "Refuses what has no verdict, and what contradicts the scenario.\n"
      "Example: stepleak baseline update --suite 'loss_*'");
  update_verb->callback(
      [&chosen, options, prunes] { chosen = [options, prunes] { return update(*options, *prunes); }; });
  auto* show_verb = verb->add_subcommand("show", "Print the stored baselines, or one of them whole");
  show_verb->add_option("scenario", *name, "a scenario's name; all in short where none is given");
  show_verb->add_option("--baselines", options->baseline_folder, "folder with one folder a device class");
  show_verb->add_option("--device", options->run.options.device, "whose baselines: auto, cpu, cuda or cuda:N")
      ->capture_default_str();
  show_verb->footer("Example: stepleak baseline show loss_sum_attached");
  show_verb->callback([&chosen, options, name] { chosen = [options, name] { return show(*options, *name); }; });
  auto* diff_verb =
      verb->add_subcommand("diff", "Run scenarios and print what differs, storing nothing; exit 1 if any");
  add_gate_options(*diff_verb, *options);
  diff_verb->footer("Example: stepleak baseline diff --suite 'cpp_*'");
  diff_verb->callback([&chosen, options] { chosen = [options] { return diff(*options); }; });
}

}  // namespace stepleak
