// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/report/html_values.hpp"

#include <algorithm>

namespace stepleak {
namespace {

std::vector<Point> without_repeats(const Ledger& ledger) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < ledger.values().size(); ++i) {
    const Point point{ledger.steps()[i], ledger.values()[i]};
    const auto count = points.size();
    if (count >= 2 && points[count - 1].second == point.second && points[count - 2].second == point.second) {
      points.back() = point;
    } else {
      points.push_back(point);
    }
  }
  return points;
}

}  // namespace

std::vector<Point> drawn_points(const Ledger& ledger, std::size_t most) {
  const auto points = without_repeats(ledger);
  if (points.size() <= most) return points;
  const auto by_value = [](const Point& a, const Point& b) { return a.second < b.second; };
  const auto stretches = std::max<std::size_t>(1, most / 4);
  std::vector<Point> drawn;
  for (std::size_t i = 0; i < stretches; ++i) {
    const auto begin = points.begin() + static_cast<std::ptrdiff_t>(points.size() * i / stretches);
    const auto end = points.begin() + static_cast<std::ptrdiff_t>(points.size() * (i + 1) / stretches);
    std::vector<Point> stretch{*begin, *std::min_element(begin, end, by_value), *std::max_element(begin, end, by_value),
                               *(end - 1)};
    std::sort(stretch.begin(), stretch.end());
    stretch.erase(std::unique(stretch.begin(), stretch.end()), stretch.end());
    drawn.insert(drawn.end(), stretch.begin(), stretch.end());
  }
  return drawn;
}

}  // namespace stepleak
