// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Prints how often the judge is right, wrong and undecided on synthetic programs whose truth is known.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "harness/base/files.hpp"
#include "tests/calibration/table.hpp"

int main(int argc, char** argv) {
  using namespace stepleak;
  CLI::App app{"How often the judge is right, wrong and undecided on synthetic programs whose truth is known."};
  std::int64_t draws = 200;
  std::string part;
  std::string effort = "standard";
  std::string compared;
  std::string stored;
  app.add_option("--draws", draws, "programs of each case (default 200)")->check(CLI::PositiveNumber);
  app.add_option("--case", part, "only cases whose name contains this");
  app.add_option("--effort", effort, "quick, standard or nightly");
  app.add_option("--compare", compared, "fail where a cell is worse than in this FILE");
  app.add_option("--store", stored, "write the cells to this FILE");
  bool is_explained = false;
  app.add_flag("--explain", is_explained, "a line for each draw that is wrong: what its result says");
  CLI11_PARSE(app, argc, argv);

  const auto cells = calibrate(draws, part, policy_of(parse_effort(effort)));
  fmt::print("{}", markdown_of(cells));
  for (const auto& cell : cells) {
    for (const auto& line : cell.wrong) {
      if (is_explained) fmt::print("{}\n", line);
    }
  }
  if (!stored.empty()) write_file(stored, json_of(cells));
  if (compared.empty()) return 0;
  const auto worse = worse_than(read_cells(compared), cells);
  for (const auto& line : worse) fmt::print(stderr, "worse: {}\n", line);
  return worse.empty() ? 0 : 1;
}
