// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/probes/probe.hpp"

namespace stepleak {

class StackTable;

/// Everything that watches the GPUs of a run. Starts CUDA where it was not. `with_objects`: also raw memory, streams,
/// events and graphs, through CUPTI (see HandleProbe for what that costs a profiler in the same process).
[[nodiscard]] std::vector<std::unique_ptr<Probe>> watch_cuda(const std::shared_ptr<StackTable>& stacks,
                                                             bool with_objects);

/// What can be observed on the GPUs here, by name, for `doctor`; starts CUDA.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> cuda_facts();

}  // namespace stepleak
