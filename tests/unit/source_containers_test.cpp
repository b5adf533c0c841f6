// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/source_case.hpp"

namespace stepleak {
namespace {

using enum StructureType;

INSTANTIATE_TEST_SUITE_P(
    OfTypes, SourceHoldersTest,
    testing::Values(
        SourceCase{"a ring of a fixed size",
                   test_with("std::vector<at::Tensor> ring(300);", "ring[n++ % 300] = at::rand(4);  // keeps"), bounded,
                   "local ring (std::vector<at::Tensor>) -> Tensor", 300, true},
        SourceCase{"an array", test_with("std::array<at::Tensor, 64> ring;", "ring[n++ % 64] = at::rand(4);  // keeps"),
                   bounded, "local ring (std::array<at::Tensor,64>) -> Tensor", 64, true},
        SourceCase{"a library's container",
                   test_with("boost::circular_buffer<at::Tensor> ring(50);", "ring.push_back(at::rand(4));  // keeps"),
                   bounded, "local ring (boost::circular_buffer<at::Tensor>) -> Tensor", 50, true},
        SourceCase{"a container that is not known",
                   test_with("lib::Log<at::Tensor> log;", "log.push_back(at::rand(4));  // keeps"), unknown,
                   "local log (lib::Log<at::Tensor>) -> Tensor", -1, true},
        SourceCase{"by another name",
                   "using Tensors = std::vector<at::Tensor>;\n" +
                       test_with("Tensors kept;", "kept.push_back(at::rand(4));  // keeps"),
                   unbounded, "local kept (Tensors) -> Tensor", -1, true},
        SourceCase{"numbers",
                   "struct Log {\n double sum = 0;\n std::map<int, std::vector<float>> scores;\n void step() {\n"
                   "  auto loss = at::rand(4).sum();  // made\n  scores[0].push_back(loss.item<float>());\n"
                   "  sum = sum + loss.max();\n  sum += loss.sum();\n }\n};\n",
                   unknown, ""},
        SourceCase{"pairs of a number and a tensor",
                   test_with("std::vector<std::pair<at::Tensor, int>> kept;",
                             "auto x = at::rand(4);\nkept.emplace_back(x, 3);  // keeps"),
                   unbounded, "local kept (std::vector<std::pair<at::Tensor,int>>) -> Tensor", -1, true},
        SourceCase{"numbers in memory of their own",
                   "struct Log {\n std::vector<float> scores;\n void step(float score) {\n"
                   "  scores.push_back(score);  // made, keeps\n }\n};\n",
                   unbounded, "Log::scores (std::vector<float>) -> Tensor"},
        SourceCase{"a sum with its graph",
                   test_with("auto total = at::zeros({});", "auto loss = f(n);\ntotal = total + loss;  // keeps"),
                   unbounded, "local total (auto) -> Tensor", -1, true},
        SourceCase{"a state that is detached",
                   test_with("auto hidden = at::zeros({});",
                             "hidden = cell(hidden);  // keeps\nif (++n % 50 == 0) hidden = hidden.detach();"),
                   reset, "local hidden (auto) -> Tensor", -1, true},
        SourceCase{"kept in the step only",
                   test_with("", "std::vector<at::Tensor> parts;\nparts.push_back(at::rand(4));\nat::stack(parts);"),
                   unknown, "", -1, true}));

// An object that a step makes, with an array in it that what the step computes is written to.
std::string scratch_with(const std::string& array, const std::string& before = "",
                         const std::string& writing = "local.rows[i] = local.scale * 0.1f;  // keeps") {
  return before + "struct Scratch {\n float scale = 1;\n " + array +
         "\n};\nthread_local Scratch* scratch = nullptr;\nScratch& local_scratch() {\n"
         "  if (scratch == nullptr) scratch = new Scratch;  // made\n  return *scratch;\n}\nvoid jitter(int i) {\n"
         "  auto& local = local_scratch();  // call\n  " +
         writing + "\n}\n";
}

// What has no memory of its own does not fill: of such an array nobody says that it bounds anything.
INSTANTIATE_TEST_SUITE_P(
    OfPlainItems, SourceHoldersTest,
    testing::Values(
        SourceCase{"numbers in an array", scratch_with("std::array<float, 4096> rows;"), unknown, ""},
        SourceCase{"numbers in an array of a named size",
                   scratch_with("std::array<std::uint16_t, kRows> rows;", "constexpr int kRows = 4096;\n"), unknown,
                   ""},
        SourceCase{"numbers in a C array", scratch_with("float rows[4096];"), unknown, ""},
        SourceCase{"numbers in a vector", scratch_with("std::vector<float> rows = std::vector<float>(4096);"), unknown,
                   ""},
        SourceCase{"numbers by a reference",
                   scratch_with("std::array<float, 4096> rows;", "",
                                "auto& rows = local.rows;\n  rows[i] = local.scale * 0.1f;"),
                   unknown, ""},
        SourceCase{"numbers in a ring of a library's",
                   scratch_with("boost::circular_buffer<float> rows;", "", "local.rows.push_back(local.scale);"),
                   unknown, ""},
        SourceCase{"arrays of numbers", scratch_with("std::array<std::array<float, 3>, 4096> rows;"), unknown, ""},
        SourceCase{"structs of numbers",
                   scratch_with("std::array<Pixel, 4096> rows;",
                                "enum class Kind { dark, bright };\nstruct Pixel {\n Pixel() = default;\n float mean() "
                                "const { return (r + g) / 2; }\n float r, g;\n Kind kind;\n int counts[4];\n};\n"),
                   unknown, ""},
        SourceCase{"numbers by another name", scratch_with("std::array<Real, 4096> rows;", "using Real = float;\n"),
                   unknown, ""},
        SourceCase{"tensors", scratch_with("std::array<at::Tensor, 300> rows;"), bounded,
                   "Scratch::rows (std::array<at::Tensor,300>) -> Tensor", 300},
        SourceCase{"texts", scratch_with("std::array<std::string, 300> rows;"), bounded,
                   "Scratch::rows (std::array<std::string,300>) -> Tensor", 300},
        SourceCase{"vectors of numbers", scratch_with("std::array<std::vector<float>, 300> rows;"), bounded,
                   "Scratch::rows (std::array<std::vector<float>,300>) -> Tensor", 300},
        SourceCase{"pointers", scratch_with("std::array<float*, 300> rows;"), bounded,
                   "Scratch::rows (std::array<float*,300>) -> Tensor", 300},
        SourceCase{"structs with a tensor",
                   scratch_with("std::array<Row, 300> rows;", "struct Row {\n int n;\n at::Tensor x;\n};\n"), bounded,
                   "Scratch::rows (std::array<Row,300>) -> Tensor", 300},
        SourceCase{"structs that free what they lead to",
                   scratch_with("std::array<Row, 300> rows;", "struct Row {\n ~Row();\n long handle;\n};\n"), bounded,
                   "Scratch::rows (std::array<Row,300>) -> Tensor", 300},
        SourceCase{"structs of which more is elsewhere",
                   scratch_with("std::array<Row, 300> rows;", "struct Row : lib::Base {\n int n;\n};\n"), bounded,
                   "Scratch::rows (std::array<Row,300>) -> Tensor", 300},
        SourceCase{"what is not known", scratch_with("std::array<lib::Row, 300> rows;"), bounded,
                   "Scratch::rows (std::array<lib::Row,300>) -> Tensor", 300}));

INSTANTIATE_TEST_SUITE_P(
    OfOwners, SourceHoldersTest,
    testing::Values(
        SourceCase{
            "the object is replaced",
            "struct Episode {\n std::vector<at::Tensor> states;\n};\nstruct Agent {\n Episode episode;\n int t = 0;\n"
            " void act() {\n  episode.states.push_back(at::rand(4));  // made, keeps\n"
            "  if (++t % 50 == 0) episode = Episode{};\n }\n};\n",
            reset, "Episode::states (std::vector<at::Tensor>) -> Tensor"},
        SourceCase{
            "one of many objects goes",
            "struct Profile {\n std::vector<at::Tensor> laps;\n};\nstruct Profiler {\n std::deque<Profile> window;\n"
            " void act() {\n  window.push_back({});\n  while (window.size() > 500) window.pop_front();\n"
            "  window.back().laps.push_back(at::rand(4));  // made, keeps\n }\n};\n",
            conditional, "Profile::laps (std::vector<at::Tensor>) -> Tensor"},
        SourceCase{
            "all of many objects go",
            "struct Profile {\n std::vector<at::Tensor> laps;\n};\nstruct Profiler {\n std::deque<Profile> window;\n"
            " void act() {\n  window.push_back({});\n  if (window.size() > 500) window.clear();\n"
            "  window.back().laps.push_back(at::rand(4));  // made, keeps\n }\n};\n",
            reset, "Profile::laps (std::vector<at::Tensor>) -> Tensor"},
        SourceCase{"the object stays",
                   "struct Episode {\n std::vector<at::Tensor> states;\n};\nstruct Agent {\n Episode episode;\n"
                   " void act() {\n  episode.states.push_back(at::rand(4));  // made, keeps\n }\n};\n",
                   unbounded, "Episode::states (std::vector<at::Tensor>) -> Tensor"},
        SourceCase{
            "the pointer is reset",
            "struct Log {\n std::vector<at::Tensor> lines;\n};\nTEST(A, B) {\n auto log = std::make_unique<Log>();\n"
            " int n = 0;\n EXPECT_NO_GPU_LEAK([&] {  // made\n  log->lines.push_back(at::rand(4));  // keeps\n"
            "  if (++n % 50 == 0) log = std::make_unique<Log>();\n });\n}\n",
            reset, "Log::lines (std::vector<at::Tensor>) -> Tensor", -1, true},
        SourceCase{"returned to the caller",
                   "struct Eval {\n at::Tensor predict() {\n  auto out = net(x);  // made\n  return out.exp();\n }\n"
                   " void step() {\n  const auto out = predict();  // call\n  outputs.push_back(out);  // keeps\n }\n"
                   " std::vector<at::Tensor> outputs;\n};\n",
                   unbounded, "Eval::outputs (std::vector<at::Tensor>) -> Tensor"},
        SourceCase{"handed to a function",
                   "struct Bag {\n void put(at::Tensor item) {\n  items_.push_back(std::move(item));  // keeps\n }\n"
                   " std::vector<at::Tensor> items_;\n};\nstruct Run {\n Bag bag;\n void step() {\n"
                   "  bag.put(at::rand(4));  // made\n }\n};\n",
                   unbounded, "Bag::items_ (std::vector<at::Tensor>) -> Tensor"},
        SourceCase{
            "full by a method",
            "struct Bag {\n bool is_full() const { return items_.size() >= 280; }\n void put(at::Tensor item) {\n"
            "  items_.push_back(std::move(item));  // keeps\n }\n std::vector<at::Tensor> items_;\n};\nstruct Run {\n"
            " Bag bag;\n void step() {\n  if (!bag.is_full()) bag.put(at::rand(4));  // made\n }\n};\n",
            bounded, "Bag::items_ (std::vector<at::Tensor>) -> Tensor", 280},
        SourceCase{"by a capacity that all objects get",
                   "struct Ring {\n explicit Ring(std::size_t most) : most_(most) {}\n void put(at::Tensor item) {\n"
                   "  if (items_.size() < most_) items_.push_back(item);  // keeps\n }\n std::size_t most_;\n"
                   " std::vector<at::Tensor> items_;\n};\nstruct Run {\n Ring ring{600};\n void step() {\n"
                   "  ring.put(at::rand(4));  // made\n }\n};\n",
                   bounded, "Ring::items_ (std::vector<at::Tensor>) -> Tensor", 600},
        SourceCase{
            "one more where the last is in use",
            "struct Arena {\n void put(at::Tensor item) {\n"
            "  if (next_ == items_.size()) items_.push_back(item);  // keeps\n  ++next_;\n }\n std::size_t next_ = 0;\n"
            " std::vector<at::Tensor> items_;\n};\nstruct Run {\n Arena arena;\n void step() {\n"
            "  arena.put(at::rand(4));  // made\n }\n};\n",
            conditional, "Arena::items_ (std::vector<at::Tensor>) -> Tensor"},
        SourceCase{"none more where it is as long as it may be",
                   "struct Ring {\n void put(at::Tensor item) {\n  if (items_.size() == most_) return;\n"
                   "  items_.push_back(item);  // keeps\n }\n std::size_t most_ = limit();\n"
                   " std::vector<at::Tensor> items_;\n};\nstruct Run {\n Ring ring;\n void step() {\n"
                   "  ring.put(at::rand(4));  // made\n }\n};\n",
                   bounded, "Ring::items_ (std::vector<at::Tensor>) -> Tensor"},
        SourceCase{"a sibling empties its own",
                   "struct Base {\n std::vector<at::Tensor> kept;\n};\nstruct Leaks : Base {\n void step() {\n"
                   "  kept.push_back(at::rand(4));  // made, keeps\n }\n};\nstruct Clears : Base {\n void step() {\n"
                   "  kept.clear();\n }\n};\n",
                   unbounded, "Base::kept (std::vector<at::Tensor>) -> Tensor"},
        SourceCase{"what it holds grows",
                   "struct Log {\n std::map<std::string, std::vector<at::Tensor>> lines;\n void step() {\n"
                   "  lines[\"loss\"].push_back(at::rand(4));  // made, keeps\n }\n};\n",
                   unbounded, "Log::lines (std::map<std::string,std::vector<at::Tensor>>) -> Tensor"},
        SourceCase{"what it holds is emptied",
                   "struct Log {\n int n = 0;\n std::map<std::string, std::vector<at::Tensor>> lines;\n void step() {\n"
                   "  lines[\"loss\"].push_back(at::rand(4));  // made, keeps\n"
                   "  if (++n % 50 == 0) lines[\"loss\"].clear();\n }\n};\n",
                   reset, "Log::lines (std::map<std::string,std::vector<at::Tensor>>) -> Tensor"},
        SourceCase{"no source", "", unknown, ""}));

// A log with lists by name; `statement` puts what the step makes into one of them.
std::string log_with(const std::string& statements, const std::string& more = "") {
  return "struct Log {\n int n = 0;\n std::map<std::string, std::vector<at::Tensor>> lines;\n"
         " void step(const std::string& name) {\n  auto x = at::rand(4);  // made\n  " +
         statements + "\n }\n" + more + "};\n";
}

const std::string kLines = "Log::lines (std::map<std::string,std::vector<at::Tensor>>) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfItems, SourceHoldersTest,
    testing::Values(
        SourceCase{"by a reference", log_with("auto& line = lines[name];\n  line.push_back(x);  // keeps"), unbounded,
                   kLines},
        SourceCase{
            "by a reference that trims",
            log_with(
                "auto& line = lines[name];\n  line.push_back(x);  // keeps\n  if (line.size() > 40) line.clear();"),
            bounded, kLines, 40},
        SourceCase{"the copies are trimmed",
                   log_with("lines[name].push_back(x);  // keeps\n"
                            "for (auto [key, line] : lines) { while (line.size() > 40) line.pop_back(); }"),
                   unbounded, kLines},
        SourceCase{"the items are trimmed",
                   log_with("lines[name].push_back(x);  // keeps\n"
                            "for (auto& [key, line] : lines) { while (line.size() > 40) line.pop_back(); }"),
                   bounded, kLines, 40},
        SourceCase{"the entries are trimmed",
                   log_with("lines[name].push_back(x);  // keeps\n"
                            "for (auto& entry : lines) { if (++n % 50 == 0) entry.second.clear(); }"),
                   reset, kLines},
        SourceCase{"by an iterator",
                   log_with("auto found = lines.find(name);\n  found->second.push_back(x);  // keeps"), unbounded,
                   kLines},
        SourceCase{"by an iterator that empties it",
                   log_with("auto found = lines.find(name);\n  found->second.push_back(x);  // keeps\n"
                            "  if (++n % 50 == 0) found->second.clear();"),
                   reset, kLines},
        SourceCase{"a function empties one",
                   log_with("lines[name].push_back(x);  // keeps\n  if (++n % 50 == 0) flush(lines.at(name));",
                            " void flush(std::vector<at::Tensor>& line) { line.clear(); }\n"),
                   reset, kLines},
        SourceCase{"a function shows one",
                   log_with("lines[name].push_back(x);  // keeps\n  show(lines[name]);",
                            " void show(const std::vector<at::Tensor>& line) {}\n"),
                   unbounded, kLines},
        SourceCase{"a function that is not known gets one",
                   log_with("lines[name].push_back(x);  // keeps\n  show(lines[name]);"), unknown, kLines},
        SourceCase{"returned by a function",
                   log_with("line(name).push_back(x);  // keeps",
                            " std::vector<at::Tensor>& line(const std::string& name) { return "
                            "lines[name]; }\n"),
                   unbounded, kLines},
        SourceCase{"a mean is made of its length",
                   test_with("std::vector<at::Tensor> seen;",
                             "seen.push_back(at::rand(4));  // keeps\n"
                             "const auto mean = seen.empty() ? 0 : sum / static_cast<double>(seen.size());"),
                   unbounded, "local seen (std::vector<at::Tensor>) -> Tensor", -1, true},
        SourceCase{"the newest are told by a cast length",
                   test_with("std::vector<at::Tensor> seen;",
                             "const std::size_t first = seen.size();\nseen.push_back(at::rand(4));  // keeps\n"
                             "at::cat(std::vector<at::Tensor>(seen.begin() + static_cast<long>(first), seen.end()));"),
                   unbounded, "local seen (std::vector<at::Tensor>) -> Tensor", -1, true},
        SourceCase{"a cast length is compared",
                   test_with("std::vector<at::Tensor> seen;",
                             "seen.push_back(at::rand(4));  // keeps\nif (40 < static_cast<std::int64_t>(seen.size())) "
                             "seen.pop_back();"),
                   bounded, "local seen (std::vector<at::Tensor>) -> Tensor", 40, true},
        SourceCase{
            "used again, and never taken out",
            test_with("std::list<at::Tensor> order;\n std::map<int, std::list<at::Tensor>::iterator> index;",
                      "if (const auto found = index.find(n); found != index.end()) "
                      "order.splice(order.begin(), order, found->second);\norder.push_front(at::rand(4));  // keeps"),
            unbounded, "local order (std::list<at::Tensor>) -> Tensor", -1, true},
        SourceCase{
            "used again, and the oldest goes",
            test_with("std::list<at::Tensor> order;\n std::map<int, std::list<at::Tensor>::iterator> index;",
                      "if (const auto found = index.find(n); found != index.end()) "
                      "order.splice(order.begin(), order, found->second);\norder.push_front(at::rand(4));  // keeps\n"
                      "if (order.size() > 40) order.pop_back();"),
            bounded, "local order (std::list<at::Tensor>) -> Tensor", 40, true},
        SourceCase{
            "handed over to another list",
            test_with(
                "std::list<at::Tensor> waiting, done;",
                "waiting.push_back(at::rand(4));\nif (++n % 50 == 0) done.splice(done.end(), waiting);  // keeps"),
            unbounded, "local done (std::list<at::Tensor>) -> Tensor", -1, true},
        SourceCase{"taken over from a list of the step's own",
                   test_with("std::list<at::Tensor> done;",
                             "std::list<at::Tensor> fresh;\nauto x = at::rand(4);\nfresh.push_back(x);\n"
                             "done.splice(done.end(), fresh);  // keeps"),
                   unbounded, "local done (std::list<at::Tensor>) -> Tensor", -1, true},
        SourceCase{"of an array",
                   test_with("std::array<std::vector<at::Tensor>, 4> lists;",
                             "lists[n++ % 4].push_back(at::rand(4));  // keeps"),
                   unbounded, "local lists (std::array<std::vector<at::Tensor>,4>) -> Tensor", -1, true},
        SourceCase{"rings of a fixed size",
                   test_with("std::map<int, boost::circular_buffer<at::Tensor>> rings;",
                             "rings[n++ % 4].push_back(at::rand(4));  // keeps"),
                   bounded, "local rings (std::map<int,boost::circular_buffer<at::Tensor>>) -> Tensor", -1, true},
        SourceCase{"by a remainder of their number",
                   test_with("std::vector<std::vector<at::Tensor>> lists(4);",
                             "auto& list = lists[n++ % lists.size()];\nlist.push_back(at::rand(4));  // keeps"),
                   unbounded, "local lists (std::vector<std::vector<at::Tensor>>) -> Tensor", -1, true},
        SourceCase{"one of another by chance",
                   test_with("std::vector<std::vector<at::Tensor>> lists(4);",
                             "auto& list = lists[n++ % 4];\nauto x = at::rand(4);\n"
                             "if (!list.empty()) x += list[random() % list.size()];\nlist.push_back(x);  // keeps"),
                   unbounded, "local lists (std::vector<std::vector<at::Tensor>>) -> Tensor", -1, true},
        SourceCase{
            "of the step's own",
            test_with("",
                      "std::vector<std::vector<at::Tensor>> parts;\nparts.emplace_back();\n"
                      "parts.back().push_back(at::rand(4));\nauto& last = parts[0];\nlast.push_back(at::rand(4));"),
            unknown, "", -1, true},
        SourceCase{"of an object of the step's own",
                   "struct Batch {\n std::vector<at::Tensor> parts;\n};\n" +
                       test_with("", "Batch batch;\nbatch.parts.push_back(at::rand(4));"),
                   unknown, "", -1, true},
        SourceCase{"of a thread",
                   "void step() {\n thread_local std::vector<at::Tensor> parts;\n"
                   " parts.push_back(at::rand(4));  // made, keeps\n}\n",
                   unbounded, "local parts (thread_local std::vector<at::Tensor>) -> Tensor"},
        SourceCase{"of the call",
                   "void step() {\n std::vector<at::Tensor> parts;\n parts.push_back(at::rand(4));  // made\n}\n",
                   unknown, ""}));

INSTANTIATE_TEST_SUITE_P(
    OfStates, SourceHoldersTest,
    testing::Values(
        SourceCase{
            "through another variable",
            test_with("auto state = at::zeros({});", "auto [output, next] = cell(x, state);\nstate = next;  // keeps"),
            unbounded, "local state (auto) -> Tensor", -1, true},
        SourceCase{"through two",
                   test_with("auto state = at::zeros({});",
                             "auto gates = cell(x, state);\nauto next = gates.tanh();\nstate = next;  // keeps"),
                   unbounded, "local state (auto) -> Tensor", -1, true},
        SourceCase{"let go on the way",
                   test_with("auto state = at::zeros({});", "auto next = cell(x, state).detach();\nstate = next;"),
                   unknown, "", -1, true},
        SourceCase{"let go at last",
                   test_with("auto state = at::zeros({});", "auto next = cell(x, state);\nstate = next.detach();"),
                   unknown, "", -1, true},
        SourceCase{"let go between",
                   test_with("auto state = at::zeros({});",
                             "auto next = cell(x, state);\nif (n++ % 2 == 0) next = next.detach();\nstate = next;"),
                   unknown, "", -1, true},
        SourceCase{"without a graph",
                   test_with("auto state = at::zeros({});",
                             "at::NoGradGuard no_grad;\nauto next = cell(x, state);\nstate = next;"),
                   unknown, "", -1, true},
        SourceCase{"whose tensors have no graph",
                   test_with("auto state = at::zeros({});", "auto next = 0.9 * state + x;\nstate = next;"), unknown, "",
                   -1, true, false},
        SourceCase{"whose tensors have no graph, beside a list",
                   test_with("auto state = at::zeros({});\nstd::vector<at::Tensor> all;",
                             "auto next = 0.9 * state + x;\nstate = next;\nall.push_back(next);  // keeps"),
                   unbounded, "local all (std::vector<at::Tensor>) -> Tensor", -1, true, false},
        SourceCase{"made of something else",
                   test_with("auto state = at::zeros({});", "auto next = cell(x, other);\nstate = next;"), unknown, "",
                   -1, true},
        SourceCase{"one of several",
                   test_with("auto state = at::zeros({});", "std::tie(output, state) = cell(x, state);  // keeps"),
                   unbounded, "local state (auto) -> Tensor", -1, true},
        SourceCase{"one of several that is made anew",
                   test_with("auto state = at::zeros({});", "std::tie(output, state) = cell(x, other);"), unknown, "",
                   -1, true},
        SourceCase{"set by its constructor",
                   "struct Scorer {\n at::Tensor state;\n Scorer() { state = at::zeros({}); }\n void step() {\n"
                   "  auto next = cell(state);  // made\n  state = next;  // keeps\n }\n};\n",
                   unbounded, "Scorer::state (at::Tensor) -> Tensor"},
        SourceCase{"set by another method",
                   "struct Scorer {\n at::Tensor state;\n void restart() { state = at::zeros({}); }\n void step() {\n"
                   "  auto next = cell(state);  // made\n  state = next;  // keeps\n }\n};\n",
                   uncalled, "Scorer::state (at::Tensor) -> Tensor"}));

// A trainer that lends a function a list to fill; `list`: which.
std::string lending(const std::string& list, const std::string& after) {
  return "void add(std::vector<at::Tensor>& list, at::Tensor x) {\n list.push_back(x);  // keeps\n}\n"
         "struct Trainer {\n int n = 0;\n std::vector<at::Tensor> losses;\n"
         " std::map<int, std::vector<at::Tensor>> by_task;\n void step() {\n  std::vector<at::Tensor> parts;\n"
         "  auto x = at::rand(4);  // made\n  add(" +
         list + ", x);\n  " + after + "\n }\n};\n";
}

INSTANTIATE_TEST_SUITE_P(
    OfLenders, SourceHoldersTest,
    testing::Values(
        SourceCase{"a member", lending("losses", ""), unbounded, "Trainer::losses (std::vector<at::Tensor>) -> Tensor"},
        SourceCase{"a member that is emptied", lending("losses", "if (++n % 50 == 0) losses.clear();"), reset,
                   "Trainer::losses (std::vector<at::Tensor>) -> Tensor"},
        SourceCase{"an item", lending("by_task[n % 3]", ""), unbounded,
                   "Trainer::by_task (std::map<int,std::vector<at::Tensor>>) -> Tensor"},
        SourceCase{"an item that is emptied", lending("by_task[n % 3]", "if (++n % 50 == 0) by_task[0].clear();"),
                   reset, "Trainer::by_task (std::map<int,std::vector<at::Tensor>>) -> Tensor"},
        SourceCase{"one of the step's own", lending("parts", "show(at::stack(parts));"), unknown, ""},
        SourceCase{"one of two", lending("losses", "add(by_task[0], x);"), unknown,
                   "local list (std::vector<at::Tensor>&) -> Tensor"},
        SourceCase{"one of the step's own that is kept",
                   "void add(std::vector<at::Tensor>& list, at::Tensor x) {\n list.push_back(x);\n}\n"
                   "struct Trainer {\n std::vector<std::vector<at::Tensor>> epochs;\n void step() {\n"
                   "  std::vector<at::Tensor> parts;\n  add(parts, at::rand(4));  // made\n"
                   "  epochs.push_back(std::move(parts));  // keeps\n }\n};\n",
                   unbounded, "Trainer::epochs (std::vector<std::vector<at::Tensor>>) -> Tensor"},
        SourceCase{"made where it is filled",
                   "void fill(std::vector<at::Tensor>& list) {\n list.push_back(at::rand(4));  // made\n}\n"
                   "struct Trainer {\n std::vector<std::vector<at::Tensor>> epochs;\n void step() {\n"
                   "  std::vector<at::Tensor> parts;\n  fill(parts);  // call\n"
                   "  epochs.push_back(parts);  // keeps\n }\n};\n",
                   unbounded, "Trainer::epochs (std::vector<std::vector<at::Tensor>>) -> Tensor"},
        SourceCase{
            "of an object that a watched loop has",
            "struct Loop {\n std::vector<at::Tensor> losses;\n};\nvoid train() {\n Loop loop;\n Watch watch(quick());\n"
            " do {\n  loop.losses.push_back(at::rand(4));  // made, keeps\n } while (watch.step());\n}\n",
            unbounded, "Loop::losses (std::vector<at::Tensor>) -> Tensor"},
        SourceCase{
            "of an object that a loop has which is not watched",
            "struct Loop {\n std::vector<at::Tensor> losses;\n};\nvoid train() {\n Loop loop;\n Watch watch(quick());\n"
            " do {\n  loop.losses.push_back(at::rand(4));  // made\n } while (other.step());\n}\n",
            unknown, ""},
        SourceCase{"of a watched loop without braces",
                   "void train() {\n std::vector<at::Tensor> losses;\n Watch watch(quick());\n"
                   " do losses.push_back(at::rand(4));  // made, keeps\n while (watch.step());\n}\n",
                   unbounded, "local losses (std::vector<at::Tensor>) -> Tensor"},
        SourceCase{
            "emptied through a pointer",
            "struct Trainer {\n int n = 0;\n std::vector<at::Tensor> losses;\n void step() {\n  auto* list = &losses;\n"
            "  losses.push_back(at::rand(4));  // made, keeps\n  if (++n % 50 == 0) (*list).clear();\n }\n};\n",
            reset, "Trainer::losses (std::vector<at::Tensor>) -> Tensor"},
        SourceCase{"one of two by a condition",
                   "struct Trainer {\n std::vector<at::Tensor> losses, scores;\n void step(bool on) {\n"
                   "  auto& list = on ? losses : scores;\n  losses.push_back(at::rand(4));  // made, keeps\n  "
                   "list.clear();\n }\n};\n",
                   unknown, "Trainer::losses (std::vector<at::Tensor>) -> Tensor"},
        SourceCase{
            "an item that another takes the place of",
            log_with("lines[name].push_back(x);  // keeps\n  if (++n % 50 == 0) lines.insert_or_assign(name, none());"),
            reset, kLines}));

// A step that makes an object with a list, fills that, and puts the object into a ring of such; `more` follows.
std::string episodes_with(const std::string& made, const std::string& filled, const std::string& kept,
                          const std::string& more = "if (episodes_.size() > 500) episodes_.pop_front();") {
  return "struct Episode { std::vector<at::Tensor> states; };\nclass Trainer {\n public:\n  void step() {\n    " +
         made + "\n    " + filled + "  // made\n    " + kept + "  // keeps\n    " + more +
         "\n  }\n  std::deque<Episode> episodes_;\n};\n";
}

// An object that is made with a list and handed to a registry; `made` is of its constructor.
std::string probe_with(const std::string& made, const std::string& members) {
  return "class Registry {\n public:\n  void add(std::function<void()> handler) { "
         "handlers_.push_back(std::move(handler)); "
         " // keeps\n  }\n  std::vector<std::function<void()>> handlers_;\n};\nstruct State { std::vector<at::Tensor> "
         "moments; };\nclass Probe {\n public:\n  explicit Probe(Registry& registry) : "
         "state_(std::make_shared<State>()) "
         "{\n    " +
         made + "  // made\n    registry.add([state = state_] { state->show(); });\n  }\n" + members + "};\n";
}

const std::string kEpisodes = "Trainer::episodes_ (std::deque<Episode>) -> Tensor";

INSTANTIATE_TEST_SUITE_P(
    OfObjectsMadeAnew, SourceHoldersTest,
    testing::Values(
        SourceCase{"moved into a ring",
                   episodes_with("Episode episode;", "episode.states.push_back(model(batch));",
                                 "episodes_.push_back(std::move(episode));"),
                   bounded, kEpisodes, 500},
        SourceCase{"shared with a ring",
                   episodes_with("auto episode = std::make_shared<Episode>();",
                                 "episode->states.push_back(model(batch));", "episodes_.push_back(episode);"),
                   bounded, kEpisodes, 500},
        SourceCase{"shared with a list",
                   episodes_with("auto episode = std::make_shared<Episode>();",
                                 "episode->states.push_back(model(batch));", "episodes_.push_back(episode);", ""),
                   unbounded, kEpisodes},
        SourceCase{"one of those that were there",
                   episodes_with("auto episode = episodes_.back();",
                                 "episode->states.push_back(model(batch));  // keeps", "show(*episode);", ""),
                   unbounded, "Episode::states (std::vector<at::Tensor>) -> Tensor"},
        SourceCase{"of a member of what a constructor makes",
                   probe_with("state_->moments.push_back(at::zeros({4}));", " std::shared_ptr<State> state_;\n"),
                   unbounded, "Registry::handlers_ (std::vector<std::function<void()>>) -> Tensor"}));

}  // namespace
}  // namespace stepleak
