// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/trace/result.hpp"

namespace stepleak {

/// One result as a CI system is told of it.
struct ReportCase {
  const Result* result = nullptr;
  std::string failure;         ///< why the build should fail on it; empty: passed, whatever the verdict
  std::vector<bool> is_known;  ///< which of its findings are let be; empty: none
};

}  // namespace stepleak
