// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0
#include "harness/trace/run_record_json.hpp"

#include <algorithm>

#include "harness/trace/json_values.hpp"
#include "harness/trace/recording_json.hpp"

namespace stepleak {
namespace {

constexpr std::string_view kFormat = "stepleak-trace";

Json policy_to_json(const Policy& policy) {
  return {{"proof_steps", policy.proof_steps},       {"clean_steps", policy.clean_steps},
          {"leak_steps", policy.leak_steps},         {"budget_steps", policy.budget_steps},
          {"budget_seconds", policy.budget_seconds}, {"period", policy.period}};
}

Policy policy_from_json(const Json& json) {
  return {.proof_steps = count_from(json.contains("proof_steps") ? json.at("proof_steps") : json.at("leak_steps")),
          .clean_steps = count_from(json.at("clean_steps")),
          .leak_steps = count_from(json.at("leak_steps")),
          .budget_steps = count_from(json.at("budget_steps")),
          .budget_seconds = json.at("budget_seconds"),
          .period = count_from(json.at("period"))};
}

// A ledger that is read at each boundary needs no steps.
Json ledgers_to_json(const Trace& trace) {
  Json ledgers = Json::object();
  for (const auto& ledger : trace.ledgers()) {
    const std::vector<std::int64_t> values(ledger.values().begin(), ledger.values().end());
    Json json = {{"values", values}};
    if (static_cast<std::int64_t>(values.size()) != trace.step_count()) {
      json["steps"] = std::vector<std::int64_t>(ledger.steps().begin(), ledger.steps().end());
    }
    ledgers[to_string(ledger.key())] = std::move(json);
  }
  return ledgers;
}

Json looks_to_json(const Trace& trace) {
  Json looks = Json::array();
  for (const auto& look : trace.looks()) {
    Json tables = Json::array();
    for (const auto& table : look.cohorts) {
      Json cohorts = Json::array();
      for (const auto& cohort : table.cohorts) cohorts.push_back({cohort.birth_step, cohort.bytes, cohort.blocks});
      tables.push_back({{"device", to_string(table.device)}, {"cohorts", std::move(cohorts)}});
    }
    looks.push_back({{"step", look.step}, {"tables", std::move(tables)}});
  }
  return looks;
}

Json trace_to_json(const Trace& trace) {
  Json changes = Json::array();
  for (const auto& change : trace.collector_changes()) {
    changes.push_back({{"step", change.step}, {"is_enabled", change.is_enabled}});
  }
  Json passes = Json::array();
  for (const auto& pass : trace.passes()) passes.push_back(pass_to_json(pass));
  Json recordings = Json::array();
  for (const auto& recording : trace.recordings()) recordings.push_back(recording_to_json(recording));
  Json json = {
      {"facts", {{"has_python", trace.facts().has_python}, {"declared_period", trace.facts().declared_period}}},
      {"steps", trace.step_count()},
      {"collector_changes", std::move(changes)},
      {"passes", std::move(passes)},
      {"looks", looks_to_json(trace)},
      {"ledgers", ledgers_to_json(trace)},
      {"recordings", std::move(recordings)}};
  if (!trace.marks().empty()) json["marks"] = marks_to_json(trace);
  return json;
}

std::vector<std::int64_t> counts_from(const Json& json) {
  std::vector<std::int64_t> counts;
  for (const auto& count : json) counts.push_back(count_from(count));
  return counts;
}

// Of a few words of text no table of terabytes is made: at most boundaries something was read.
std::int64_t step_count_from(const Json& json) {
  constexpr std::int64_t kMostUnread = std::int64_t{1} << 20U;
  const auto steps = count_from(json.at("steps"));
  std::int64_t most = kMostUnread;
  for (const auto& ledger : json.at("ledgers")) {
    most = std::max(most, kMostUnread + static_cast<std::int64_t>(ledger.at("values").size()));
  }
  if (steps < 0 || steps > most) throw failure_error(fmt::format("it cannot have {} steps", steps));
  return steps;
}

std::vector<std::int64_t> column_from_json(const Json& ledger, std::int64_t step_count) {
  const auto values = counts_from(ledger.at("values"));
  std::vector<std::int64_t> column(static_cast<std::size_t>(step_count), kUnread);
  if (!ledger.contains("steps")) {
    if (values.size() != column.size()) throw failure_error("a ledger has another length than the run");
    return values;
  }
  const auto steps = counts_from(ledger.at("steps"));
  if (steps.size() != values.size()) throw failure_error("a ledger has more values than steps, or fewer");
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i] < 1 || steps[i] > step_count) throw failure_error("a ledger was read outside the run");
    column[static_cast<std::size_t>(steps[i] - 1)] = values[i];
  }
  return column;
}

std::vector<CohortTable> tables_from_json(const Json& json, std::int64_t step) {
  std::vector<CohortTable> tables;
  for (const auto& table : json) {
    CohortTable read{.device = parse_device(table.at("device").get<std::string>()), .at_step = step};
    for (const auto& cohort : table.at("cohorts")) {
      read.cohorts.push_back({count_from(cohort.at(0)), count_from(cohort.at(1)), count_from(cohort.at(2))});
    }
    tables.push_back(std::move(read));
  }
  return tables;
}

// A trace is appended to in the order of its steps, as it was when it was recorded.
class TraceReader {
 public:
  explicit TraceReader(const Json& json) : json_(json), step_count_(step_count_from(json)) {
    const auto& facts = json.at("facts");
    for (const auto& [name, ledger] : json.at("ledgers").items()) {
      keys_.push_back(series_key_from(name));
      columns_.push_back(column_from_json(ledger, step_count_));
    }
    trace_ = Trace({facts.at("has_python"), count_from(facts.at("declared_period"))}, keys_);
  }

  Trace read() {
    add_what_stands_after(0);
    std::vector<std::int64_t> row(columns_.size());
    for (std::int64_t step = 1; step <= step_count_; ++step) {
      for (std::size_t i = 0; i < row.size(); ++i) row[i] = columns_[i][static_cast<std::size_t>(step - 1)];
      trace_.add_boundary(row);
      add_what_stands_after(step);
    }
    for (const auto& recording : json_.at("recordings")) trace_.add_recording(recording_from_json(recording));
    add_marks_from(json_, trace_);
    return std::move(trace_);
  }

 private:
  void add_what_stands_after(std::int64_t step) {
    for (const auto& change : json_.at("collector_changes")) {
      if (change.at("step") == step) trace_.add_collector_state(change.at("is_enabled"));
    }
    for (const auto& look : json_.at("looks")) {
      if (look.at("step") == step) trace_.add_look(tables_from_json(look.at("tables"), step));
    }
    for (const auto& pass : json_.at("passes")) {
      if (pass.at("first_step") == step + 1) trace_.begin_pass(pass_from_json(pass));
    }
  }

  const Json& json_;
  std::int64_t step_count_;
  std::vector<SeriesKey> keys_;
  std::vector<std::vector<std::int64_t>> columns_;
  Trace trace_;
};

Json trials_to_json(const std::vector<Trial>& trials) {
  Json json = Json::array();
  for (const auto& trial : trials) {
    Json corrections = Json::array();
    for (const auto& each : trial.corrections) {
      corrections.push_back({{"file", each.file},
                             {"line", each.line},
                             {"text", each.text},
                             {"expression", each.expression},
                             {"suffix", each.suffix}});
    }
    json.push_back({{"corrections", std::move(corrections)},
                    {"statements", trial.statements},
                    {"steps", trial.steps},
                    {"outcome", to_string(trial.outcome)},
                    {"what", trial.what}});
  }
  return json;
}

std::vector<Trial> trials_from_json(const Json& json) {
  std::vector<Trial> trials;
  for (const auto& told : json) {
    const std::string outcome = told.at("outcome");
    Trial trial{.statements = told.at("statements").get<std::vector<std::string>>(),
                .steps = count_from(told.at("steps")),
                .outcome = parsed(parse_trial_outcome(outcome), "outcome of a trial", outcome),
                .what = told.at("what")};
    for (const auto& each : told.at("corrections")) {
      trial.corrections.push_back(
          {each.at("file"), int_from(each.at("line")), each.at("text"), each.at("expression"), each.at("suffix")});
    }
    trials.push_back(std::move(trial));
  }
  return trials;
}

Json capacities_to_json(const std::vector<DeviceCapacity>& capacities) {
  Json json = Json::array();
  for (const auto& capacity : capacities) {
    json.push_back({{"device", to_string(capacity.device)},
                    {"total_bytes", capacity.total_bytes},
                    {"used_bytes", capacity.used_bytes}});
  }
  return json;
}

void check_format(const Json& json) {
  if (json.value("format", "") != kFormat) throw failure_error("it has not the format of a trace");
  if (json.at("version") != kTraceVersion) {
    throw failure_error(
        fmt::format("it has version {}, and this stepleak reads {}", json.at("version").dump(), kTraceVersion));
  }
}

}  // namespace

std::string to_json(const RunRecord& record) {
  Json json = {{"format", kFormat},
               {"version", kTraceVersion},
               {"target", record.target},
               {"device", to_string(record.device)},
               {"policy", policy_to_json(record.policy)},
               {"seconds", record.seconds},
               {"is_interrupted", record.is_interrupted},
               {"notes", record.notes},
               {"conditions", record.conditions},
               {"capacities", capacities_to_json(record.capacities)},
               {"trace", trace_to_json(record.trace)}};
  if (!record.declared.empty()) json["declared"] = declared_to_json(record.declared);
  if (!record.trials.empty()) json["trials"] = trials_to_json(record.trials);
  if (record.failure) json["failure"] = failure_to_json(*record.failure);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

RunRecord run_record_from_json(std::string_view text, const std::string& origin) try {
  const Json json = Json::parse(text);
  check_format(json);
  RunRecord record{.target = json.at("target"),
                   .device = parse_device(json.at("device").get<std::string>()),
                   .policy = policy_from_json(json.at("policy")),
                   .trace = TraceReader(json.at("trace")).read(),
                   .is_interrupted = json.at("is_interrupted"),
                   .notes = json.at("notes").get<std::vector<std::string>>(),
                   .conditions = json.at("conditions").get<std::map<std::string, std::string>>(),
                   .seconds = json.at("seconds")};
  if (!(record.seconds >= 0)) throw failure_error("it took less than no time");
  for (const auto& capacity : json.at("capacities")) {
    record.capacities.push_back({parse_device(capacity.at("device").get<std::string>()),
                                 count_from(capacity.at("total_bytes")), count_from(capacity.at("used_bytes"))});
  }
  if (json.contains("declared")) record.declared = declared_from_json(json.at("declared"));
  if (json.contains("trials")) record.trials = trials_from_json(json.at("trials"));
  if (json.contains("failure")) record.failure = failure_from_json(json.at("failure"));
  return record;
} catch (const Json::exception& error) {
  throw failure_error(fmt::format("{} is no trace of stepleak: {}", origin, error.what()),
                      "write it again: stepleak run ... --trace FILE");
} catch (const Error& error) {
  throw failure_error(fmt::format("{} is no trace that can be read: {}", origin, error.what()),
                      "write it again: stepleak run ... --trace FILE");
}

}  // namespace stepleak
