// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "tests/calibration/cases.hpp"

namespace stepleak {

/// How a verdict stands to the truth.
enum class Outcome : char {
  right = 'r',
  wrong = 'W',
  undecided = 'u',
  unseen = 's',  ///< a leak called clean that the run's own limit line excludes: rarer than it says, or yet to come
};

/// One case as seen with or without sources: a letter a draw, the steps of each.
struct Cell {
  std::string name;
  Sources sources = Sources::read;
  bool is_leak = false;
  std::string outcomes;
  std::int64_t median_steps = 0;
  std::vector<std::string> wrong;  ///< a line a wrong draw: what its result said

  [[nodiscard]] std::string key() const;
  /// Among the first `draws`.
  [[nodiscard]] std::int64_t count(Outcome outcome, std::int64_t draws) const;
};

/// Runs the cases whose name contains `part`, each `draws` times with and without sources, on all cores. The n-th draw
/// of a case is the same whatever else runs.
[[nodiscard]] std::vector<Cell> calibrate(std::int64_t draws, std::string_view part, const Policy& policy);

/// One line a cell that has more wrong or fewer right verdicts than the stored one among as many draws; cells that are
/// not stored are named too.
[[nodiscard]] std::vector<std::string> worse_than(const std::vector<Cell>& stored, const std::vector<Cell>& now);

[[nodiscard]] std::string markdown_of(const std::vector<Cell>& cells);
[[nodiscard]] std::string json_of(const std::vector<Cell>& cells);
[[nodiscard]] std::vector<Cell> read_cells(const std::filesystem::path& file);

}  // namespace stepleak
