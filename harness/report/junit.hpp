// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "harness/report/report_case.hpp"

namespace stepleak {

/// JUnit XML as CI systems read it: a leak or a worse result is a failure, a run without a verdict an error.
[[nodiscard]] std::string to_junit(const std::string& suite, const std::vector<ReportCase>& cases);

}  // namespace stepleak
