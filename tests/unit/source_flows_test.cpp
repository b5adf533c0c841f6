// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/source_case.hpp"

namespace stepleak {
namespace {

using enum StructureType;

// A custom autograd function with a statement before it returns its output.
std::string function_with(const std::string& statement) {
  return "struct Swish : Function<Swish> {\n static at::Tensor forward(AutogradContext* context, at::Tensor x) {\n"
         "  auto output = x * at::sigmoid(x);  // made\n  " +
         statement + "\n  return output;\n }\n};\n";
}

INSTANTIATE_TEST_SUITE_P(
    OfContexts, SourceHoldersTest,
    testing::Values(
        SourceCase{"its own output", function_with("context->saved_data[\"output\"] = output;  // keeps"), unknown,
                   "context->saved_data (AutogradContext) -> Tensor"},
        SourceCase{"its input", function_with("context->saved_data[\"x\"] = x;"), unknown, ""},
        SourceCase{"detached", function_with("context->saved_data[\"output\"] = output.detach();"), unknown, ""},
        SourceCase{"something else", function_with("auto gate = output * 2;\n  context->saved_data[\"gate\"] = gate;"),
                   unknown, ""},
        SourceCase{"saved for backward", function_with("context->save_for_backward({x, output});"), unknown, ""}));

const std::string kPending = "local pending (std::vector<std::future<at::Tensor>>) -> Tensor";

// A step that hands a task to a pool; `before` and `after` stand around that.
std::string task_with(const std::string& declared, const std::string& before, const std::string& after) {
  return "TEST(A, B) {\n" + declared + "\n auto step = [&] {\n  " + before + "pool.submit([&] {\n" +
         "   return at::rand(4);  // made\n  })" + after + "\n };\n}\n";
}

INSTANTIATE_TEST_SUITE_P(
    OfFutures, SourceHoldersTest,
    testing::Values(
        SourceCase{"kept at once",
                   task_with("std::vector<std::future<at::Tensor>> pending;", "pending.push_back(  // keeps\n", ");"),
                   unbounded, kPending, -1, true},
        SourceCase{"kept later",
                   task_with("std::vector<std::future<at::Tensor>> pending;",
                             "auto future = ", ";\n  pending.push_back(std::move(future));  // keeps"),
                   unbounded, kPending, -1, true},
        SourceCase{"waited for", task_with("double sum = 0;", "auto future = ", ";\n  sum += future.get().item();"),
                   unknown, "", -1, true},
        SourceCase{"the task itself",
                   task_with("std::vector<std::function<at::Tensor()>> tasks;", "tasks.push_back(", ");"), unknown, "",
                   -1, true}));

// A cache that a step puts a tensor into, by a method that does something with it before it keeps it.
std::string cache_with(const std::string& arguments, const std::string& statement, const std::string& members) {
  return "struct Cache {\n void put(at::Tensor t, double weight) {\n  " + statement +
         "\n  values_.emplace(key_++, t);  // keeps\n }\n " + members +
         "\n std::map<long, at::Tensor> values_;\n};\nstruct Trainer {\n void step(double weight) {\n  cache_.put(" +
         arguments + ");  // made\n }\n Cache cache_;\n};\n";
}

const std::string kValues = "Cache::values_ (std::map<long,at::Tensor>) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfNumbers, SourceHoldersTest,
    testing::Values(SourceCase{"that a tensor gives",
                               cache_with("at::rand(4), 0.5", "bytes_ += t.numel() * 4;", "long key_ = 0, bytes_ = 0;"),
                               unbounded, kValues},
                    SourceCase{"beside a tensor",
                               cache_with("at::rand(4), 0.5", "weights_.push_back(Weight{weight});",
                                          "long key_ = 0;\n std::vector<Weight> weights_;"),
                               unbounded, kValues},
                    SourceCase{"that there were",
                               cache_with("at::rand(4), weight", "weights_.push_back(Weight{weight});",
                                          "long key_ = 0;\n std::vector<Weight> weights_;"),
                               unbounded, kValues},
                    SourceCase{"computed from it",
                               cache_with("at::rand(4), 0.5",
                                          "const double mean = t.mean().item<double>();\n"
                                          "  weights_.push_back(Weight{mean});",
                                          "long key_ = 0;\n std::vector<Weight> weights_;"),
                               unbounded, kValues},
                    SourceCase{"that are tensors",
                               cache_with("at::rand(4), 0.5", "sums_ += t;  // keeps",
                                          "long key_ = 0;\n at::Tensor mean_, sums_;"),
                               unbounded, "Cache::sums_ (at::Tensor) -> Tensor"}));

// A queue that a thread of its own takes from.
std::string queue_with(const std::string& start) {
  return "struct Writer {\n Writer() " + start +
         "\n void put(at::Tensor t) { queue_.push_back(t); }  // keeps\n"
         " void loop() { if (is_ready()) queue_.pop_front(); }\n std::deque<at::Tensor> queue_;\n"
         " std::thread thread_;\n};\nstruct Trainer {\n void step() {\n  writer_.put(at::rand(4));  // made\n }\n"
         " Writer writer_;\n};\n";
}

const std::string kQueue = "Writer::queue_ (std::deque<at::Tensor>) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfThreads, SourceHoldersTest,
    testing::Values(
        SourceCase{"a member with a lambda", queue_with(": thread_([this] { loop(); }) {}"), conditional, kQueue},
        SourceCase{"assigned", queue_with("{ thread_ = std::thread([this] { loop(); }); }"), conditional, kQueue},
        SourceCase{"a method", queue_with("{ thread_ = std::thread(&Writer::loop, this); }"), conditional, kQueue},
        SourceCase{"none that takes", queue_with("{ thread_ = std::thread([this] { show(); }); }"), uncalled, kQueue}));

// A walk through a graph, by a function that calls itself with what it has seen.
std::string walk_with(const std::string& declared) {
  return "void visit(Node* node, std::set<Node*>& seen) {\n if (!seen.insert(node).second) return;  // keeps\n"
         " for (auto& input : node->inputs) visit(input.get(), seen);\n}\nstruct Trainer {\n void step() {\n  " +
         declared + "\n  visit(make(at::rand(4)), seen);  // made\n }\n std::set<Node*> seen_;\n};\n";
}

INSTANTIATE_TEST_SUITE_P(OfWalks, SourceHoldersTest,
                         testing::Values(SourceCase{"of its own", walk_with("std::set<Node*> seen;"), unknown, ""},
                                         SourceCase{"that goes on", walk_with("auto& seen = seen_;"), keyed,
                                                    "Trainer::seen_ (std::set<Node*>) -> Tensor"}));

// A module of torch's, which a step makes, with another statement in it.
std::string module_with(const std::string& between, const std::string& statement) {
  return "struct NetImpl : torch::nn::Module {\n NetImpl() {\n  weight = torch::rand(4);  // made\n }\n"
         " torch::Tensor weight;\n};\n" +
         between + "  // macro\nstruct Trainer {\n void step() {\n  Net net(3);  // call\n  " + statement +
         "\n }\n std::vector<Net> nets_;\n};\n";
}

const std::string kNets = "Trainer::nets_ (std::vector<Net>) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfModules, SourceHoldersTest,
    testing::Values(SourceCase{"kept", module_with("TORCH_MODULE(Net);", "nets_.push_back(net);  // keeps"), unbounded,
                               kNets},
                    SourceCase{"used", module_with("TORCH_MODULE(Net);", "show(net);"), unknown, ""},
                    SourceCase{"made by what is not known",
                               module_with("constexpr int kNets = 3;", "nets_.push_back(net);"), unknown, ""}));

INSTANTIATE_TEST_SUITE_P(
    OfStreams, SourceHoldersTest,
    testing::Values(
        SourceCase{"saved into one of many",
                   test_with("std::map<int, std::unique_ptr<std::stringstream>> saved;",
                             "auto stream = std::make_unique<std::stringstream>();\ntorch::save(model, *stream);\n"
                             "saved[n++] = std::move(stream);  // keeps"),
                   unbounded, "local saved (std::map<int,std::unique_ptr<std::stringstream>>) -> Tensor", -1, true},
        SourceCase{
            "saved into a file",
            "struct Saver {\n std::vector<std::ofstream*> files;\n void step() {\n  auto* file = new std::ofstream();\n"
            "  torch::save(model, *file);  // made\n  files.push_back(file);\n }\n};\n",
            unknown, ""},
        SourceCase{
            "a log",
            "struct Log {\n std::ostringstream text;\n void step() {\n  text << at::rand(4);  // made, keeps\n }\n};\n",
            unbounded, "Log::text (std::ostringstream)"},
        SourceCase{"a log that is emptied",
                   "struct Log {\n int n = 0;\n std::ostringstream text;\n void step() {\n"
                   "  text << at::rand(4);  // made, keeps\n  if (++n % 50 == 0) text.str(\"\");\n }\n};\n",
                   reset, "Log::text (std::ostringstream)"},
        SourceCase{"a log whose flags are cleared",
                   "struct Log {\n int n = 0;\n std::ostringstream text;\n void step() {\n"
                   "  text << at::rand(4);  // made, keeps\n  text.clear(); show(text.str().size());\n }\n};\n",
                   unbounded, "Log::text (std::ostringstream)"},
        SourceCase{"a log of the step's own",
                   test_with("", "std::ostringstream text;\ntext << at::rand(4);\nshow(text.str());"), unknown, "", -1,
                   true}));

// A trainer whose optimizer gets a new head; `before` that, something else happens.
std::string heads_with(const std::string& before, const std::string& type = "torch::optim::Adam") {
  return "struct Trainer {\n int n = 0;\n nn::Linear head;\n " + type +
         " optimizer;\n void step() {\n  for (auto& group : optimizer.param_groups()) group.options().set_lr(0.1);\n "
         " " +
         before +
         "\n  head = nn::Linear(64, 20);  // made\n  head->to(device);\n"
         "  optimizer.add_param_group(OptimizerParamGroup(head->parameters()));  // keeps\n"
         "  optimizer.zero_grad();\n  optimizer.step();\n }\n};\n";
}

const std::string kOptimizer = "Trainer::optimizer (torch::optim::Adam) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfOptimizers, SourceHoldersTest,
    testing::Values(
        SourceCase{"groups stay", heads_with(""), unbounded, kOptimizer},
        SourceCase{"groups are read",
                   heads_with("log(optimizer.param_groups().front().params().size(), optimizer.state());"), unbounded,
                   kOptimizer},
        SourceCase{"the last one is taken out", heads_with("if (++n % 7 == 0) optimizer.param_groups().pop_back();"),
                   conditional, kOptimizer},
        SourceCase{"more than one is taken out",
                   heads_with("if (optimizer.param_groups().size() > 1) optimizer.param_groups().pop_back();"), bounded,
                   kOptimizer, 1},
        SourceCase{"all are taken out", heads_with("if (++n % 7 == 0) optimizer.param_groups().clear();"), reset,
                   kOptimizer},
        SourceCase{"one is replaced", heads_with("optimizer.param_groups().front().params() = head->parameters();"),
                   conditional, kOptimizer},
        SourceCase{
            "one is emptied",
            heads_with("for (auto& group : optimizer.param_groups()) { if (++n % 7 == 0) group.params().clear(); }"),
            conditional, kOptimizer},
        SourceCase{"a new optimizer", heads_with("if (++n % 7 == 0) optimizer = torch::optim::Adam(parameters());"),
                   reset, kOptimizer},
        SourceCase{"a schedule has it", heads_with("torch::optim::StepLR schedule(optimizer, 30, 0.1);"), unbounded,
                   kOptimizer},
        SourceCase{"somebody else has it", heads_with("watch(optimizer);"), unknown, kOptimizer},
        SourceCase{"moved by its module",
                   "struct Trainer {\n torch::optim::Adam optimizer;\n void step() {\n"
                   "  auto head = make();\n  head->to(device);  // made\n"
                   "  optimizer.add_param_group(OptimizerParamGroup(head->parameters()));  // keeps\n }\n};\n",
                   unbounded, kOptimizer},
        SourceCase{"another one's parameters",
                   "struct Trainer {\n torch::optim::Adam optimizer;\n void step() {\n"
                   "  auto head = make();\n  head->to(device);  // made\n"
                   "  optimizer.add_param_group(OptimizerParamGroup(other->parameters()));\n }\n};\n",
                   unknown, ""}));

// `statements` follow one that makes `net`, and one that makes `hidden` of it.
std::string trial_with(const std::string& statements) {
  return "struct Trial {\n at::Tensor weight;\n void step() {\n  auto net = std::make_shared<Net>();  // made\n"
         "  auto hidden = net->run(weight);\n  " +
         statements + "\n }\n};\n";
}

INSTANTIATE_TEST_SUITE_P(
    OfLambdas, SourceHoldersTest,
    testing::Values(
        SourceCase{"a function of its own", trial_with("net->on_run = [net](int) { net->count(); };  // keeps"),
                   unknown, "net->on_run (lambda) -> Tensor"},
        SourceCase{"by the name of another variable",
                   trial_with("net->on_run = [own = net] { own->count(); };  // keeps"), unknown,
                   "net->on_run (lambda) -> Tensor"},
        SourceCase{"all that it names", trial_with("net->on_run = [=] { net->count(); };  // keeps"), unknown,
                   "net->on_run (lambda) -> Tensor"},
        SourceCase{"a hook of its own",
                   trial_with("hidden.register_hook([this, hidden](at::Tensor grad) { show(hidden); });  // keeps"),
                   unknown, "hidden.register_hook (lambda) -> Tensor"},
        SourceCase{"a hook of what stays",
                   trial_with("weight.register_hook([hidden](at::Tensor grad) { return grad * hidden; });  // keeps"),
                   unknown, "Trial::weight (at::Tensor) -> Tensor"},
        SourceCase{
            "of the object that its constructor makes",
            "struct Net : nn::Module {\n Net(int in, int out) : layer(register_module(\"layer\", nn::Linear(in, "
            "out))) {}"
            "  // made\n nn::Linear layer;\n std::function<void()> on_run;\n};\nstruct Trial {\n void step() {\n"
            "  auto net = std::make_shared<Net>(3, 4);  // call\n  net->on_run = [net] { net->layer; };  // keeps\n "
            "}\n};\n",
            unknown, "net->on_run (lambda) -> Tensor"},
        SourceCase{"a reference", trial_with("net->on_run = [&net](int) { net->count(); };"), unknown, ""},
        SourceCase{"all by reference", trial_with("net->on_run = [&] { net->count(); };"), unknown, ""},
        SourceCase{"a weak pointer", trial_with("net->on_run = [weak = std::weak_ptr(net)] { weak.lock(); };"), unknown,
                   ""},
        SourceCase{
            "a hook that holds numbers",
            trial_with("hidden.register_hook([rows = hidden.size(0)](at::Tensor grad) { return grad / rows; });"),
            unknown, ""},
        SourceCase{"another one's function", trial_with("other.on_run = [this] { count(); };"), unknown, ""}));

// A filter with a chain of beliefs, each made of the one before.
std::string filter_with(const std::string& next, const std::string& more = "") {
  return "struct Belief { at::Tensor mean; std::shared_ptr<Belief> previous; };\nclass Filter {\n public:\n"
         " void observe(const at::Tensor& z) {\n  auto mean = current_->mean + z;  // made\n  " +
         next + "\n  current_ = std::make_shared<Belief>(std::move(next));  // keeps\n" + more +
         " }\n std::shared_ptr<Belief> current_;\n};\n";
}

const std::string kBelief = "Filter::current_ (std::shared_ptr<Belief>) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfChains, SourceHoldersTest,
    testing::Values(
        SourceCase{"with the one before", filter_with("Belief next{mean, current_};"), unknown, kBelief, -1, false,
                   false},
        SourceCase{"with the one before, moved", filter_with("Belief next(mean, std::move(current_));"), unknown,
                   kBelief, -1, false, false},
        SourceCase{"without the one before", filter_with("Belief next{mean, nullptr};"), unknown, "", -1, false, false},
        SourceCase{"with what the one before had", filter_with("Belief next{mean, current_->previous};"), unknown, "",
                   -1, false, false},
        SourceCase{"cut later", filter_with("Belief next{mean, current_};", "  current_->previous->previous.reset();"),
                   unknown, kBelief, -1, false, false}));

// A tuner that puts a new adapter into the place of the last one.
std::string tuner_with(const std::string& grouping) {
  return "struct Adapter { Adapter(int width) : down(at::rand({width, 4})) {}  // made\n at::Tensor down; };\n"
         "class Tuner {\n public:\n void begin() {\n  adapter_.emplace(8);  // call\n  " +
         grouping + "\n }\n std::optional<Adapter> adapter_;\n torch::optim::Adam optimizer_;\n};\n";
}

INSTANTIATE_TEST_SUITE_P(
    OfOptionals, SourceHoldersTest,
    testing::Values(SourceCase{"put into an optimizer, too",
                               tuner_with("optimizer_.add_param_group(adapter_->parameters());  // keeps"), unbounded,
                               "Tuner::optimizer_ (torch::optim::Adam) -> Tensor"},
                    SourceCase{"alone", tuner_with("adapter_->train();"), unknown, ""}));

// A step that makes a record of a loss, whose constructor does something with that.
std::string record_with(const std::string& making, const std::string& made) {
  return "struct Record {\n static std::vector<at::Tensor>& all() {\n  static std::vector<at::Tensor> kept;\n  return "
         "kept;\n }\n Record(int step, at::Tensor loss) : step_(step) {\n  " +
         made + "\n }\n int step_;\n at::Tensor last_;\n};\nstruct Trainer {\n void step() {\n  auto loss = " +
         "model(batch);  // made\n  " + making + "\n }\n};\n";
}

const std::string kKept = "local kept (static std::vector<at::Tensor>) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfConstructors, SourceHoldersTest,
    testing::Values(
        SourceCase{"with parentheses", record_with("Record record(1, loss);", "all().push_back(loss);  // keeps"),
                   unbounded, kKept},
        SourceCase{"with braces", record_with("Record record{1, loss};", "all().push_back(loss);  // keeps"), unbounded,
                   kKept},
        SourceCase{"of what a pointer leads to",
                   record_with("auto record = std::make_shared<Record>(1, loss);", "all().push_back(loss);  // keeps"),
                   unbounded, kKept},
        SourceCase{"that keep it in their object", record_with("Record record(1, loss);", "last_ = loss;"), unknown,
                   ""},
        SourceCase{"that are given a number", record_with("Record record(1, at::rand(4));", "all().push_back(loss);"),
                   unknown, ""}));

// A trainer that keeps its newest states, with what it does with those that it takes out, and with more members.
std::string window_with(const std::string& taking, const std::string& members) {
  const std::string kept = taking.find("// keeps") == std::string::npos ? ", keeps" : "";
  return "class Trainer {\n public:\n void step() {\n  live_.push_back(model(batch));  // made" + kept +
         "\n  trim();\n }\n " + ("void trim() {\n  " + taking) + "\n }\n std::list<at::Tensor> live_;\n " + members +
         "\n};\n";
}

constexpr auto kRetired = "std::list<at::Tensor> retired_;";
const std::string kOfRetired = "Trainer::retired_ (std::list<at::Tensor>) -> Tensor";
const std::string kLive = "Trainer::live_ (std::list<at::Tensor>) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfWhatIsPutOn, SourceHoldersTest,
    testing::Values(
        SourceCase{"spliced",
                   window_with("if (live_.size() > 8) retired_.splice(retired_.end(), live_, live_.begin());  // keeps",
                               kRetired),
                   unbounded, kOfRetired},
        SourceCase{
            "moved",
            window_with("if (live_.size() > 8) {\n   retired_.push_back(std::move(live_.front()));  // keeps\n   "
                        "live_.pop_front();\n  }",
                        kRetired),
            unbounded, kOfRetired},
        SourceCase{"by a variable",
                   window_with("if (live_.size() > 8) {\n   auto oldest = std::move(live_.front());\n   "
                               "live_.pop_front();\n   retired_.push_back(std::move(oldest));  // keeps\n  }",
                               kRetired),
                   unbounded, kOfRetired},
        SourceCase{"and cleared there",
                   window_with("if (live_.size() > 8) retired_.splice(retired_.end(), live_, live_.begin());\n  if "
                               "(retired_.size() > 64) retired_.clear();",
                               kRetired),
                   bounded, kLive, 8},
        SourceCase{
            "and dropped elsewhere",
            window_with(
                "if (live_.size() > 8) retired_.splice(retired_.end(), live_, live_.begin());  // keeps\n }\n void "
                "drop() {\n  live_.clear();",
                kRetired),
            unbounded, kOfRetired},
        SourceCase{
            "its length alone",
            window_with("if (live_.size() > 8) {\n   lengths_.push_back(live_.size());\n   live_.pop_front();\n  "
                        "}",
                        "std::vector<std::size_t> lengths_;"),
            bounded, kLive, 8}));

// A store of clients by ever new or repeating names; a step opens one.
std::string clients_with(const std::string& opening) {
  return "struct Client { long id; at::Tensor history; };\nclass Clients {\n public:\n void open(long id, at::Tensor "
         "x) "
         "{\n  " +
         opening +
         "\n }\n void read(long id) { if (clients_.count(id)) total_ += 1; }\n long total_ = 0;\n long next_ = 0;\n" +
         " std::map<long, Client> clients_;\n};\nstruct Trainer {\n void step() {\n  clients.open(step_ % 7, "
         "at::rand(4));" +
         "  // made\n  clients.read(3);\n }\n Clients clients;\n int step_ = 0;\n};\n";
}

const std::string kClients = "Clients::clients_ (std::map<long,Client>) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfEntries, SourceHoldersTest,
    testing::Values(
        SourceCase{"by a reference to one",
                   clients_with("auto& client = clients_[id];  // keeps\n  client.history = x;"), keyed, kClients},
        SourceCase{"by a reference to a new one",
                   clients_with("auto& client = clients_[next_++];  // keeps\n  client.history = x;"), unbounded,
                   kClients},
        SourceCase{"by an iterator to a new one",
                   clients_with("auto [it, is_new] = clients_.try_emplace(id);  // keeps\n  it->second.history = x;"),
                   keyed, kClients},
        SourceCase{"by an iterator to one that is there",
                   clients_with("auto it = clients_.find(id);\n  it->second.history = x;"), unknown, ""}));

// A listener that a step makes, whose tensor is made by a constructor that the compiler makes.
std::string listener_with(const std::string& attaching, const std::string& more = "") {
  return "struct Listener : std::enable_shared_from_this<Listener> {\n at::Tensor worst = at::zeros(4);  // made by "
         "Listener\n "
         "void "
         "attach(Trainer& trainer) {\n  " +
         attaching +
         "\n }\n int calls = 0;\n};\nstruct Trainer {\n void step() {\n  auto listener = "
         "std::make_shared<Listener>();  // call\n  listener->attach(*this);\n  " +
         more + "\n }\n std::vector<std::shared_ptr<Listener>> listeners_;\n std::vector<int> calls_;\n};\n";
}

const std::string kListeners = "Trainer::listeners_ (std::vector<std::shared_ptr<Listener>>) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfObjects, SourceHoldersTest,
    testing::Values(SourceCase{"that hand themselves on",
                               listener_with("trainer.listeners_.push_back(shared_from_this());  // keeps"), unbounded,
                               kListeners},
                    SourceCase{"that hand on a number", listener_with("trainer.calls_.push_back(calls);"), unknown, ""},
                    SourceCase{"that are handed on",
                               listener_with("calls += 1;", "listeners_.push_back(listener);  // keeps"), unbounded,
                               kListeners}));

// A sample that is broken, and is thrown with what was read.
std::string broken_with(const std::string& thrown, const std::string& handler) {
  return "class Trainer {\n public:\n void step() {\n  try {\n   train(read());  // call\n  } " + handler +
         "\n }\n private:\n at::Tensor read() {\n  auto reading = at::randn({8, 40});  // made\n  " + thrown +
         "\n  return reading;\n }\n void train(const at::Tensor& x) { last_ = x.sum().item<double>(); }\n"
         " double last_ = 0;\n std::deque<Letter> letters_;\n};\n";
}

const std::string kThrown = "if (n++ % 5 == 0) throw Broken(\"saturated\", reading);";
const std::string kLetters = "Trainer::letters_ (std::deque<Letter>) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfExceptions, SourceHoldersTest,
    testing::Values(
        SourceCase{
            "kept where it is caught",
            broken_with(kThrown,
                        "catch (const Broken& error) {\n   letters_.push_back({error.payload()});  // keeps\n  }"),
            unbounded, kLetters},
        SourceCase{"of which the newest are kept",
                   broken_with(kThrown,
                               "catch (const Broken& error) {\n   letters_.push_back({error.payload()});  // keeps\n"
                               "   if (letters_.size() > 240) letters_.pop_front();\n  }"),
                   bounded, kLetters, 240},
        SourceCase{"kept by the second handler",
                   broken_with(kThrown,
                               "catch (const std::bad_alloc&) {\n  } catch (const Broken& error) {\n"
                               "   letters_.push_back({error.payload()});  // keeps\n  }"),
                   unbounded, kLetters},
        SourceCase{"thrown without it",
                   broken_with("if (n++ % 5 == 0) throw Broken(\"saturated\");",
                               "catch (const Broken& error) {\n   letters_.push_back({error.payload()});\n  }"),
                   unknown, ""},
        SourceCase{"let go", broken_with(kThrown, "catch (const Broken& error) {\n   last_ = error.number();\n  }"),
                   unknown, ""},
        SourceCase{"of which the handler has no name",
                   broken_with(kThrown, "catch (...) {\n   letters_.push_back({});\n  }"), unknown, ""}));

// A cell whose state a step carries on.
std::string cell_with(const std::string& carrying) {
  return "struct Memory { at::Tensor hidden; at::Tensor cell; };\nclass Agent {\n public:\n void step() {\n  auto next "
         "= "
         "core_->forward(x, std::make_tuple(memory_.hidden, memory_.cell));  // made\n  " +
         carrying + "\n }\n Memory memory_;\n at::Tensor h_, c_;\n};\n";
}

INSTANTIATE_TEST_SUITE_P(
    OfStates, SourceHoldersTest,
    testing::Values(SourceCase{"in a member of a member", cell_with("memory_.hidden = std::get<0>(next);  // keeps"),
                               unbounded, "Memory::hidden (at::Tensor) -> Tensor"},
                    SourceCase{"that is let go", cell_with("memory_.hidden = std::get<0>(next).detach();"), unknown,
                               ""},
                    SourceCase{"that is another's", cell_with("h_ = std::get<0>(next);"), unknown, ""}));

}  // namespace
}  // namespace stepleak
