// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "harness/base/errors.hpp"
#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/known_leaks.hpp"
#include "harness/cli/reporting.hpp"
#include "harness/trace/serialise.hpp"

namespace stepleak {
namespace {

struct KnownAddCommand {
  std::string result_file;
  std::string file = "known-leaks.toml";
  std::string reason;
  std::string link;
  std::string expires;

  [[nodiscard]] std::vector<Result> named_results() const {
    const auto text = read_file(result_file);
    try {
      auto stored = results_from_json(text, result_file);
      if (stored.error) throw Error(*stored.error);
      return std::move(stored.results);
    } catch (const Error& error) {
      throw usage_error(error.what(), error.remedy());
    }
  }

  ExitCode operator()() const {
    const auto results = named_results();
    std::vector<const Result*> pointers;
    for (const auto& result : results) pointers.push_back(&result);
    const auto lock = lock_of_folder(file);
    write_file(file, with_known(file, pointers, reason, link, expires));
    const auto told = fmt::format("{} knows the leaks of {}: give it to --known\n", printable_line(file),
                                  printable_line(result_file));
    if (file == kStandardOutput) {
      print_aside(told);
    } else {
      print_text(told);
    }
    return ExitCode::clean;
  }
};

}  // namespace

void add_known_command(CLI::App& app, Command& chosen) {
  auto* verb = app.add_subcommand("known", "Known leaks: let a leak be for a time, with its reason");
  verb->require_subcommand(1);
  auto* add = verb->add_subcommand("add", "Write an entry for each finding of a stored result");
  auto command = std::make_shared<KnownAddCommand>();
  add->add_option("result", command->result_file, "the --json of a run that leaks")->required();
  add->add_option("--reason", command->reason, "why it is let be")->required();
  add->add_option("--link", command->link, "where it is dealt with");
  add->add_option("--expires", command->expires, "the last day on which it is let be, such as 2027-01-31");
  add->add_option("--known", command->file, "the file to add to")->capture_default_str();
  const auto* example =
      "Example: stepleak known add result.json --reason 'fixed upstream' --link https://... --expires 2027-01-31";
  verb->footer(example);
  add->footer(example);
  add->callback([&chosen, command] { chosen = *command; });
}

}  // namespace stepleak
