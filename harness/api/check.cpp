// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/api/check.hpp"

#include <fmt/format.h>

#include <memory>

#include "detectors/detectors.hpp"
#include "harness/base/errors.hpp"
#include "harness/probes/cuda/cuda_devices.hpp"
#include "harness/probes/cuda/cuda_watch.hpp"
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

Device visible_device(const std::string& name, const CudaAnswer& cuda) {
  if (name == "auto") return cuda.names.empty() ? kHost : Device{DeviceType::cuda, 0};
  const auto device = parse_device(name);
  if (device.type == DeviceType::host) return device;
  if (cuda.names.empty()) throw failure_error(fmt::format("{} cannot be used: {}", name, cuda.reason), cuda.remedy);
  if (static_cast<std::size_t>(device.index) >= cuda.names.size()) {
    throw failure_error(
        fmt::format("there is no {}: {} GPU{} visible", name, cuda.names.size(),
                    cuda.names.size() == 1 ? " is" : "s are"),
        fmt::format("use one of cuda:0 to cuda:{}, or see CUDA_VISIBLE_DEVICES", cuda.names.size() - 1));
  }
  return device;
}

void check_options(const Options& options) {
  if (options.steps != 0 && options.steps < 16) {
    throw usage_error(fmt::format("{} steps are too few to judge", options.steps), "give 16 steps at least");
  }
  if (options.period < 0 || options.steps < 0 || options.minimum_steps < 0 || options.threads < 0) {
    throw usage_error("steps, period and threads must not be negative");
  }
}

/// Probes, detectors and conditions of one call, put together.
class Watch {
 public:
  Watch(const Step& step, const Options& options, const Surroundings& surroundings)
      : device_((check_options(options), device_of(options.device))),
        stacks_(std::make_shared<StackTable>()),
        cpu_allocator_(stacks_),
        graph_(stacks_, device_.type == DeviceType::cuda ? kGraphStride : 1),
        detectors_(all_detectors()),
        symboliser_(stacks_) {
    parts_.target = options.target;
    parts_.device = device_;
    parts_.policy = policy_of(parse_effort(options.effort));
    if (options.steps > 0) parts_.policy = with_budget(parts_.policy, options.steps);
    if (options.minimum_steps > 0) parts_.policy = with_minimum(parts_.policy, options.minimum_steps);
    parts_.policy.period = options.period;
    if (device_.type == DeviceType::cuda) parts_.explain_stride = kExplainStride;
    apply_torch_conditions({.seed = options.seed, .threads = options.threads});
    // A Python step's frames are Python's; to unwind C++ below them as well costs twenty times as much.
    set_stack_source(surroundings.collector != nullptr ? StackSource::python : StackSource::native);
    parts_.runner.step = step;
    parts_.runner.probes = {&host_, &cpu_allocator_, &graph_};
    if (parts_.device.type == DeviceType::cuda) {
      cuda_ = watch_cuda(stacks_, options.with_cuda_objects);
      for (const auto& probe : cuda_) parts_.runner.probes.push_back(probe.get());
    }
    parts_.runner.probes.insert(parts_.runner.probes.end(), surroundings.probes.begin(), surroundings.probes.end());
    parts_.runner.collector = surroundings.collector;
    parts_.runner.recorder = surroundings.recorder;
    for (const auto& detector : detectors_) parts_.detectors.push_back(detector.get());
    parts_.holder_searches = surroundings.holder_searches;
    parts_.holder_searches.insert(parts_.holder_searches.begin(), &symboliser_);
    parts_.conditions = torch_conditions();
    if (parts_.device.type == DeviceType::cuda) parts_.conditions.merge(cuda_conditions(parts_.device));
    parts_.conditions["seed"] = std::to_string(options.seed);
    parts_.conditions["effort"] = options.effort;
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  [[nodiscard]] const SessionParts& parts() const { return parts_; }
  /// What the probes could not see; after the run.
  [[nodiscard]] std::vector<std::string> gaps() const {
    std::vector<std::string> gaps;
    for (const auto* probe : parts_.runner.probes) {
      if (auto gap = probe->gap(); !gap.empty()) gaps.push_back(std::move(gap));
    }
    return gaps;
  }

 private:
  // Steps on a GPU often wait for launches, where a callback at each operator would cost a fifth of the step.
  static constexpr std::int64_t kGraphStride = 23;
  // As long as four recorded steps make a pass of 29, this costs less than torch's own memory history; a prime, too.
  static constexpr std::int64_t kExplainStride = 7;

  Device device_;
  std::shared_ptr<StackTable> stacks_;
  HostProbe host_;
  CpuAllocatorProbe cpu_allocator_;
  GraphProbe graph_;
  std::vector<std::unique_ptr<Probe>> cuda_;
  std::vector<std::unique_ptr<Detector>> detectors_;
  StackSymboliser symboliser_;
  SessionParts parts_;
};

}  // namespace

Device device_of(const std::string& name) { return name == "cpu" ? kHost : visible_device(name, ask_cuda()); }

Device device_before_fork(const std::string& name) {
  return name == "cpu" ? kHost : visible_device(name, ask_cuda_in_child());
}

Result check(const Step& step, const Options& options, const Surroundings& surroundings) {
  Watch watch(step, options, surroundings);
  auto result = run_session(watch.parts());
  for (auto& gap : watch.gaps()) result.notes.push_back(std::move(gap));
  return result;
}

Trace observe(const Step& step, const Passes& passes, const Options& options, const Surroundings& surroundings) {
  Watch watch(step, options, surroundings);
  Runner runner(watch.parts().runner);
  runner.start();
  runner.run_to(passes.screen_steps);
  if (passes.explain_steps > 0) runner.explain(passes.explain_steps, passes.explain_stride);
  return std::move(runner.trace());
}

}  // namespace stepleak
