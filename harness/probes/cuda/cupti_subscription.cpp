// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/probes/cuda/cupti_subscription.hpp"

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <atomic>

#include "harness/probes/cuda/cuda_watch.hpp"
#include "harness/probes/cuda/cupti_refusal.hpp"
#include "harness/probes/torch/compat/features.hpp"

namespace stepleak {
namespace {

constexpr int kCudaMajor = CUDART_VERSION / 1000;

#ifdef STEPLEAK_CUPTI_NAMES_SUBSCRIBERS
constexpr auto* kSubscribe = "cuptiSubscribe_v2";
#else
constexpr auto* kSubscribe = "cuptiSubscribe";
#endif

std::atomic<bool> is_held{false};

}  // namespace

bool holds_cupti() { return is_held; }

bool CuptiSubscription::load() {
  if (subscribe_ != nullptr) return true;
  // torch's own one where it has loaded it.
  void* library = ::dlopen(fmt::format("libcupti.so.{}", kCudaMajor).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  enable_ = reinterpret_cast<decltype(enable_)>(::dlsym(library, "cuptiEnableCallback"));
  unsubscribe_ = reinterpret_cast<decltype(unsubscribe_)>(::dlsym(library, "cuptiUnsubscribe"));
  get_device_ = reinterpret_cast<decltype(get_device_)>(::dlsym(library, "cuptiGetDeviceId"));
  name_ = reinterpret_cast<decltype(name_)>(::dlsym(library, "cuptiGetResultString"));
  if (enable_ != nullptr && unsubscribe_ != nullptr && get_device_ != nullptr)
    subscribe_ = ::dlsym(library, kSubscribe);
  return subscribe_ != nullptr;
}

CUptiResult CuptiSubscription::take(std::string& other) {
#ifdef STEPLEAK_CUPTI_NAMES_SUBSCRIBERS
  std::array<char, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN> name{};
  CUpti_SubscriberParams parameters{CUpti_SubscriberParams_STRUCT_SIZE, "stepleak", name.data(), name.size()};
  const auto subscribe = reinterpret_cast<decltype(&cuptiSubscribe_v2)>(subscribe_);
  const auto status = subscribe(&subscriber_, callback_, nullptr, &parameters);
  other = name.data();
  return status;
#else
  other.clear();
  return reinterpret_cast<decltype(&cuptiSubscribe)>(subscribe_)(&subscriber_, callback_, nullptr);
#endif
}

std::string_view CuptiSubscription::name_of(CUptiResult status) const {
  const char* name = nullptr;
  return name_ != nullptr && name_(status, &name) == CUPTI_SUCCESS ? name : "unknown";
}

std::string CuptiSubscription::subscribe() {
  unsubscribe();
  if (!load()) {
    return fmt::format("CUPTI cannot be loaded (libcupti.so.{}): install nvidia-cuda-cupti of torch's CUDA version",
                       kCudaMajor);
  }
  std::string other;
  const auto status = take(other);
  if (status != CUPTI_SUCCESS) return cupti_refusal(status, other, name_of(status));
  is_held = true;
  for (const auto& call : watched_calls()) {
    (void)enable_(1, subscriber_, CUPTI_CB_DOMAIN_DRIVER_API, static_cast<CUpti_CallbackId>(call.id));
  }
  return {};
}

void CuptiSubscription::unsubscribe() {
  if (subscriber_ == nullptr) return;
  (void)unsubscribe_(subscriber_);
  subscriber_ = nullptr;
  is_held = false;
}

std::size_t CuptiSubscription::device_of(CUcontext context) const {
  std::uint32_t device = 0;
  return get_device_(context, &device) == CUPTI_SUCCESS ? device : 0;
}

}  // namespace stepleak
