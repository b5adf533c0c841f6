// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// A tool that the driver loads through CUDA_INJECTION64_PATH and that takes CUPTI's only subscription, as nsys does.

#include <cuda_runtime_api.h>
#include <cupti.h>
#include <dlfcn.h>

#include <string>

#include "harness/probes/torch/compat/features.hpp"

namespace {

void CUPTIAPI ignore(void* /*context*/, CUpti_CallbackDomain /*domain*/, CUpti_CallbackId /*id*/,
                     const void* /*data*/) {}

}  // namespace

extern "C" int InitializeInjection() {
  const auto name = "libcupti.so." + std::to_string(CUDART_VERSION / 1000);
  void* library = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 0;
  CUpti_SubscriberHandle subscriber = nullptr;
#ifdef STEPLEAK_CUPTI_NAMES_SUBSCRIBERS
  const auto subscribe = reinterpret_cast<decltype(&cuptiSubscribe_v2)>(::dlsym(library, "cuptiSubscribe_v2"));
  CUpti_SubscriberParams parameters{CUpti_SubscriberParams_STRUCT_SIZE, "a test", nullptr, 0};
  return subscribe != nullptr && subscribe(&subscriber, &ignore, nullptr, &parameters) == CUPTI_SUCCESS ? 1 : 0;
#else
  const auto subscribe = reinterpret_cast<decltype(&cuptiSubscribe)>(::dlsym(library, "cuptiSubscribe"));
  return subscribe != nullptr && subscribe(&subscriber, &ignore, nullptr) == CUPTI_SUCCESS ? 1 : 0;
#endif
}
