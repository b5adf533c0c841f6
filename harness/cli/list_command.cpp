// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <sstream>

#include "harness/base/text.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/reporting.hpp"
#include "harness/cli/settings.hpp"
#include "harness/cli/target.hpp"
#include "harness/report/console.hpp"

namespace stepleak {
namespace {

// The table's columns; a terminal that is narrower gets two lines a scenario.
constexpr std::size_t kTableColumns = 110;

ExitCode list(const std::string& folder, const std::string& glob, bool with_stories) {
  const auto suite = Suite::declared_in(scenario_folder_of(folder));
  const auto columns = columns_of_terminal(STDOUT_FILENO);
  for (const auto& scenario : suite.named(glob)) {
    const auto kind = scenario.kinds.empty() ? std::string() : std::string(to_string(scenario.kinds.front()));
    // The last column is the report.
    const auto needs = scenario.needs.empty() ? "" : fmt::format("needs {}  ", fmt::join(scenario.needs, ", "));
    const auto rest = fmt::format("{:<8} {:<20} {:<4} {}{}", to_string(scenario.expected), kind,
                                  scenario.needs_cuda ? "gpu" : "", needs, printable_line(scenario.report));
    print_text(row_of_scenario("", scenario.name, rest, STDOUT_FILENO, kTableColumns));
    if (!with_stories) continue;
    std::istringstream story(scenario.story);
    for (std::string line; std::getline(story, line);) print_text(hanging_text("    ", printable_line(line), columns));
  }
  for (const auto& broken : suite.broken())
    tell(fmt::format("{} does not load: {}", broken.file, broken.what), "run it with python3");
  return suite.broken().empty() ? ExitCode::clean : ExitCode::failure;
}

}  // namespace

void add_list_command(CLI::App& app, Command& chosen) {
  auto* verb = app.add_subcommand(
      "list", "List the scenarios with their truth, the report that they reproduce and what they need; gpu: one");
  auto folder = std::make_shared<std::string>();
  auto glob = std::make_shared<std::string>("*");
  auto stories = std::make_shared<bool>(false);
  verb->add_option("glob", *glob, "names to list")->capture_default_str();
  verb->add_option("--scenarios", *folder, kScenarioFolderHelp);
  verb->add_flag("--stories", *stories, "print each scenario's story too");
  verb->footer("Example: stepleak list 'loss_*' --stories");
  verb->callback([=, &chosen] { chosen = [=] { return list(*folder, *glob, *stories); }; });
}

}  // namespace stepleak
