// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "tests/support/synthetic_run.hpp"

#include <memory>

#include "detectors/detectors.hpp"
#include "harness/drive/repeat.hpp"
#include "harness/explain/conclusion.hpp"

namespace stepleak {

Result run_synthetic(const SyntheticProgram& program, const SyntheticRun& run) {
  static const auto kDetectors = all_detectors();
  SyntheticMemory memory(run.addresses);
  memory.take_heap(run.set_up);
  memory.take_objects(run.set_up);
  if (run.set_up > 0) memory.hold(run.set_up);
  const bool has_python = run.sources == Sources::read;
  SyntheticProbe probe(memory, has_python);
  SyntheticHolderSearch search(memory, program.structure, program.has_new_keys_only);
  SessionParts parts{.target = "synthetic", .policy = run.policy, .facts = {.has_python = has_python}};
  parts.observer.probes = {&probe};
  if (has_python) parts.holder_searches = {&search};
  for (const auto& detector : kDetectors) parts.detectors.push_back(detector.get());
  Session session(parts);
  const auto step = [&](std::int64_t index) {
    memory.begin_step(index + 1);
    program.step(index + 1, memory);
  };
  auto record = repeat(step, session);
  if (run.host_bytes > 0) record.capacities.push_back({kHost, run.host_bytes, 0});
  return conclude(record, parts.detectors);
}

}  // namespace stepleak
