// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/api/run_setup.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <optional>

#include "detectors/detectors.hpp"
#include "harness/analyse/trend.hpp"
#include "harness/api/check.hpp"
#include "harness/api/policy_of.hpp"
#include "harness/base/errors.hpp"
#include "harness/probes/cuda/cuda_devices.hpp"
#include "harness/probes/cuda/cuda_watch.hpp"
#include "harness/probes/host/child_probe.hpp"
#include "harness/probes/host/host_memory.hpp"
#include "harness/probes/host/host_probe.hpp"
#include "harness/probes/torch/cpu_allocator_probe.hpp"
#include "harness/probes/torch/graph_probe.hpp"
#include "harness/probes/torch/heap_probe.hpp"
#include "harness/probes/torch/loaded_torch.hpp"
#include "harness/probes/torch/stack_recorder.hpp"
#include "harness/probes/torch/torch_conditions.hpp"
#include "harness/sources/source_holder_search.hpp"

namespace stepleak {
namespace {

// As long as four recorded steps make a pass of 29, this costs less than torch's own memory history; a prime, too.
constexpr std::int64_t kRecordStride = 7;

// CUDA objects are counted over the last steps before the first verdict: as few as a trend needs.
constexpr std::int64_t kCountedSteps = kShortestSeries;

// For a verdict a person waits a minute, where as long a run without one would be no use.
constexpr double kSecondsToGoOn = 60;

// A loop of the user's goes on by itself, and a budget in time ends by itself. Of a time-out half is for the searches.
double seconds_to_go_on(const Options& options, LoopOwner owner) {
  if (owner == LoopOwner::user || options.budget_seconds > 0) return std::numeric_limits<double>::infinity();
  if (!options.ends_at) return kSecondsToGoOn;
  const double left = std::chrono::duration<double>(*options.ends_at - std::chrono::steady_clock::now()).count();
  return std::min(kSecondsToGoOn, left / 2);
}

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
  check_steps(options);
  if (options.period < 0 || options.steps < 0 || options.minimum_steps < 0 || options.threads < 0 ||
      !(options.budget_seconds >= 0)) {
    throw usage_error("steps, period, budget and threads must not be negative");
  }
}

}  // namespace

/// The one run of a process: what probes attach is attached once. A forked child may start a run of its own. In no
/// unnamed namespace, since Parts is in none: g++ warns of that where pip compiles this below another file.
class OnlyRun {
 public:
  OnlyRun() {
    auto seen = running_.load();
    const auto here = ::getpid();
    if (seen == here || !running_.compare_exchange_strong(seen, here)) {
      throw usage_error("another check or watch is running in this process",
                        "end that first (a watch by its result(), in Python by w.result): the memory that is "
                        "watched is the whole process's");
    }
  }
  OnlyRun(const OnlyRun&) = delete;
  OnlyRun& operator=(const OnlyRun&) = delete;
  ~OnlyRun() {
    auto here = ::getpid();
    running_.compare_exchange_strong(here, 0);
  }

 private:
  static inline std::atomic<pid_t> running_{0};
};

struct RunSetup::Parts {
  Parts(Device watched, int thread_count, LoopOwner owner)
      : device(watched),
        threads(thread_count),
        stacks(std::make_shared<StackTable>()),
        cpu_allocator(stacks),
        graph(stacks, watched.type == DeviceType::cuda || owner == LoopOwner::user ? GraphCoverage::record_pass
                                                                                   : GraphCoverage::every_step),
        heap(stacks),
        detectors(all_detectors()) {}

  OnlyRun only_run;
  Device device;
  IntraOpThreads threads;
  std::shared_ptr<StackTable> stacks;
  std::unique_ptr<StackSource> stacks_around;  // null: nothing is
  HostProbe host;
  ChildProbe children;
  CpuAllocatorProbe cpu_allocator;
  GraphProbe graph;
  HeapProbe heap;
  std::vector<std::unique_ptr<Probe>> cuda;
  SourceHolderSearch sources;
  std::function<std::vector<DeclaredBound>()> declared;
  std::vector<std::unique_ptr<Detector>> detectors;
  SessionParts session;
};

RunSetup::RunSetup(const Options& options, const Surroundings& surroundings, LoopOwner owner) {
  expect_torch_as_built();
  check_options(options);
  own_ = std::make_unique<Parts>(device_of(options.device), options.threads, owner);
  auto& own = *own_;
  const bool is_on_gpu = own.device.type == DeviceType::cuda;
  // A loop that is not ours draws what it would draw without us.
  const bool seeds = options.seeds && owner == LoopOwner::stepleak;
  if (seeds) {
    apply_torch_conditions({.seed = options.seed, .with_gpus = is_on_gpu});
  }
  // A Python step's frames are Python's; to unwind C++ below them as well costs twenty times as much.
  set_stack_source(surroundings.collector != nullptr ? StackKind::python : StackKind::native);
  auto& probes = own.session.observer.probes;
  probes = {&own.host, &own.children, &own.cpu_allocator, &own.graph, &own.heap};
  own.session.policy = policy_of(options);
  own.session.watched_steps = options.watched_steps;
  // Ranks end alike, and their clocks differ.
  if (surroundings.peers == nullptr) own.session.most_steps = most_steps_of(options);
  own.session.most_seconds = seconds_to_go_on(options, owner);
  if (is_on_gpu) {
    const auto clean_from = std::max(own.session.policy.clean_steps, options.watched_steps);
    const auto objects_from = clean_from - kCountedSteps + 1;
    own.cuda = watch_cuda(own.stacks, options.with_cuda_objects ? std::optional(objects_from) : std::nullopt);
  }
  for (const auto& probe : own.cuda) probes.push_back(probe.get());
  probes.insert(probes.end(), surroundings.probes.begin(), surroundings.probes.end());
  for (const auto& detector : own.detectors) own.session.detectors.push_back(detector.get());
  own.session.target = options.target;
  own.session.device = own.device;
  own.session.facts = {.has_python = surroundings.collector != nullptr, .declared_period = options.period};
  own.session.observer.collector = surroundings.collector;
  own.session.observer.recorder = surroundings.recorder;
  if (surroundings.stacks_around) own.stacks_around = surroundings.stacks_around(*own.stacks);
  own.session.stacks = own.stacks_around ? own.stacks_around.get() : own.stacks.get();
  own.session.holder_searches = surroundings.holder_searches;
  if (surroundings.collector == nullptr) own.session.holder_searches.push_back(&own.sources);
  own.session.folders = surroundings.folders;
  own.session.peers = surroundings.peers;
  own.declared = surroundings.declared;
  own.session.record_stride = is_on_gpu ? kRecordStride : 1;
  own.session.conditions = torch_conditions();
  if (is_on_gpu) own.session.conditions.merge(cuda_conditions(own.device));
  own.session.conditions.insert(surroundings.conditions.begin(), surroundings.conditions.end());
  own.session.conditions["malloc"] = own.host.heap().allocator();
  own.session.conditions["seed"] = seeds ? std::to_string(options.seed) : "the user's";
  own.session.conditions["effort"] = options.effort;
}

RunSetup::~RunSetup() = default;

const SessionParts& RunSetup::parts() const { return own_->session; }

void RunSetup::complete(RunRecord& record) const {
  for (const auto* probe : own_->session.observer.probes) {
    if (auto gap = probe->gap(); !gap.empty()) record.notes.push_back(std::move(gap));
  }
  if (own_->declared) record.declared = own_->declared();
  // A step may have changed them: what the last steps ran with is what was judged.
  for (const auto& [name, value] : torch_switches()) record.conditions[name] = value;
  const auto host = host_memory();
  record.capacities.push_back({kHost, host.total_bytes, host.used_bytes});
  for (const auto& device : record.trace.devices()) {
    if (device == kHost || !has_context(device)) continue;
    const auto memory = memory_of(device);
    record.capacities.push_back({device, memory.total, memory.used});
  }
}

Device device_of(const std::string& name) { return name == "cpu" ? kHost : visible_device(name, ask_cuda()); }

Device device_before_fork(const std::string& name) {
  return name == "cpu" ? kHost : visible_device(name, ask_cuda_in_child());
}

}  // namespace stepleak
