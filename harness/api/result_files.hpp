// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/trace/result.hpp"
#include "harness/trace/run_record.hpp"

namespace stepleak {

/// Where a result is written beside being handed over, as the options of that name of the command line do it. Empty:
/// nowhere.
struct ResultFiles {
  std::string json;
  std::string html;
  std::string trace;  ///< what the result rests on

  [[nodiscard]] bool are_any() const { return !(json.empty() && html.empty() && trace.empty()); }
};

/// Before a run, as check_outputs() of the command line's.
void check_outputs(const ResultFiles& files);

/// After it, each whatever becomes of the others: a loop is not to end for a full disk. What was not written and why.
[[nodiscard]] std::vector<std::string> write(const ResultFiles& files, const Result& result, const RunRecord& record);

}  // namespace stepleak
