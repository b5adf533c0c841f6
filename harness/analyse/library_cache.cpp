// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/analyse/library_cache.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string_view>
#include <vector>

#include "harness/analyse/host_growth.hpp"
#include "harness/analyse/suspects.hpp"
#include "harness/trace/collective_recorder.hpp"

namespace stepleak {
namespace {

// They make plans and load code on their own account. CUDA's driver does so for all of them.
bool is_computing(std::string_view library) {
  constexpr std::array<std::string_view, 15> kPrefixes{
      "libcuda.",    "libcudart.", "libcudnn", "libcublas",  "libcufft", "libcurand", "libcusolver", "libcusparse",
      "libcutensor", "libnvrtc",   "libnvJit", "libnvidia-", "libnccl",  "libmkl",    "libdnnl"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(), [&](auto prefix) { return library.starts_with(prefix); });
}

// Code is loaded for what is computed for the first time, whoever asks for that.
bool is_code(const Survivor& survivor) {
  return survivor.handle == HandleType::module || survivor.handle == HandleType::library;
}

// The heaviest of those by whom more than the half of `whole` was made; empty where there is less.
std::string heaviest_of(const std::map<std::string, double>& shares, double whole) {
  double sum = 0;
  for (const auto& [library, share] : shares) sum += share;
  if (shares.empty() || 2 * sum < whole) return {};
  return std::max_element(shares.begin(), shares.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

// How often the commonest of these values is there.
std::int64_t count_of_commonest(const std::vector<std::int64_t>& values) {
  std::map<std::int64_t, std::int64_t> counts;
  std::int64_t most = 0;
  for (const auto value : values) most = std::max(most, ++counts[value]);
  return most;
}

// Whether most of the steps left the same number of bytes.
bool is_alike(const std::map<std::int64_t, std::int64_t>& bytes_of_steps, std::int64_t proof_steps) {
  std::vector<std::int64_t> left;
  for (const auto& [step, bytes] : bytes_of_steps) left.push_back(bytes);
  return 2 * count_of_commonest(left) > proof_steps;
}

// Whether each of the recorded steps left the same number of bytes, but for what a table of a library's takes beside:
// an eighth of it.
bool is_nearly_alike(const std::map<std::int64_t, std::int64_t>& bytes_of_steps, std::int64_t proof_steps) {
  if (std::ssize(bytes_of_steps) < proof_steps) return false;
  std::vector<std::int64_t> left;
  for (const auto& [step, bytes] : bytes_of_steps) left.push_back(bytes);
  const auto [least, most] = std::minmax_element(left.begin(), left.end());
  return 8 * (*most - *least) <= *most;
}

// How many of the recorded steps computed as much as each other on each device, by their peaks. A plan for a shape that
// is new in each step is as large as the last one.
enum class AlikeSteps { few, most, all };
AlikeSteps alike_steps_of(const Evidence& evidence) {
  const auto& recording = evidence.recording;
  const StepRange recorded{recording.pass.first_step, recording.last_step()};
  auto alike = AlikeSteps::all;
  for (const auto& device : evidence.trace.devices()) {
    const auto peaks = values_of(evidence.trace, {Counter::peak_bytes, device}, recorded);
    const auto count = count_of_commonest(peaks);
    if (count < std::ssize(peaks)) alike = std::min(alike, AlikeSteps::most);
    if (2 * count <= std::ssize(peaks) && !peaks.empty()) alike = AlikeSteps::few;
  }
  return alike;
}

std::string heap_library(const Evidence& evidence, const Finding& finding) {
  const auto& recording = evidence.recording;
  const auto kept = survivors_where(recording, [&](const Survivor& s) {
    return s.type == SurvivorType::heap && is_old(recording, s) && is_computing(s.library);
  });
  std::map<std::string, double> shares;
  std::map<std::int64_t, std::int64_t> bytes_of_steps;
  for (const auto* survivor : kept) {
    shares[survivor->library] += static_cast<double>(survivor->bytes);
    bytes_of_steps[survivor->birth_step] += survivor->bytes;
  }
  const auto alike = alike_steps_of(evidence);
  if (is_alike(bytes_of_steps, recording.proof_steps()) && alike != AlikeSteps::few) return {};
  if (is_nearly_alike(bytes_of_steps, recording.proof_steps()) && alike == AlikeSteps::all) return {};
  return heaviest_of(shares, finding.bytes_per_step * static_cast<double>(recording.proof_steps()));
}

// What torch records of collectives, in each step alike: only so much of it comes to be.
std::string collective_recorder(const Evidence& evidence, const Finding& finding) {
  const auto& recording = evidence.recording;
  const auto so_far = finding.bytes_per_step * static_cast<double>(recording.last_step());
  if (so_far > static_cast<double>(kMostRecordedBytes)) return {};
  std::map<std::string, double> shares;
  for (const auto& survivor : recording.survivors) {
    if (survivor.library != kCollectiveRecorder || !is_old(recording, survivor)) continue;
    shares[survivor.library] += static_cast<double>(survivor.bytes);
  }
  return heaviest_of(shares, finding.bytes_per_step * static_cast<double>(recording.proof_steps()));
}

std::string object_library(const Evidence& evidence, const Finding& finding) {
  if (evidence.trends.of({Counter::cuda_objects, finding.device}).period > 0) return {};
  double all = 0;
  std::map<std::string, double> shares;
  for (const auto* object : old_cuda_objects(evidence.recording, finding.device)) {
    if (object->library.empty() && !is_code(*object)) continue;
    ++all;
    if (!is_code(*object) && !is_computing(object->library)) continue;
    ++shares[object->library.empty() ? "CUDA" : object->library];
  }
  return heaviest_of(shares, all);
}

}  // namespace

std::string caching_library(const Evidence& evidence, const Finding& finding) {
  if (finding.holder_index >= 0) return {};
  if (finding.kind == Kind::raw_cuda) return object_library(evidence, finding);
  // Few objects of Python's, such as those that take the place of others which had been set apart, are no plans.
  const bool are_objects_few = finding.counted == Counted::python_objects && finding.count_per_step < kHeavyObjects;
  const bool is_of_heap = finding.kind == Kind::host_heap && (finding.counted == Counted::nothing || are_objects_few);
  if (!is_of_heap) return {};
  auto recorder = collective_recorder(evidence, finding);
  return recorder.empty() ? heap_library(evidence, finding) : recorder;
}

}  // namespace stepleak
