// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace stepleak {

/// Random numbers that are the same in every build: the distributions of <random> differ between standard libraries.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : engine_(seed) {}

  /// Another stream of them.
  [[nodiscard]] Draws fork() { return Draws(engine_()); }
  /// In [0, 1).
  [[nodiscard]] double fraction() { return static_cast<double>(engine_() >> 11U) * 0x1p-53; }
  /// Both ends included.
  [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(fraction() * static_cast<double>(high - low + 1));
  }
  [[nodiscard]] bool happens(double probability) { return fraction() < probability; }
  /// Each power of ten as likely as the next: sizes of memory.
  [[nodiscard]] std::int64_t magnitude(std::int64_t low, std::int64_t high) {
    const auto ratio = static_cast<double>(high) / static_cast<double>(low);
    return static_cast<std::int64_t>(static_cast<double>(low) * std::pow(ratio, fraction()));
  }
  /// Pareto's distribution from `low` on: the smaller alpha, the heavier its tail.
  [[nodiscard]] std::int64_t heavy_tailed(std::int64_t low, double alpha, std::int64_t most) {
    const auto value = static_cast<double>(low) * std::pow(1 - fraction(), -1 / alpha);
    return value < static_cast<double>(most) ? static_cast<std::int64_t>(value) : most;
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace stepleak
