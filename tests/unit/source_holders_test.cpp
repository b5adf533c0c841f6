// SPDX-FileCopyrightText: The stepleak authors
// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "harness/base/files.hpp"
#include "harness/sources/source_holder_search.hpp"
#include "harness/trace/holder_text.hpp"
#include "tests/unit/source_case.hpp"

namespace stepleak {
namespace {

using enum StructureType;

TEST_P(SourceHoldersTest, SaysWhoKeepsItAndWhatBoundsThat) {
  const SourceFolder folder;
  const auto file = folder.path() + "/step.cpp";
  write_file(file, GetParam().source);
  auto recording = recording_of(GetParam(), file);
  SourceHolderSearch().search(recording);
  const auto& survivor = recording.survivors.front();
  if (GetParam().holder.empty()) {
    EXPECT_EQ(survivor.holder, -1);
    return;
  }
  ASSERT_GE(survivor.holder, 0);
  const auto& holder = recording.holders.at(static_cast<std::size_t>(survivor.holder));
  EXPECT_EQ(path_text(recording.objects, holder), GetParam().holder);
  EXPECT_EQ(to_string(holder.structure.type), to_string(GetParam().type)) << holder.structure.text;
  EXPECT_EQ(holder.structure.bound, GetParam().bound);
  EXPECT_EQ(holder.kept_by.line, line_with(GetParam().source, "keeps"));
  EXPECT_EQ(holder.kept_by.calls_a(kGrouping), GetParam().source.find(kGrouping) != std::string::npos);
  EXPECT_EQ(holder.gained_entries, 18);
}

// Of the survivor of a step's source beside other files of its folder.
Structure structure_beside(const std::string& source, const std::map<std::string, std::string>& others) {
  const SourceFolder folder;
  const auto file = folder.path() + "/step.cpp";
  write_file(file, source);
  for (const auto& [name, text] : others) write_file(folder.path() + "/" + name, text);
  auto recording = recording_of({.name = "", .source = source}, file);
  SourceHolderSearch().search(recording);
  const auto holder = recording.survivors.front().holder;
  return holder < 0 ? Structure{} : recording.holders.at(static_cast<std::size_t>(holder)).structure;
}

const std::string kTrimmed = trainer("if (losses_.size() > 9) losses_.clear();");

TEST(SourceHoldersTest, KnowsTheClassesOfItsOwnFileFromOthersOfThatName) {
  EXPECT_EQ(structure_beside(trainer(""), {{"another.cpp", kTrimmed}}).type, unbounded);
  EXPECT_EQ(structure_beside(kTrimmed, {{"another.cpp", trainer("")}}).bound, 9);
}

TEST(SourceHoldersTest, ReadsWhatOthersDoWithTheClassOfAHeader) {
  const std::string header = "class Trainer {\n public:\n void step();\n std::vector<at::Tensor> losses_;\n};\n";
  const std::string step =
      "#include \"trainer.hpp\"\nvoid Trainer::step() {\n auto loss = model(batch);  // made\n"
      " losses_.push_back(loss);  // keeps\n trim(*this);\n}\n";
  const std::string trim = "void trim(Trainer& one) { if (one.losses_.size() > 9) one.losses_.clear(); }\n";
  EXPECT_EQ(structure_beside(step, {{"trainer.hpp", header}}).type, unbounded);
  EXPECT_EQ(structure_beside(step, {{"trainer.hpp", header}, {"trim.cpp", "#include \"trainer.hpp\"\n" + trim}}).bound,
            9);
  EXPECT_EQ(structure_beside(step, {{"trainer.hpp", header}, {"trim.cpp", "#include TRAINER\n" + trim}}).bound, 9);
  EXPECT_EQ(structure_beside(step, {{"trainer.hpp", header}, {"trim.cpp", header + trim}}).type, unbounded);
}

// Of a member that several classes of the file have, whose object's type is not known.
TEST(SourceHoldersTest, ReadsNoMemberOfThatNameInAnotherProgram) {
  const std::string beam =
      "struct Node { std::vector<at::Tensor> children; };\nstruct Leaf { std::vector<at::Tensor> children; };\n"
      "void step() {\n auto x = at::rand(4);  // made\n for (auto& node : beam()) node->children.push_back(x);  // "
      "keeps\n"
      "}\n";
  const std::string tree = "void grow(Tree* node) { node->children.resize(4); }\n";
  const std::string declared = "struct Tree { std::vector<at::Tensor> children; };\n";
  EXPECT_EQ(structure_beside(beam, {{"tree.cpp", declared + tree}}).type, unknown);
  // A header that a build puts before each file may declare it.
  EXPECT_NE(structure_beside(beam, {{"tree.cpp", tree}}).type, unknown);
  EXPECT_NE(structure_beside(beam + "void cut(Node* node) { node->children.resize(4); }\n", {}).type, unknown);
}

// The line that keeps graphs which keep themselves, of a step with so many arguments of backward(). Nodes that were
// made in a thread of torch's have no frame of the user's.
int line_making_graphs(const std::string& statement, bool is_in_cycle = true, SurvivorType type = SurvivorType::node) {
  const std::string source = "void step() {\n auto loss = model(x);  // made\n " + statement +
                             "\n}\nvoid other() { x.backward({}, 1, true); }\n";
  const SourceFolder folder;
  const auto file = folder.path() + "/step.cpp";
  write_file(file, source);
  auto recording = recording_of({.name = "", .source = source}, file);
  recording.survivors.push_back({.type = type, .is_in_cycle = is_in_cycle});
  SourceHolderSearch().search(recording);
  const auto holder = recording.survivors.back().holder;
  return holder < 0 ? 0 : recording.holders.at(static_cast<std::size_t>(holder)).kept_by.line;
}

TEST(SourceHoldersTest, NamesTheOnlyCallThatGivesGradientsAGraph) {
  EXPECT_EQ(line_making_graphs("loss.backward({}, std::nullopt, /*create_graph=*/true);"), 3);
  EXPECT_EQ(line_making_graphs("torch::autograd::backward({loss}, {}, true, true);"), 3);
  EXPECT_EQ(line_making_graphs("loss.backward({}, true, true);", true, SurvivorType::tensor), 3);
}

TEST(SourceHoldersTest, NamesNoOtherBackwardPass) {
  EXPECT_EQ(line_making_graphs("loss.backward({}, /*retain_graph=*/true);"), 0);
  EXPECT_EQ(line_making_graphs("loss.backward({}, true, false);"), 0);
  EXPECT_EQ(line_making_graphs("torch::autograd::backward({loss}, {}, true);"), 0);
  EXPECT_EQ(line_making_graphs("loss.backward({}, true, true); b.backward({}, true, true);"), 0);
  EXPECT_EQ(line_making_graphs("loss.backward({}, true, true);", false), 0);
}

TEST(SourceHoldersTest, LeavesAloneWhatItCannotRead) {
  Recording recording{.steps = 18};
  recording.stacks.push_back({{.file = "/no/such/step.cpp", .line = 3, .function = "step", .owner = FrameOwner::user}});
  recording.survivors.push_back({.type = SurvivorType::tensor, .stack = 0});
  recording.survivors.push_back({.type = SurvivorType::tensor});
  SourceHolderSearch().search(recording);
  EXPECT_TRUE(recording.holders.empty());
}

TEST(SourceHoldersTest, ReadsSourcesThatAreNone) {
  for (const std::string source :
       {"}}}}", "((((", "\"", "R\"x(", "/*", "a[", "#define", "if (", "class {", "auto x = [&] {", "void f( {",
        "::", "x = ", "for (;;", "void A::~A() : b{1}, c(2 {"}) {
    const SourceFolder folder;
    const auto file = folder.path() + "/step.cpp";
    write_file(file, "void step() {\nkept.push_back(x);  // made\n" + source);
    auto recording = recording_of({.name = "", .source = "\n// made"}, file);
    EXPECT_NO_THROW(SourceHolderSearch().search(recording)) << source;
  }
}

}  // namespace
}  // namespace stepleak
