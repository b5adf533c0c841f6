// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include "harness/cli/observing/embedded_python.hpp"

#include <fmt/format.h>
#include <pybind11/embed.h>
#include <pybind11/stl.h>

#include <csignal>
#include <cstdlib>
#include <utility>

#include "harness/api/python_step.hpp"
#include "harness/api/python_trial.hpp"
#include "harness/base/errors.hpp"

namespace py = pybind11;

namespace stepleak {
namespace {

// A path need not be UTF-8: as os.fsdecode() has it.
py::str text_of(const std::filesystem::path& path) {
  return py::reinterpret_steal<py::str>(
      PyUnicode_DecodeFSDefaultAndSize(path.c_str(), static_cast<Py_ssize_t>(path.native().size())));
}

[[noreturn]] void rethrow(py::error_already_set& error, const std::string& what) {
  if (const auto wrong_use = wrong_use_of(&error)) throw *wrong_use;
  throw StepFailure(what + exception_text(&error), "the set-up must run on its own: try python3 on the file");
}

RunRecord failed_set_up(const StepFailure& failure, const Options& options) {
  return {.target = options.target,
          .device = device_of(options.device),
          .failure = RunFailure{.reason = "the set-up failed", .what = failure.what(), .remedy = failure.remedy()}};
}

// What the result records as conditions holds for the set-up as well. CUDA stays as it is: its generators are seeded
// when the set-up starts it, which may choose devices before.
void before_set_up(const Options& options) {
  py::module_::import("stepleak._load").attr("seed_everything")(options.seed);
  if (options.threads > 0) py::module_::import("torch").attr("set_num_threads")(options.threads);
}

// The scenario was named rightly: what is wrong with its step is its set-up's failure.
bool scenario_takes_index(const py::object& step, const std::string& name) try {
  return py::module_::import("stepleak._load").attr("scenario_takes_index")(step, name).cast<bool>();
} catch (py::error_already_set& error) {
  if (const auto wrong = wrong_use_of(&error)) throw StepFailure(wrong->what(), wrong->remedy());
  rethrow(error, "the set-up raised ");
}

// What a worker recorded, which ends without taking it down.
struct LastStep {
  py::object callable;
  bool takes_index = false;
};
LastStep* last_step = nullptr;

// Called with the GIL; releases it for the run.
RunRecord record_callable(const py::object& callable, bool takes_index, const Options& options,
                          FlightRecorder& recorder) {
  last_step = new LastStep{callable, takes_index};
  const py::gil_scoped_release without_gil;
  return record_python_run(callable.ptr(), takes_index, options, &recorder);
}

struct sigaction interrupt_action() {
  struct sigaction action {};
  ::sigaction(SIGINT, nullptr, &action);
  return action;
}

// Python takes SIGINT for itself where nobody has, and makes an exception of it in the middle of torch's import. Up to
// the first worker there is nothing to lose: Ctrl-C ends the process, as it does any program.
class PlainInterrupt {
 public:
  PlainInterrupt() {
    if (before_.sa_handler != SIG_DFL) return;
    struct sigaction action {};
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    action.sa_handler = [](int signal) { ::raise(signal); };
    ::sigaction(SIGINT, &action, nullptr);
  }
  PlainInterrupt(const PlainInterrupt&) = delete;
  PlainInterrupt& operator=(const PlainInterrupt&) = delete;
  ~PlainInterrupt() { ::sigaction(SIGINT, &before_, nullptr); }

 private:
  struct sigaction before_ = interrupt_action();
};

void check_status(const PyStatus& status, const Layout& layout) {
  if (PyStatus_Exception(status) != 0) {
    throw failure_error(fmt::format("Python does not start: {}", status.err_msg != nullptr ? status.err_msg : "?"),
                        fmt::format("is {} still there? {}", layout.python, layout.repair));
  }
}

// stepleak/__main__.py does the same for an interpreter that is there already.
void start_interpreter(const Layout& layout) {
  PyPreConfig before;
  PyPreConfig_InitPythonConfig(&before);
  // malloc for all objects: the host heap's ledger then sees them.
  before.allocator = PYMEM_ALLOCATOR_MALLOC;
  check_status(Py_PreInitialize(&before), layout);
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.parse_argv = 0;
  config.install_signal_handlers = 0;
  config.buffered_stdio = 0;  // what a step printed must not be lost where its worker ends or dies
  config.use_hash_seed = 1;
  config.hash_seed = 0;
  check_status(PyConfig_SetBytesString(&config, &config.executable, layout.python.c_str()), layout);
  check_status(Py_InitializeFromConfig(&config), layout);
  PyConfig_Clear(&config);
  py::module_::import("sys").attr("path").attr("insert")(0, text_of(layout.package_folder));
}

Scenario to_scenario(const py::handle& item) {
  Scenario scenario{
      .name = item.attr("name").cast<std::string>(),
      .story = item.attr("story").cast<std::string>(),
      .report = item.attr("report").cast<std::string>(),
      .file = item.attr("file").cast<std::string>(),
      .expected = parse_verdict(item.attr("expected").cast<std::string>()).value_or(Verdict::failure),
  };
  for (const auto& kind : item.attr("kinds")) {
    const auto parsed = parse_kind(kind.cast<std::string>());
    if (!parsed) throw failure_error(fmt::format("{}: no kind '{}'", scenario.file, kind.cast<std::string>()));
    scenario.kinds.push_back(*parsed);
  }
  scenario.lines = item.attr("lines").cast<std::vector<std::string>>();
  scenario.holders = item.attr("holders").cast<std::vector<std::string>>();
  scenario.bytes_per_step = item.attr("bytes_per_step").cast<double>();
  scenario.not_yet = item.attr("not_yet").cast<std::string>();
  scenario.needs = item.attr("needs").cast<std::vector<std::string>>();
  scenario.missing = item.attr("missing").cast<std::string>();
  scenario.needs_cuda = item.attr("needs_cuda").cast<bool>();
  scenario.min_gpus = item.attr("min_gpus").cast<int>();
  return scenario;
}

bool is_started = false;

}  // namespace

void EmbeddedPython::start(const Layout& layout) {
  if (is_started) return;
  is_started = true;
  const PlainInterrupt plain_interrupt;
  if (Py_IsInitialized() == 0) start_interpreter(layout);
  try {
    py::module_::import("torch");
    // Every optimizer imports it, which takes seconds: once here instead of once a worker.
    py::module_::import("torch._dynamo");
    py::module_::import("stepleak._load");
    // Old objects are set apart once here, so that collections in workers need not walk them.
    const auto gc = py::module_::import("gc");
    gc.attr("collect")();
    gc.attr("freeze")();
  } catch (py::error_already_set& error) {
    // A folder that cannot be written, or too little memory, is no matter of what is installed.
    const bool is_of_installation = error.matches(PyExc_ImportError);
    const auto python = py::str(py::module_::import("sys").attr("executable")).cast<std::string>();
    throw failure_error(fmt::format("torch does not import in {}: {}", python, error.what()),
                        is_of_installation ? repair_of_python(layout, python)
                                           : "mend that first; python -c 'import torch, torch._dynamo' fails, too");
  }
}

void EmbeddedPython::start_in_worker(const Layout& layout, OnTemporaryFolder on_temporary_folder) {
  if (is_started) {
    // The keeper's forks are none of Python's. From 3.13 on it ends the process where it is to give back locks that it
    // has not taken for a fork. One thread has forked, so that to take them here is as good as before.
    PyOS_BeforeFork();
    PyOS_AfterFork_Child();
  } else {
    start(layout);
  }
  // From here on what runs is the user's.
  const auto environment = py::module_::import("os").attr("environ");
  for (const auto& name : layout.set_for_import) environment.attr("pop")(name, py::none());
  watch_temporary_folders(std::move(on_temporary_folder));
  if (interrupt_action().sa_handler == SIG_DFL) {
    const auto signal = py::module_::import("signal");
    signal.attr("signal")(signal.attr("SIGINT"), signal.attr("default_int_handler"));
  }
  try {
    py::module_::import("faulthandler").attr("enable")(py::arg("all_threads") = true);
  } catch (py::error_already_set&) {
    // stderr may be closed; a crash is reported without Python's stacks then
  }
}

void EmbeddedPython::end_in_worker() {
  try {
    py::module_::import("atexit").attr("_run_exitfuncs")();
  } catch (py::error_already_set&) {
    // what fails at the exit of a step's process has been printed, and changes no result
  }
}

RunRecord EmbeddedPython::record_file(const std::filesystem::path& file, const std::string& callable,
                                      const Options& options, FlightRecorder& recorder) try {
  const auto load = py::module_::import("stepleak._load");
  py::object step;
  bool takes_index = false;
  try {
    before_set_up(options);
    py::list arguments;
    arguments.append(text_of(file));
    py::module_::import("sys").attr("argv") = arguments;
    step = load.attr("load_step")(text_of(file), callable);
    takes_index = load.attr("takes_index")(step, text_of(options.target)).cast<bool>();
  } catch (py::error_already_set& error) {
    rethrow(error, "the set-up raised ");
  }
  return record_callable(step, takes_index, options, recorder);
} catch (const StepFailure& failure) {
  return failed_set_up(failure, options);
}

ScenarioList EmbeddedPython::load_scenarios(const std::filesystem::path& folder, const ScenarioLoading& loading) {
  ScenarioList list;
  const auto on_file = [&loading](std::string_view file) {
    if (loading.on_file) loading.on_file(file);
  };
  try {
    py::set left_out;
    for (const auto& file : loading.left_out) left_out.add(text_of(file));
    const auto loaded =
        py::module_::import("stepleak._load")
            .attr("load_scenarios")(text_of(folder), left_out,
                                    py::cpp_function([&](const py::bytes& file) { on_file(std::string(file)); }));
    on_file({});
    for (const auto& item : loaded.attr("scenarios")) {
      try {
        list.scenarios.push_back(to_scenario(item));
      } catch (const Error& error) {
        list.broken.push_back({item.attr("file").cast<std::string>(), error.what()});
      }
    }
    for (const auto& item : loaded.attr("broken")) {
      list.broken.push_back({item.attr("file").cast<std::string>(), item.attr("what").cast<std::string>()});
    }
  } catch (py::error_already_set& error) {
    throw failure_error(fmt::format("a scenario of {} does not load: {}", folder.string(), error.what()),
                        "run the file with python3");
  }
  return list;
}

RunRecord EmbeddedPython::record_scenario(const std::string& name, const Options& options,
                                          FlightRecorder& recorder) try {
  py::object step;
  try {
    before_set_up(options);
    step = py::module_::import("stepleak.scenario").attr("set_up")(name, to_string(device_of(options.device)));
  } catch (py::error_already_set& error) {
    rethrow(error, "the set-up raised ");
  }
  return record_callable(step, scenario_takes_index(step, name), options, recorder);
} catch (const StepFailure& failure) {
  return failed_set_up(failure, options);
}

std::vector<Trial> EmbeddedPython::try_fixes(const RunRecord& record, const Options& options) {
  if (last_step == nullptr) return {};
  const py::gil_scoped_release without_gil;
  return try_python_fixes(last_step->callable.ptr(), last_step->takes_index, record, options);
}

std::vector<std::string> EmbeddedPython::self_growth_steps() {
  std::vector<std::string> names;
  for (const auto& name : py::module_::import("stepleak._self_growth").attr("STEPS")) {
    names.push_back(name.cast<std::string>());
  }
  return names;
}

RunRecord EmbeddedPython::record_self_growth(const std::string& name, const Options& options,
                                             FlightRecorder& recorder) {
  const auto set_up = py::module_::import("stepleak._self_growth").attr("STEPS")[py::str(name)];
  return record_callable(set_up(to_string(device_of(options.device))), false, options, recorder);
}

RunRecord EmbeddedPython::without_gil(const std::function<RunRecord()>& record) {
  const py::gil_scoped_release released;
  return record();
}

std::vector<std::pair<std::string, std::string>> EmbeddedPython::facts() {
  const auto torch = py::module_::import("torch");
  const auto sys = py::module_::import("sys");
  return {{"python", py::str(sys.attr("version")).cast<std::string>()},
          {"executable", py::str(sys.attr("executable")).cast<std::string>()},
          {"torch", py::str(torch.attr("__version__")).cast<std::string>()},
          {"torch folder", py::str(torch.attr("__path__")[py::int_(0)]).cast<std::string>()}};
}

}  // namespace stepleak
