// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/torch/torch_conditions.hpp"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <gnu/libc-version.h>
#include <torch/version.h>

#include <array>
#include <cstdlib>
#include <mutex>

namespace stepleak {

void apply_torch_conditions(const TorchConditions& conditions) {
  if (conditions.with_gpus) {
    at::manual_seed(conditions.seed);
    return;
  }
  auto generator = at::detail::getDefaultCPUGenerator();
  const std::scoped_lock lock(generator.mutex());
  generator.set_current_seed(conditions.seed);
}

IntraOpThreads::IntraOpThreads(int count) : before_(count > 0 ? at::get_num_threads() : 0) {
  if (count > 0) at::set_num_threads(count);
}

IntraOpThreads::~IntraOpThreads() {
  if (before_ > 0) at::set_num_threads(before_);
}

std::map<std::string, std::string> torch_conditions() {
  auto conditions = torch_switches();
  conditions["stepleak"] = STEPLEAK_VERSION;
  conditions["torch"] = TORCH_VERSION;
  conditions["glibc"] = ::gnu_get_libc_version();
  // Not Python's: the command line chooses otherwise, and the interpreter says itself what is in force.
  static constexpr std::array kVariables{"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "CUBLAS_WORKSPACE_CONFIG",
                                         "MALLOC_ARENA_MAX",        "MALLOC_PERTURB_",    "ONEDNN_MAX_CPU_ISA",
                                         "GLIBC_TUNABLES",          "LD_PRELOAD"};
  for (const auto* name : kVariables) {
    if (const char* value = std::getenv(name); value != nullptr) conditions[std::string("env ") + name] = value;
  }
  return conditions;
}

std::map<std::string, std::string> torch_switches() {
  const auto& context = at::globalContext();
  return {{"threads", std::to_string(at::get_num_threads())},
          {"deterministic", context.deterministicAlgorithms() ? "on" : "off"},
          {"cudnn.benchmark", context.benchmarkCuDNN() ? "on" : "off"}};
}

}  // namespace stepleak
