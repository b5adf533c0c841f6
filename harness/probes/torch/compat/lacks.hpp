// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "harness/probes/torch/compat/features.hpp"

namespace stepleak {

/// What cannot be had of this torch and its CUDA on a GPU: a condition of each result there, and a line of `doctor`.
/// Empty where nothing is missing. LACKS in ci/torch/compatibility.py says it in the table of docs/compatibility.md.
[[nodiscard]] inline std::map<std::string, std::string> lacks_on_gpu() {
  std::map<std::string, std::string> lacks;
#ifndef STEPLEAK_SNAPSHOT_WITHOUT_TRACES
  lacks["allocator history"] = "one that you record is copied at each look: this torch cannot leave it out";
#endif
#ifndef STEPLEAK_CUPTI_NAMES_SUBSCRIBERS
  lacks["CUPTI subscribers"] = "not named by this CUDA: who else holds the only subscription cannot be said";
#endif
  return lacks;
}

}  // namespace stepleak
