// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// The library that the command line loads when a step is observed.

#include <algorithm>

#include "harness/api/check.hpp"
#include "harness/base/errors.hpp"
#include "harness/cli/layout.hpp"
#include "harness/cli/observing.hpp"
#include "harness/cli/observing/embedded_python.hpp"
#include "harness/probes/cuda/cuda_devices.hpp"
#include "harness/probes/cuda/cuda_watch.hpp"
#include "harness/probes/host/host_heap.hpp"
#include "harness/probes/torch/cpu_allocator_probe.hpp"
#include "harness/probes/torch/torch_conditions.hpp"

namespace stepleak {
namespace {

GpuAnswer to_answer(const CudaAnswer& cuda) { return {cuda.names, cuda.reason, cuda.remedy}; }

RunRecord record_compiled(const Scenario& scenario, const Options& options, FlightRecorder& recorder) {
  return EmbeddedPython::without_gil([&] {
    const auto device = device_of(options.device);
    // What the result records as conditions holds for the set-up as well.
    const IntraOpThreads threads(options.threads);
    apply_torch_conditions({.seed = options.seed, .with_gpus = device.type == DeviceType::cuda});
    const auto step = scenario.set_up(device);
    return record_run([&step](std::int64_t) { step(); }, options, {.recorder = &recorder});
  });
}

class TorchObserving final : public Observing {
 public:
  explicit TorchObserving(Layout layout) : layout_(std::move(layout)) {}

  void start() override { EmbeddedPython::start(layout_); }
  void start_in_worker(OnTemporaryFolder on_temporary_folder) override {
    EmbeddedPython::start_in_worker(layout_, std::move(on_temporary_folder));
    record_cpu_tensors();
  }
  void end_in_worker() override { EmbeddedPython::end_in_worker(); }
  Device device_before_fork(const std::string& name) override { return stepleak::device_before_fork(name); }
  GpuAnswer gpus_before_fork() override { return to_answer(ask_cuda_in_child()); }

  ScenarioList scenarios(const std::string& folder, const ScenarioLoading& loading) override {
    start();
    auto all = EmbeddedPython::load_scenarios(folder, loading);
    for (auto scenario : ScenarioRegistry::instance().all()) {
      scenario.set_up = nullptr;
      all.scenarios.push_back(std::move(scenario));
    }
    return all;
  }

  RunRecord record_scenario(const std::string& name, const Options& options, FlightRecorder& recorder) override {
    const auto& compiled = ScenarioRegistry::instance().all();
    const auto found = std::find_if(compiled.begin(), compiled.end(), [&](const auto& s) { return s.name == name; });
    if (found != compiled.end()) return record_compiled(*found, options, recorder);
    return EmbeddedPython::record_scenario(name, options, recorder);
  }
  RunRecord record_file(const std::filesystem::path& file, const std::string& callable, const Options& options,
                        FlightRecorder& recorder) override {
    return EmbeddedPython::record_file(file, callable, options, recorder);
  }
  std::vector<Trial> try_fixes(const RunRecord& record, const Options& options) override {
    return EmbeddedPython::try_fixes(record, options);
  }
  std::vector<std::string> self_growth_steps() override { return EmbeddedPython::self_growth_steps(); }
  RunRecord record_self_growth(const std::string& name, const Options& options, FlightRecorder& recorder) override {
    return EmbeddedPython::record_self_growth(name, options, recorder);
  }

  Facts facts() override {
    auto facts = EmbeddedPython::facts();
    for (const auto& condition : torch_conditions()) facts.emplace_back(condition);
    return facts;
  }
  std::string host_heap() override {
    const HostHeap heap;
    if (heap.is_seen()) return "yes: through " + heap.allocator() + "; noisy; judged above 512 B/step";
    return "no: " + heap.allocator() + " has taken malloc over and tells nothing";
  }
  GpuAnswer gpus() override { return to_answer(ask_cuda()); }
  Facts gpu_facts() override { return cuda_facts(); }

 private:
  Layout layout_;
};

}  // namespace
}  // namespace stepleak

extern "C" [[gnu::visibility("default")]] stepleak::Observing* stepleak_observing(const stepleak::Layout& layout) {
  static stepleak::TorchObserving observing(layout);
  return &observing;
}
