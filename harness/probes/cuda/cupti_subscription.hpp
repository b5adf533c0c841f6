// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <string>
#include <string_view>

#include "harness/probes/cuda/cupti_calls.hpp"

namespace stepleak {

/// CUPTI's subscription to calls of the driver. A process has one, whoever holds it.
///
/// CUPTI is loaded when it is first needed: that of the CUDA that torch was built for. Not thread-safe.
class CuptiSubscription {
 public:
  explicit CuptiSubscription(CUpti_CallbackFunc callback) : callback_(callback) {}

  /// Empty where `callback` is called from now on, before and after each of watched_calls(); else why not.
  [[nodiscard]] std::string subscribe();
  void unsubscribe();

  /// The GPU of a context, of the calling thread's where it is null; 0 where CUPTI does not know it. From within a
  /// callback, too.
  [[nodiscard]] std::size_t device_of(CUcontext context) const;

 private:
  [[nodiscard]] bool load();
  // Fills `other` with the name of who holds the subscription, where CUPTI tells it.
  [[nodiscard]] CUptiResult take(std::string& other);
  [[nodiscard]] std::string_view name_of(CUptiResult status) const;

  CUpti_CallbackFunc callback_;
  void* subscribe_ = nullptr;
  decltype(&cuptiEnableCallback) enable_ = nullptr;
  decltype(&cuptiUnsubscribe) unsubscribe_ = nullptr;
  decltype(&cuptiGetDeviceId) get_device_ = nullptr;
  decltype(&cuptiGetResultString) name_ = nullptr;
  CUpti_SubscriberHandle subscriber_ = nullptr;
};

}  // namespace stepleak
