// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/api/check.hpp"

#include <fmt/format.h>

#include <memory>

#include "detectors/detectors.hpp"
#include "harness/base/errors.hpp"
#include "harness/probes/host/host_probe.hpp"
#include "harness/probes/torch/cpu_allocator_probe.hpp"
#include "harness/probes/torch/graph_probe.hpp"
#include "harness/probes/torch/stack_recorder.hpp"
#include "harness/probes/torch/torch_conditions.hpp"
#include "harness/session/session.hpp"

namespace stepleak {
namespace {

/// Puts readable stacks into the trace once the explain pass is over.
class StackSymboliser final : public HolderSearch {
 public:
  explicit StackSymboliser(std::shared_ptr<StackTable> stacks) : stacks_(std::move(stacks)) {}
  void search(Trace& trace) override { trace.stacks = stacks_->symbolise(); }

 private:
  std::shared_ptr<StackTable> stacks_;
};

void check_options(const Options& options) {
  if (options.steps != 0 && options.steps < 16) {
    throw usage_error(fmt::format("{} steps are too few to judge", options.steps), "give 16 steps at least");
  }
  if (options.period < 0 || options.steps < 0 || options.minimum_steps < 0 || options.threads < 0) {
    throw usage_error("steps, period and threads must not be negative");
  }
}

}  // namespace

Device device_of(const std::string& name) {
  if (name == "auto") return kHost;
  const auto device = parse_device(name);
  if (device.type == DeviceType::cuda) {
    throw usage_error(fmt::format("{} cannot be watched by this version", name), "use --device cpu");
  }
  return device;
}

Result check(const Step& step, const Options& options, const Surroundings& surroundings) {
  check_options(options);
  const auto stacks = std::make_shared<StackTable>();
  HostProbe host;
  CpuAllocatorProbe cpu_allocator(stacks);
  GraphProbe graph(stacks);
  const auto detectors = all_detectors();
  SessionParts parts;
  parts.target = options.target;
  parts.device = device_of(options.device);
  parts.policy = policy_of(parse_effort(options.effort));
  if (options.steps > 0) parts.policy = with_budget(parts.policy, options.steps);
  if (options.minimum_steps > 0) parts.policy = with_minimum(parts.policy, options.minimum_steps);
  parts.policy.period = options.period;
  apply_torch_conditions({.seed = options.seed, .threads = options.threads});
  parts.conditions = torch_conditions();
  parts.conditions["seed"] = std::to_string(options.seed);
  parts.conditions["effort"] = options.effort;
  parts.runner.step = step;
  parts.runner.probes = {&host, &cpu_allocator, &graph};
  parts.runner.probes.insert(parts.runner.probes.end(), surroundings.probes.begin(), surroundings.probes.end());
  parts.runner.collector = surroundings.collector;
  parts.runner.recorder = surroundings.recorder;
  for (const auto& detector : detectors) parts.detectors.push_back(detector.get());
  parts.holder_searches = surroundings.holder_searches;
  StackSymboliser symboliser(stacks);
  parts.holder_searches.insert(parts.holder_searches.begin(), &symboliser);
  return run_session(parts);
}

}  // namespace stepleak
