// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/cuda/cuda_watch.hpp"

#include <fmt/format.h>

#include "harness/base/bytes.hpp"
#include "harness/probes/cuda/cuda_devices.hpp"
#include "harness/probes/cuda/device_allocator_probe.hpp"
#include "harness/probes/cuda/handle_probe.hpp"
#include "harness/probes/cuda/nvml.hpp"
#include "harness/probes/cuda/outside_probe.hpp"

namespace stepleak {

std::vector<std::unique_ptr<Probe>> watch_cuda(const std::shared_ptr<StackTable>& stacks,
                                               std::optional<std::int64_t> objects_from) {
  const auto devices = ask_cuda().names.size();
  std::vector<std::unique_ptr<Probe>> probes;
  probes.push_back(std::make_unique<DeviceAllocatorProbe>(stacks));
  probes.push_back(std::make_unique<OutsideProbe>(devices));
  if (objects_from) probes.push_back(std::make_unique<HandleProbe>(stacks, devices, *objects_from));
  return probes;
}

std::vector<std::pair<std::string, std::string>> cuda_facts() {
  const auto answer = ask_cuda();
  const DeviceAllocatorProbe allocator(nullptr);
  std::vector<std::pair<std::string, std::string>> facts;
  for (std::size_t i = 0; i < answer.names.size(); ++i) {
    const auto device = device_at(i);
    const auto memory = memory_of(device);
    const auto others = memory_of_others(pci_bus_id(device));
    facts.emplace_back(
        to_string(device),
        fmt::format("{}, {} of {} in use, {}", answer.names[i], format_bytes(static_cast<double>(memory.used)),
                    format_bytes(static_cast<double>(memory.total)),
                    others ? fmt::format("{} by other processes", format_bytes(static_cast<double>(*others)))
                           : "by whom NVML does not say"));
  }
  for (const auto& [name, value] : cuda_conditions(device_at(0))) facts.emplace_back(name, value);
  const auto gap = allocator.gap();
  facts.emplace_back("device tensors",
                     gap.empty() ? "yes: every event of the caching allocator, exact" : "partly: " + gap);
  const auto own = process_memory(pci_bus_id(device_at(0)));
  facts.emplace_back("device memory outside",
                     own ? "yes: by process (NVML), in steps of 2 MiB"
                         : "partly: of the whole device, other processes included; run where NVML knows this process");
  const auto blocker = HandleProbe::blocker();
  facts.emplace_back("raw CUDA objects", blocker.empty() ? "yes: before a verdict and in the record pass, through CUPTI"
                                                         : "no: " + blocker);
  return facts;
}

}  // namespace stepleak
