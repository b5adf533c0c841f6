// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/probes/probe.hpp"

namespace stepleak {

class StackTable;

/// Everything that watches the GPUs of a run. Starts CUDA where it was not. `objects_from`: the step from which raw
/// memory, streams, events and so on are counted, through CUPTI (see HandleProbe for what that costs a profiler in the
/// same process); none: they are not.
[[nodiscard]] std::vector<std::unique_ptr<Probe>> watch_cuda(const std::shared_ptr<StackTable>& stacks,
                                                             std::optional<std::int64_t> objects_from);

/// Whether this process's CUPTI subscription is ours at this moment. From any thread.
[[nodiscard]] bool holds_cupti();

/// What can be observed on the GPUs here, by name, for `doctor`; starts CUDA.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> cuda_facts();

}  // namespace stepleak
