// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/cuda/cuda_devices.hpp"

#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <sstream>

#include "harness/probes/torch/compat/lacks.hpp"

namespace stepleak {
namespace {

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

CudaAnswer answer_to(cudaError_t error) {
  int driver = 0;
  (void)cudaDriverGetVersion(&driver);
  if (error == cudaErrorInsufficientDriver && driver == 0) {
    return {{}, "there is no NVIDIA driver here", "install one, or use --device cpu"};
  }
  if (error == cudaErrorInsufficientDriver) {
    return {{},
            fmt::format("the NVIDIA driver knows CUDA {}, and torch's runtime needs {}", version_text(driver),
                        version_text(CUDART_VERSION)),
            "install a later driver, or use --device cpu"};
  }
  if (error == cudaErrorNoDevice || error == cudaSuccess) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (visible != nullptr) {
      return {{},
              fmt::format("CUDA_VISIBLE_DEVICES='{}' shows no GPU", visible),
              "unset it, or name a GPU in it; or use --device cpu"};
    }
    return {{}, "the driver sees no GPU", "see what nvidia-smi says, or use --device cpu"};
  }
  return {{}, fmt::format("CUDA does not start: {}", cudaGetErrorString(error)), "see what nvidia-smi says"};
}

std::string read_all(int from) {
  std::string text;
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = ::read(from, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

// One line each: reason, remedy, then the names.
std::string lines_of(const CudaAnswer& answer) {
  auto text = answer.reason + "\n" + answer.remedy + "\n";
  for (const auto& name : answer.names) text += name + "\n";
  return text;
}

CudaAnswer answer_of(const std::string& lines) {
  std::istringstream text(lines);
  CudaAnswer answer;
  if (!std::getline(text, answer.reason) || !std::getline(text, answer.remedy)) {
    return {{}, "asking CUDA ended the process that asked", "see what nvidia-smi says, or use --device cpu"};
  }
  for (std::string name; std::getline(text, name);) answer.names.push_back(name);
  return answer;
}

}  // namespace

CudaAnswer ask_cuda() {
  int count = 0;
  const auto error = cudaGetDeviceCount(&count);
  (void)cudaGetLastError();  // it must not reach the user's next check
  if (error != cudaSuccess || count == 0) return answer_to(error);
  CudaAnswer answer;
  for (int index = 0; index < count; ++index) {
    cudaDeviceProp properties{};
    answer.names.emplace_back(cudaGetDeviceProperties(&properties, index) == cudaSuccess ? properties.name : "unknown");
  }
  return answer;
}

const CudaAnswer& ask_cuda_in_child() {
  static const CudaAnswer answer = [] {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) return CudaAnswer{{}, "no pipe can be made to ask CUDA", "free file descriptors"};
    const auto child = ::fork();
    if (child == 0) {
      const auto lines = lines_of(ask_cuda());
      (void)!::write(pipe[1], lines.data(), lines.size());
      ::_exit(0);
    }
    ::close(pipe[1]);
    const auto lines = read_all(pipe[0]);
    ::close(pipe[0]);
    ::waitpid(child, nullptr, 0);
    return answer_of(lines);
  }();
  return answer;
}

std::map<std::string, std::string> cuda_conditions(Device device) {
  cudaDeviceProp properties{};
  int driver = 0;
  int runtime = 0;
  if (cudaGetDeviceProperties(&properties, device.index) != cudaSuccess) return {};
  (void)cudaDriverGetVersion(&driver);
  (void)cudaRuntimeGetVersion(&runtime);
  auto back_end = c10::cuda::CUDACachingAllocator::name();
  if (is_uncached()) back_end = "uncached";
  auto conditions = lacks_on_gpu();
  conditions.insert({{"gpu", properties.name},
                     {"gpu capability", fmt::format("{}.{}", properties.major, properties.minor)},
                     {"cuda driver", version_text(driver)},
                     {"cuda runtime", version_text(runtime)},
                     {"cuda allocator", back_end}});
  return conditions;
}

std::string pci_bus_id(Device device) {
  std::array<char, 32> text{};
  return cudaDeviceGetPCIBusId(text.data(), text.size(), device.index) == cudaSuccess ? text.data() : "";
}

DeviceMemory memory_of(Device device) {
  const c10::cuda::CUDAGuard guard(static_cast<c10::DeviceIndex>(device.index));
  std::size_t free = 0;
  std::size_t total = 0;
  if (cudaMemGetInfo(&free, &total) != cudaSuccess) return {};
  return {static_cast<std::int64_t>(total - free), static_cast<std::int64_t>(total)};
}

bool is_uncached() {
  // The native back end reads the variable itself, and says nothing of it.
  return std::getenv("PYTORCH_NO_CUDA_MEMORY_CACHING") != nullptr || !c10::cuda::CUDACachingAllocator::isEnabled();
}

bool has_statistics() { return !is_uncached() && c10::cuda::CUDACachingAllocator::name() != "pluggable"; }

bool has_context(Device device) { return c10::cuda::hasPrimaryContext(static_cast<c10::DeviceIndex>(device.index)); }

}  // namespace stepleak
