// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/trace/result.hpp"

namespace stepleak {

/// One test case of a JUnit file.
struct JunitCase {
  const Result* result = nullptr;
  std::string failure;  ///< why the build should fail on it; empty: passed, whatever the verdict
};

/// JUnit XML as CI systems read it: a leak or a worse result is a failure, a run without a verdict an error.
[[nodiscard]] std::string to_junit(const std::string& suite, const std::vector<JunitCase>& cases);

}  // namespace stepleak
