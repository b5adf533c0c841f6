// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/cli/gate.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>

#include "harness/base/files.hpp"
#include "harness/base/text.hpp"
#include "harness/cli/commands.hpp"
#include "harness/cli/layout.hpp"
#include "harness/cli/reporting.hpp"
#include "harness/cli/server_questions.hpp"
#include "harness/cli/settings.hpp"
#include "harness/gate/contradiction.hpp"
#include "harness/report/console.hpp"

namespace stepleak {
namespace {

// Digits only: no sign, no blank, nothing behind.
std::optional<std::size_t> number_from(std::string_view text) {
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = error == std::errc() && end == text.data() + text.size();
  return is_whole ? std::optional(number) : std::nullopt;
}

struct Shard {
  std::size_t index = 1;
  std::size_t count = 1;

  [[nodiscard]] std::vector<Scenario> of(std::vector<Scenario> scenarios) const {
    std::vector<Scenario> shard;
    for (std::size_t i = 0; i < scenarios.size(); ++i) {
      if (i % count == index - 1) shard.push_back(std::move(scenarios[i]));
    }
    return shard;
  }
};

Shard parse_shard(const std::string& text) {
  const auto slash = text.find('/');
  const auto index = number_from(text.substr(0, slash));
  const auto count = slash == std::string::npos ? std::nullopt : number_from(text.substr(slash + 1));
  if (!index || !count || *index < 1 || *index > *count) {
    throw usage_error(fmt::format("'{}' is no shard", text), "write i/n with 1 <= i <= n, such as 2/4");
  }
  return {*index, *count};
}

// A changed scenario is another scenario: its old behaviour says nothing about it.
std::string scenario_hash(const Scenario& scenario) {
  const auto file = std::filesystem::path(scenario.file).is_absolute() ? std::filesystem::path(scenario.file)
                                                                       : layout().suite / scenario.file;
  return fnv1a_hex(read_file(file));
}

/// What a scenario is compared with, read before it runs: files that change or go meanwhile cost no result.
struct Expectation {
  Scenario scenario;
  std::string hash;
  std::string home;
  std::optional<Baseline> stored;
  std::string others;
  bool is_moved = false;
};

// The folder of the scenarios, seen from its project: what a baseline says that it is of.
std::string home_of(const GateOptions& options) {
  const auto folder = scenario_folder_of(options.scenario_folder);
  return std::filesystem::weakly_canonical(folder).lexically_relative(project_of(folder)).generic_string();
}

// Whether another folder of scenarios has this baseline. Those of a folder that is no more may have moved here.
bool is_of_others(const Baseline& stored, const GateOptions& options) {
  if (stored.scenarios.empty() || stored.scenarios == home_of(options)) return false;
  std::error_code unknown;
  return !are_of_one_project(options) ||
         std::filesystem::is_directory(project_of(scenario_folder_of(options.scenario_folder)) / stored.scenarios,
                                       unknown);
}

// C++ scenarios run beside those of any folder.
bool is_of_a_folder(const Scenario& scenario) { return std::filesystem::path(scenario.file).extension() == ".py"; }

Expectation expectation_of(const Scenario& scenario, const BaselineStore& store, const GateOptions& options) {
  Expectation expected{.scenario = scenario,
                       .hash = scenario_hash(scenario),
                       .home = home_of(options),
                       .stored = store.load(scenario.name)};
  if (!expected.stored || !is_of_a_folder(scenario)) return expected;
  if (is_of_others(*expected.stored, options)) {
    expected.others = expected.stored->scenarios;
    expected.stored.reset();
  } else {
    expected.is_moved = expected.stored->scenarios != expected.home;
  }
  return expected;
}

GateEntry entry_of(const Expectation& expected, const Result& result) {
  GateEntry entry{.result = result,
                  .now = baseline_of(result, {{"scenario hash", expected.hash}}),
                  .contradiction = contradiction_of(expected.scenario, result),
                  .others = expected.others,
                  .is_moved = expected.is_moved};
  entry.now.scenarios = expected.home;
  entry.comparison =
      expected.stored ? compare(*expected.stored, entry.now) : Comparison{Change::fresh, {"has no baseline"}};
  if (!entry.others.empty()) {
    entry.comparison.differences.front() += fmt::format(": that by its name is of the scenarios in {}", entry.others);
  }
  if (!entry.contradiction.empty()) {
    entry.comparison.change = Change::worse;
    entry.comparison.differences.insert(entry.comparison.differences.begin(), entry.contradiction);
  }
  return entry;
}

// What can be no folder would be taken for one without baselines.
void check_folder(const std::filesystem::path& folder) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error) || error == std::errc::no_such_file_or_directory) return;
  throw usage_error(
      fmt::format("{} cannot hold baselines: {}", folder.string(), error ? error.message() : "it is no folder"),
      "name a folder, or one that is not there yet: --baselines DIR");
}

GateEntry entry_of_broken_file(const Result& result) {
  return {.result = result, .comparison = {Change::worse, {result.reason}}};
}

// Scenarios that were in this folder, or in one that is no more, and are declared no more. Read before anything runs.
std::vector<GateEntry> gone_entries(const BaselineStore& store, const Suite& suite, const GateOptions& options) {
  const auto home = home_of(options);
  std::vector<GateEntry> gone;
  for (const auto& name : store.scenarios()) {
    const auto& all = suite.scenarios();
    if (std::any_of(all.begin(), all.end(), [&](const Scenario& known) { return known.name == name; })) continue;
    GateEntry entry;
    entry.result.target = name;
    entry.comparison = {Change::gone, {"has a baseline and no scenario"}};
    try {
      const auto stored = store.load(name);
      if (stored && is_of_others(*stored, options)) continue;
      entry.is_moved = stored && !stored->scenarios.empty() && stored->scenarios != home;
      // Nobody else would miss it: the folder may have moved here without it.
      if (entry.is_moved) {
        entry.comparison.differences.front() +=
            fmt::format(": that was in {}, which is no folder any more", stored->scenarios);
      }
    } catch (const Error& error) {
      // Whose it is cannot be told.
      entry.comparison.differences.emplace_back(error.what());
    }
    gone.push_back(std::move(entry));
  }
  return gone;
}

// Those that lack a library, and of those that need a GPU the ones whose baselines say that they ran without.
std::vector<std::string> lines_on(const std::vector<Scenario>& left_out, const BaselineStore& store) {
  const auto stored = store.scenarios();
  std::vector<std::string> lines;
  for (const auto& scenario : left_out) {
    const bool has_baseline = std::ranges::find(stored, scenario.name) != stored.end();
    if (scenario.missing.empty() && !has_baseline) continue;
    lines.push_back(fmt::format("{} {}{}", scenario.name, lack_of(scenario),
                                has_baseline ? "; nothing was compared with its baseline" : ""));
  }
  return lines;
}

GateEntry uncompared(const Result& result) {
  GateEntry entry;
  entry.result.target = result.target;
  entry.result.device = result.device;
  entry.result.verdict = Verdict::failure;
  entry.result.reason = "it could not be compared";
  entry.comparison = {Change::worse, {entry.result.reason}};
  return entry;
}

}  // namespace

BaselineStore store_of(const GateOptions& options) {
  const auto& name = options.run.options.device;
  // Without the driver's device file there is no GPU, and no need to load torch to learn that.
  const bool is_cpu = name == "cpu" || (name == "auto" && !std::filesystem::exists("/dev/nvidiactl"));
  const auto device = is_cpu ? kHost : device_for_server(name);
  auto device_class = std::string("cpu");
  if (device.type == DeviceType::cuda) {
    // "NVIDIA H200" -> "nvidia-h200"
    device_class = gpus_for_server().names.at(static_cast<std::size_t>(device.index));
    std::transform(device_class.begin(), device_class.end(), device_class.begin(), [](unsigned char letter) {
      return std::isalnum(letter) != 0 ? static_cast<char>(std::tolower(letter)) : '-';
    });
  }
  const auto folder = baseline_folder_of(options.baseline_folder, options.scenario_folder) / device_class;
  check_folder(folder);
  return BaselineStore(folder);
}

bool are_of_one_project(const GateOptions& options) {
  std::error_code ignored;
  const auto baselines = std::filesystem::weakly_canonical(
      std::filesystem::absolute(baseline_folder_of(options.baseline_folder, options.scenario_folder), ignored),
      ignored);
  const auto project = project_of(scenario_folder_of(options.scenario_folder));
  const auto inside = baselines.lexically_relative(project);
  // A project within that project has baselines of its own.
  for (auto above = baselines; above != project && above.has_relative_path(); above = above.parent_path()) {
    if (is_project(above)) return false;
  }
  return !inside.empty() && *inside.begin() != "..";
}

void print_left_out(const GateRun& run, const ReportOptions& reports) {
  for (const auto& line : run.left_out) print_text(fmt::format("  left out: {}\n", printable_line(line)), reports);
}

GateRun run_gate(const GateOptions& options) {
  const auto shard = parse_shard(options.shard);
  const auto run_options = with_device(options.run);
  const auto store = store_of(options);
  const auto suite = Suite::of_folder(scenario_folder_of(options.scenario_folder), run_options);
  const auto device = parse_device(run_options.options.device);
  const auto scenarios = shard.of(suite.matching(options.suite, device));
  std::vector<Target> targets;
  std::map<std::string, Expectation> expected;
  std::size_t undecided = 0;
  for (const auto& scenario : scenarios) {
    // Its verdict would contradict it: it is there for the score.
    if (!scenario.not_yet.empty()) {
      ++undecided;
      continue;
    }
    // A corrupt baseline is reported before minutes of work, not after.
    expected[scenario.name] = expectation_of(scenario, store, options);
    targets.push_back(suite.to_target(scenario));
  }
  if (undecided > 0) {
    print_text(fmt::format("  {} left out, which say that no run decides them yet\n", undecided), options.reports);
  }
  for (auto& broken : suite.broken_targets()) targets.push_back(std::move(broken));
  // What a broken file declared is not known to be gone.
  const bool is_whole = options.suite == "*" && options.shard == "1/1" && suite.broken().empty();
  auto gone = is_whole ? gone_entries(store, suite, options) : std::vector<GateEntry>();
  const auto ends = run_targets(targets, run_options, [&](const Result& result) {
    constexpr std::size_t kTableColumns = 84;
    const auto descriptor = is_stdout_taken(options.reports) ? STDERR_FILENO : STDOUT_FILENO;
    const auto rest =
        fmt::format("{:<12} {:>5} steps {:>6.1f} s", to_string(result.verdict), result.steps, result.seconds);
    print_text(row_of_scenario("  ", result.target, rest, descriptor, kTableColumns), options.reports);
  });
  GateRun run{.left_out = lines_on(shard.of(suite.left_out(options.suite, device)), store)};
  auto& entries = run.entries;
  for (const auto& result : ends.results) {
    const auto take = [&] {
      const auto found = expected.find(result.target);
      entries.push_back(found == expected.end() ? entry_of_broken_file(result) : entry_of(found->second, result));
    };
    // One for which there is no memory costs no other's.
    if (!is_done(take)) entries.push_back(uncompared(result));
  }
  std::move(gone.begin(), gone.end(), std::back_inserter(entries));
  return run;
}

void add_gate_options(CLI::App& verb, GateOptions& options) {
  add_run_options(verb, options.run);
  verb.add_option("--suite", options.suite, "glob over scenario names")->capture_default_str();
  verb.add_option(
      "--baselines", options.baseline_folder,
      "folder with one folder a device class; none given: [tool.stepleak] in pyproject.toml, else baselines/ "
      "in the project of the scenarios");
  verb.add_option("--scenarios", options.scenario_folder, kScenarioFolderHelp);
  verb.add_option("--shard", options.shard, "i/n: every n-th scenario, from the i-th on")->capture_default_str();
}

}  // namespace stepleak
