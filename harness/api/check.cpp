// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/api/check.hpp"

#include "harness/api/run_setup.hpp"
#include "harness/drive/repeat.hpp"

namespace stepleak {
namespace {

void run_steps(const Step& step, std::int64_t count, Observer& observer, Trace& trace, const Recording& plan) {
  for (const auto end = trace.step_count() + count; trace.step_count() < end;) {
    const auto number = trace.step_count() + 1;
    observer.begin_step(number, plan.is_recorded(number));
    step(number - 1);
    observer.end_step(number == end, trace);
  }
}

}  // namespace

RunRecord record_run(const Step& step, const Options& options, const Surroundings& surroundings) {
  const RunSetup setup(options, surroundings);
  Session session(setup.parts());
  auto record = repeat(step, session);
  setup.complete(record);
  return record;
}

Result check(const Step& step, const Options& options, const Surroundings& surroundings) {
  return result_of(record_run(step, options, surroundings));
}

Trace observe(const Step& step, const Passes& passes, const Options& options, const Surroundings& surroundings) {
  const RunSetup setup(options, surroundings);
  Observer observer(setup.parts().observer);
  Trace trace(setup.parts().facts, observer.keys());
  observer.attach();
  run_steps(step, passes.screen_steps, observer, trace, {});
  if (passes.record_steps > 0) {
    const Pass pass{.type = PassType::record,
                    .first_step = trace.step_count() + 1,
                    .planned_steps = passes.record_steps,
                    .stride = passes.record_stride};
    observer.begin_record(pass);
    run_steps(step, passes.record_steps, observer, trace, {.pass = pass, .steps = passes.record_steps});
    (void)observer.end_record(pass, passes.record_steps);
  }
  return trace;
}

}  // namespace stepleak
