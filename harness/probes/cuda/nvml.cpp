// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/cuda/nvml.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <vector>

namespace stepleak {
namespace {

// NVML's documented, versioned C interface (nvmlProcessInfo_t of nvmlDeviceGetComputeRunningProcesses_v3). Declared
// here because the wheel's dependencies bring no nvml.h, and the library comes with the driver.
struct ProcessInfo {
  unsigned int pid;
  unsigned long long bytes;
  unsigned int gpu_instance;
  unsigned int compute_instance;
};
constexpr unsigned long long kNotAvailable = ~0ULL;
constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;

using Init = int (*)();
using HandleByBusId = int (*)(const char*, void**);
using RunningProcesses = int (*)(void*, unsigned int*, ProcessInfo*);

class Nvml {
 public:
  static const Nvml& instance() {
    static const Nvml nvml;
    return nvml;
  }

  [[nodiscard]] std::optional<std::vector<ProcessInfo>> processes(const std::string& bus_id) const {
    void* device = nullptr;
    if (!is_ready_ || handle_by_bus_id_(bus_id.c_str(), &device) != kSuccess) return std::nullopt;
    std::vector<ProcessInfo> processes(64);
    auto count = static_cast<unsigned int>(processes.size());
    auto status = running_processes_(device, &count, processes.data());
    if (status == kInsufficientSize) {
      processes.resize(count + 64);
      count = static_cast<unsigned int>(processes.size());
      status = running_processes_(device, &count, processes.data());
    }
    if (status != kSuccess) return std::nullopt;
    processes.resize(count);
    return processes;
  }

 private:
  Nvml() {
    void* library = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return;
    const auto init = reinterpret_cast<Init>(::dlsym(library, "nvmlInit_v2"));
    handle_by_bus_id_ = reinterpret_cast<HandleByBusId>(::dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2"));
    running_processes_ =
        reinterpret_cast<RunningProcesses>(::dlsym(library, "nvmlDeviceGetComputeRunningProcesses_v3"));
    is_ready_ = init != nullptr && handle_by_bus_id_ != nullptr && running_processes_ != nullptr && init() == kSuccess;
  }

  HandleByBusId handle_by_bus_id_ = nullptr;
  RunningProcesses running_processes_ = nullptr;
  bool is_ready_ = false;
};

}  // namespace

std::optional<std::int64_t> process_memory(const std::string& bus_id) {
  const auto processes = Nvml::instance().processes(bus_id);
  if (!processes) return std::nullopt;
  const auto self = static_cast<unsigned int>(::getpid());
  for (const auto& process : *processes) {
    if (process.pid == self && process.bytes != kNotAvailable) return static_cast<std::int64_t>(process.bytes);
  }
  return std::nullopt;
}

std::optional<std::int64_t> memory_of_others(const std::string& bus_id) {
  const auto processes = Nvml::instance().processes(bus_id);
  if (!processes) return std::nullopt;
  const auto self = static_cast<unsigned int>(::getpid());
  std::int64_t bytes = 0;
  for (const auto& process : *processes) {
    if (process.pid != self && process.bytes != kNotAvailable) bytes += static_cast<std::int64_t>(process.bytes);
  }
  return bytes;
}

}  // namespace stepleak
