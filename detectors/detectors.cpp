// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "detectors/detectors.hpp"

#include "detectors/attached_activation/attached_activation_detector.hpp"
#include "detectors/detached_activation/detached_activation_detector.hpp"
#include "detectors/fragmentation_drift/fragmentation_drift_detector.hpp"
#include "detectors/graph_retention/graph_retention_detector.hpp"
#include "detectors/growing_buffer/growing_buffer_detector.hpp"
#include "detectors/growth/growth_detector.hpp"
#include "detectors/host_heap/host_heap_detector.hpp"
#include "detectors/optimizer_state/optimizer_state_detector.hpp"
#include "detectors/pinned_host/pinned_host_detector.hpp"
#include "detectors/raw_cuda/raw_cuda_detector.hpp"
#include "detectors/reference_cycle/reference_cycle_detector.hpp"
#include "detectors/stuck_free/stuck_free_detector.hpp"
#include "detectors/view_pins_storage/view_pins_storage_detector.hpp"

namespace stepleak {

std::vector<std::unique_ptr<Detector>> all_detectors() {
  std::vector<std::unique_ptr<Detector>> detectors;
  detectors.push_back(std::make_unique<ReferenceCycleDetector>());
  detectors.push_back(std::make_unique<GraphRetentionDetector>());
  detectors.push_back(std::make_unique<AttachedActivationDetector>());
  detectors.push_back(std::make_unique<PinnedHostDetector>());
  detectors.push_back(std::make_unique<OptimizerStateDetector>());
  detectors.push_back(std::make_unique<ViewPinsStorageDetector>());
  detectors.push_back(std::make_unique<GrowingBufferDetector>());
  detectors.push_back(std::make_unique<DetachedActivationDetector>());
  detectors.push_back(std::make_unique<GrowthDetector>());
  detectors.push_back(std::make_unique<StuckFreeDetector>());
  detectors.push_back(std::make_unique<RawCudaDetector>());
  detectors.push_back(std::make_unique<FragmentationDriftDetector>());
  detectors.push_back(std::make_unique<HostHeapDetector>());
  return detectors;
}

}  // namespace stepleak
