// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <span>
#include <string>

namespace stepleak {

/// CUPTI's subscription to calls of the driver. A process has one, whoever holds it.
///
/// CUPTI is loaded when it is first needed: that of the CUDA that torch was built for. Not thread-safe.
class CuptiSubscription {
 public:
  explicit CuptiSubscription(CUpti_CallbackFunc callback) : callback_(callback) {}

  /// Empty where `callback` is called from now on, before and after each of `calls`; else why not. Made once, also
  /// where an earlier pass did not end.
  [[nodiscard]] std::string subscribe(std::span<const CUpti_driver_api_trace_cbid> calls);
  void unsubscribe();

 private:
  [[nodiscard]] bool load();
  // Fills `other` with the name of who holds the subscription, where CUPTI tells it.
  [[nodiscard]] CUptiResult take(std::string& other);

  CUpti_CallbackFunc callback_;
  void* subscribe_ = nullptr;
  decltype(&cuptiEnableCallback) enable_ = nullptr;
  decltype(&cuptiUnsubscribe) unsubscribe_ = nullptr;
  CUpti_SubscriberHandle subscriber_ = nullptr;
};

}  // namespace stepleak
