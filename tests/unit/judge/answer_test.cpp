#include "judge/answer/answer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "judge/answer/code_text.h"
#include "judge/catalog/source.h"

namespace fb::judge {
namespace {

constexpr std::string_view kReference =
    "#include <cuda_runtime.h>\n"
    "#include \"args.h\"\n"
    "int given() { return 1; }\n"
    "// [solution]\n"
    "class Solution { int secret; };\n"
    "// [template]\n"
    "//| class Solution {};  // TODO\n"
    "// [/solution]\n"
    "int after() { return 2; }\n";

constexpr std::string_view kTwo =
    "#include \"args.h\"\n"
    "// [solution: kernel]\n__global__ void k() {}\n// [template]\n//| // TODO\n// [/solution]\n"
    "// [solution: host]\nclass Solution {};\n// [template]\n//| class Solution {};\n// [/solution]\n";

catalog::Problem problem_of(std::string_view reference) {
  catalog::Problem problem;
  problem.reference = reference;
  return problem;
}

const catalog::Problem kOne = problem_of(kReference);

std::string errors_of(const Result<Answer>& answer) { return answer ? "" : to_string(answer.error(), "answer"); }

bool says(const Result<Answer>& answer, std::string_view words) {
  return errors_of(answer).find(words) != std::string::npos;
}

// The only region's text, and the line where it begins.
std::string text_of(const Result<Answer>& answer) {
  if (!answer) return errors_of(answer);
  return fmt::format("{}:{}", answer->first_lines.at(0), answer->regions.at(0).second);
}

TEST(Answer, IsAWholeFileWithMarkers) {
  const auto answer = read_answer(kOne,
                                  "#include <cuda_runtime.h>\n#include \"args.h\"\nint given() { return 1; }\n"
                                  "// [solution]\nclass Solution {};\n// [/solution]\nint after() { return 2; }\n");
  EXPECT_EQ(text_of(answer), "5:class Solution {};\n");
  EXPECT_TRUE(answer->notes.empty());
}

TEST(Answer, MayBeAReferenceItself) {
  EXPECT_EQ(text_of(read_answer(kOne, kReference)), "5:class Solution { int secret; };\n");
}

TEST(Answer, NotesTextThatIsNotUsed) {
  const auto answer = read_answer(
      kOne, "#include <vector>\n// [solution]\nclass Solution {};\n// [/solution]\nint after() { return 2; }\n");
  ASSERT_TRUE(answer) << errors_of(answer);
  ASSERT_EQ(answer->notes.size(), 1u);
  EXPECT_NE(answer->notes[0].find("outside the regions was not used"), std::string::npos);
  // Comments and what the template has are no loss.
  const auto same =
      read_answer(kOne, "// mine\nint given() { return 1; }\n// [solution]\nclass Solution {};\n// [/solution]\n");
  ASSERT_TRUE(same);
  EXPECT_TRUE(same->notes.empty());
}

TEST(Answer, IsFoundInMarkdown) {
  const std::string code = "int given() { return 1; }\n// [solution]\nclass Solution {};\n// [/solution]\n";
  for (const std::string fence : {"```", "```cpp", "```cuda", "~~~", "````cpp"}) {
    const std::string closing = fence.substr(0, std::min(fence.find('c'), fence.size()));
    EXPECT_EQ(text_of(read_answer(kOne, "Here it is:\n\n" + fence + "\n" + code + closing + "\nIt is fast.\n")),
              "6:class Solution {};\n");
  }
  // Of several blocks, the one with the markers.
  EXPECT_EQ(
      text_of(read_answer(kOne, "```sh\nmake\n```\n```cpp\nclass Solution {};\n```\nand\n```cpp\n" + code + "```\n")),
      "11:class Solution {};\n");
  // A fence that is never closed, and an answer that was cut off behind its end.
  EXPECT_EQ(text_of(read_answer(kOne, "```cpp\n" + code)), "4:class Solution {};\n");
}

TEST(Answer, IsTheLastOfSeveralWholeBlocks) {
  const auto answer = read_answer(kOne,
                                  "```\n// [solution]\nclass Solution { int a; };\n// [/solution]\n```\nNo, better:\n"
                                  "```\n// [solution]\nclass Solution { int b; };\n// [/solution]\n```\n");
  EXPECT_EQ(text_of(answer), "9:class Solution { int b; };\n");
  EXPECT_NE(answer->notes.at(0).find("the last one was taken"), std::string::npos);
  EXPECT_EQ(judged_lines(*answer), (record::LineRange{9, 9})) << "not the first block";
}

TEST(Answer, MayHaveItsRegionsInSeveralBlocks) {
  const auto two = problem_of(kTwo);
  const auto answer = read_answer(two,
                                  "```\n// [solution: host]\nclass Solution { };\n// [/solution]\n```\n"
                                  "```\n// [solution: kernel]\n__global__ void mine() {}\n// [/solution]\n```\n");
  ASSERT_TRUE(answer) << errors_of(answer);
  EXPECT_EQ(answer->regions[0].first, "kernel") << "in the template's order";
  EXPECT_EQ(answer->regions[1].second, "class Solution { };\n");
  EXPECT_EQ(answer->first_lines, (std::vector<uint32_t>{8, 3}));
  EXPECT_EQ(judged_lines(*answer), (record::LineRange{3, 8}));
}

TEST(Answer, WithoutMarkersIsTheCodeThatDefinesSolution) {
  const std::string code = "#include <vector>\n__global__ void k() {}\nclass Solution final {};\n";
  auto answer = read_answer(kOne, "Sure!\n```sh\nls\n```\n```cpp\n" + code + "```\n");
  EXPECT_EQ(text_of(answer), "6:" + code);
  EXPECT_EQ(judged_lines(*answer), (record::LineRange{6, 8}));
  EXPECT_NE(answer->notes.at(0).find("no markers"), std::string::npos);
  answer = read_answer(kOne, code);
  EXPECT_EQ(text_of(answer), "1:" + code);
  EXPECT_NE(answer->notes.at(0).find("no markers"), std::string::npos);
  EXPECT_TRUE(says(read_answer(kOne, "```\n" + code + "```\n```\n" + code + "```\n"), "2 code blocks define"));
  EXPECT_TRUE(says(read_answer(problem_of(kTwo), code), "the problem has 2"));
}

TEST(Answer, ThatIsNoneSaysWhatOneLooksLike) {
  for (const std::string text : {"int main() { return 0; }\n", "```cpp\nint main(){return 0;}\n```\n",
                                 "I can't do that.\n", "You need a class Solution { that copies } and that is all.\n",
                                 "// class Solution {};\nint x;\n", "class Solution;\n"}) {
    const auto answer = read_answer(kOne, text);
    EXPECT_TRUE(says(answer, "no solution in it")) << text << errors_of(answer);
    EXPECT_TRUE(says(answer, "between '// [solution]' and '// [/solution]'")) << errors_of(answer);
  }
  for (const std::string text : {"", "\n \t\n", "\xef\xbb\xbf\r\n"}) {
    EXPECT_TRUE(says(read_answer(kOne, text), "the answer is empty")) << text;
  }
}

TEST(Answer, ThatLacksARegionIsRefused) {
  const auto two = problem_of(kTwo);
  const auto answer = read_answer(two, "// [solution: kernel]\nint x;\n// [/solution]\n");
  EXPECT_TRUE(says(answer, "the region 'host' is missing")) << errors_of(answer);
  EXPECT_FALSE(says(answer, "the region 'kernel'")) << errors_of(answer);
  EXPECT_TRUE(
      says(read_answer(kOne, "// [solution]\n \n// [/solution]\n"), "1:1: the region '// [solution]' is empty"));
  EXPECT_TRUE(
      says(read_answer(kOne, "// [solution: x]\nint y;\n// [/solution]\n"), "1:1: the problem has no region 'x'"));
}

TEST(Answer, WithWrongMarkersIsRefusedWithTheirLines) {
  EXPECT_TRUE(says(read_answer(kOne, "int a;\n// [solution]\nclass Solution {};\n"),
                   "answer:2:1: the region that begins here is not closed"));
  EXPECT_TRUE(
      says(read_answer(kOne, "// [solution]\n// [solution]\nclass Solution {};\n// [/solution]\n"), "answer:2:1: "));
  EXPECT_TRUE(says(read_answer(kOne, "Text\n```\n// [/solution]\nclass Solution {};\n```\n"), "answer:3:1: "));
}

TEST(Answer, IsText) {
  using namespace std::string_literals;
  EXPECT_TRUE(says(read_answer(kOne, "a\nb\0c"s), "answer:2:1: the answer holds a NUL byte"));
  EXPECT_TRUE(says(read_answer(kOne, std::string((1 << 20) + 1, 'x')), "the most is 1024"));
  EXPECT_EQ(text_of(read_answer(kOne, "\xef\xbb\xbf// [solution]\r\nclass Solution {\r\n};\r\n// [/solution]\r\n")),
            "2:class Solution {\n};\n");
}

TEST(Assembly, NamesPlacesAsTheirAuthorKnowsThem) {
  catalog::Problem problem = kOne;
  const auto answer = read_answer(problem, "text\n```\n// [solution]\nclass Solution {\n};\n// [/solution]\n```\n");
  ASSERT_TRUE(answer) << errors_of(answer);
  auto sources = assemble(problem, *answer, "mine.cu");
  ASSERT_TRUE(sources);
  const std::string* source = &sources->candidate;
  EXPECT_TRUE(sources->driver.empty());
  EXPECT_TRUE(source->starts_with("#line 1 \"template.cu\"\n#include <cuda_runtime.h>\n"));
  EXPECT_NE(source->find("#line 4 \"mine.cu\"\nclass Solution {\n};\n#line "), std::string::npos) << *source;
  EXPECT_EQ(source->find("secret"), std::string::npos) << *source;
  EXPECT_TRUE(source->ends_with("#line 1 \"entry.cu\"\n#include <fabricbench/entry.h>\nFABRICBENCH_ENTRY(Solution)\n"));
  // The line behind a region is that of the template.
  const std::string shown = *catalog::make_template(problem);
  const auto line = std::ranges::count(shown.substr(0, shown.find("// [/solution]")), '\n') + 1;
  EXPECT_NE(source->find(fmt::format("#line {} \"template.cu\"\n// [/solution]", line)), std::string::npos) << *source;
}

// No name of one side is in the other, but for the functions of the border.
TEST(Assembly, KeepsDriverAndCandidateApart) {
  catalog::Problem problem = kOne;
  problem.driver =
      "#include <vector>\n#include \"args.h\"\n// [interface]\nstruct Item { int n; };\n// [/interface]\n"
      "template <class S> class Driver {};\n";
  problem.interface.construct = {{"int", "blocks"}};
  problem.interface.host = {*catalog::parse_function("Queue queue()"),
                            *catalog::parse_function("bool pop(Item& item)")};
  problem.interface.device = {*catalog::parse_function("void Queue::push(const Item& item)")};
  const auto answer = read_answer(problem, "// [solution]\nclass Solution {\n};\n// [/solution]\n");
  ASSERT_TRUE(answer) << errors_of(answer);
  const auto sources = assemble(problem, *answer);
  ASSERT_TRUE(sources);
  EXPECT_EQ(sources->candidate.find("class Driver"), std::string::npos) << sources->candidate;
  EXPECT_EQ(sources->driver.find("class Solution"), std::string::npos) << sources->driver;
  for (const std::string& side : {sources->candidate, sources->driver}) {
    EXPECT_TRUE(side.starts_with("#include <vector>\n")) << side;
    EXPECT_NE(side.find("struct Item { int n; };\n"), std::string::npos) << side;
    EXPECT_NE(side.find("fabricbench_Queue_push"), std::string::npos) << side;
  }
  EXPECT_NE(sources->candidate.find("new Solution(*rank, blocks)"), std::string::npos) << sources->candidate;
  EXPECT_TRUE(sources->driver.ends_with("FABRICBENCH_ENTRY(Driver<FabricbenchSolution>)\n"));
  // Lines of driver.cu stay where they are.
  EXPECT_NE(sources->driver.find("#line 1 \"driver.cu\"\n#include <vector>\n#include \"args.h\"\n\n\n\ntemplate"),
            std::string::npos)
      << sources->driver;
}

TEST(CodeText, KnowsWhatDefinesAClass) {
  EXPECT_TRUE(defines_class("struct Solution : Base {", "Solution"));
  EXPECT_TRUE(defines_class("char c = '\"'; class Solution\n{", "Solution"));
  EXPECT_TRUE(defines_class("int n = 1'000; class Solution {};", "Solution"));
  EXPECT_FALSE(defines_class("class SolutionBase {};", "Solution"));
  EXPECT_FALSE(defines_class("/* class Solution {}; */", "Solution"));
  EXPECT_FALSE(defines_class("const char* s = \"class Solution {\";", "Solution"));
  EXPECT_FALSE(defines_class("/* class Solution {", "Solution"));
}

}  // namespace
}  // namespace fb::judge
