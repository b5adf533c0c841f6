// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// Stands in for the CUDA probes in a build without CUDA: -Dcuda=disabled, or a torch for the CPU alone.

#include "harness/probes/cuda/cuda_devices.hpp"
#include "harness/probes/cuda/cuda_watch.hpp"

namespace stepleak {

CudaAnswer ask_cuda() { return {{}, STEPLEAK_NO_CUDA_REASON, STEPLEAK_NO_CUDA_REMEDY}; }

const CudaAnswer& ask_cuda_in_child() {
  static const auto answer = ask_cuda();
  return answer;
}

std::map<std::string, std::string> cuda_conditions(Device /*device*/) { return {}; }

bool has_context(Device /*device*/) { return false; }

DeviceMemory memory_of(Device /*device*/) { return {}; }

std::vector<std::unique_ptr<Probe>> watch_cuda(const std::shared_ptr<StackTable>& /*stacks*/,
                                               std::optional<std::int64_t> /*objects_from*/) {
  return {};
}

std::vector<std::pair<std::string, std::string>> cuda_facts() { return {}; }

}  // namespace stepleak
