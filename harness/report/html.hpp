// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/trace/result.hpp"

namespace stepleak {

/// Some lines of a source file around one that a finding names.
struct SourceExcerpt {
  std::string file;
  int line = 0;      ///< the one that is meant
  std::string role;  ///< "where it is made"
  int first = 1;     ///< number of the first of `lines`
  std::vector<std::string> lines;
};

/// One run on the page.
struct HtmlRun {
  const Result* result = nullptr;
  std::vector<SourceExcerpt> sources;
  std::string change = {};                    ///< of a gate, how it compares with its baseline: "worse"; else empty
  std::vector<std::string> differences = {};  ///< from it, a line each
};

/// One file for a browser that needs nothing beside it: a run with its pictures, or several as a table that opens them.
/// Long ledgers are drawn by the first, lowest, highest and last value of each stretch, the longer the more runs there
/// are, so that a page of 200 stays below 1.5 MB.
[[nodiscard]] std::string to_html(const std::vector<HtmlRun>& runs);

}  // namespace stepleak
