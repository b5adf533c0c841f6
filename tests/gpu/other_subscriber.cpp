// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
// A tool that the driver loads through CUDA_INJECTION64_PATH and that takes CUPTI's only subscription, as nsys does.

#include <cupti.h>
#include <dlfcn.h>

namespace {

void CUPTIAPI ignore(void* /*context*/, CUpti_CallbackDomain /*domain*/, CUpti_CallbackId /*id*/,
                     const void* /*data*/) {}

}  // namespace

extern "C" int InitializeInjection() {
  void* library = ::dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 0;
  const auto subscribe = reinterpret_cast<decltype(&cuptiSubscribe_v2)>(::dlsym(library, "cuptiSubscribe_v2"));
  CUpti_SubscriberHandle subscriber = nullptr;
  CUpti_SubscriberParams parameters{CUpti_SubscriberParams_STRUCT_SIZE, "a test", nullptr, 0};
  return subscribe != nullptr && subscribe(&subscriber, &ignore, nullptr, &parameters) == CUPTI_SUCCESS ? 1 : 0;
}
