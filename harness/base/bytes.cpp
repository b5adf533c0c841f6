// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/base/bytes.hpp"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>

#include "harness/base/errors.hpp"

namespace stepleak {

std::string format_bytes(double bytes) {
  static constexpr std::array kUnits{"KiB", "MiB", "GiB", "TiB"};
  double value = bytes;
  if (std::abs(value) < 1024) {
    return value == std::floor(value) ? fmt::format("{:.0f} B", value) : fmt::format("{:.1f} B", value);
  }
  std::size_t unit = 0;
  for (value /= 1024; std::abs(value) >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::int64_t parse_bytes(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  static constexpr std::string_view kPrefixes = "KMGT";
  double factor = 1;
  bool is_unit_known = unit.empty() || unit == "B";
  if (!unit.empty() && unit != "B") {
    const auto power = kPrefixes.find(static_cast<char>(std::toupper(unit.front())));
    const auto rest = unit.substr(1);
    is_unit_known = power != std::string_view::npos && (rest.empty() || rest == "B" || rest == "iB");
    if (is_unit_known) factor = std::pow(1024.0, static_cast<double>(power) + 1);
  }
  // Also for what is no number at all, and what no integer holds.
  constexpr double kMost = 1LL << 62;
  const bool is_size = value * factor >= 0 && value * factor < kMost;
  if (error != std::errc() || !is_unit_known || !is_size) {
    throw usage_error(fmt::format("'{}' is no size", text), "write a number of bytes, or one with K, M, G or T: 512M");
  }
  return static_cast<std::int64_t>(value * factor);
}

}  // namespace stepleak
