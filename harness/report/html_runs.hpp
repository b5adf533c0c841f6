// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "harness/report/html.hpp"

namespace stepleak {

/// How much of a run is drawn.
struct PageDetail {
  std::size_t points = 0;   ///< of each ledger
  std::size_t cohorts = 0;  ///< of each device: births at looks
  std::size_t groups = 0;   ///< of survivors by stack, and half as many by holder; the rest as one
};

/// Room for all runs of a page together, shared out among them.
[[nodiscard]] PageDetail detail_for(const std::vector<HtmlRun>& runs);

/// Half of it; the same where it is the least.
[[nodiscard]] PageDetail halved(const PageDetail& detail);

/// What the page's scripts read: a list of runs as JSON, which may stand in a script's element.
[[nodiscard]] std::string runs_text(const std::vector<HtmlRun>& runs, const PageDetail& detail);

}  // namespace stepleak
