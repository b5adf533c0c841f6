// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "harness/trace/result.hpp"
#include "harness/trace/run_record.hpp"

namespace stepleak {

/// What a record comes to, with all detectors. Pure, and without torch.
[[nodiscard]] Result result_of(const RunRecord& record);

}  // namespace stepleak
