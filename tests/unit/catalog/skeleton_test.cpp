#include "judge/catalog/skeleton.h"

#include "judge/catalog/source.h"
#include "judge/catalog/statement.h"
#include "sample.h"

namespace fb::catalog {
namespace {

TEST(Skeleton, IsAProblemThatLoadsAndSaysEverything) {
  const auto files = make_skeleton("kernel", "fusion", "my_problem");
  ASSERT_TRUE(files);
  const ScratchFolder root;
  for (const auto& [file, text] : *files) root.write("kernel/fusion/my_problem/" + file, text);
  const auto problem = load_problem(root.path() + "/kernel/fusion/my_problem");
  ASSERT_TRUE(problem) << problem.error().list[0].message;
  EXPECT_EQ(problem->category, "fusion");
  EXPECT_EQ(problem->track, "kernel");
  EXPECT_TRUE(lint_statement(*problem).empty());
  EXPECT_TRUE(make_template(*problem));
}

TEST(Skeleton, NeedsNamesThatCanBeFolders) {
  EXPECT_FALSE(make_skeleton("kernel", "fusion", "My"));
  EXPECT_FALSE(make_skeleton("comm", "", "mine"));
  EXPECT_FALSE(make_skeleton("comm", "p2p", "../mine"));
}

}  // namespace
}  // namespace fb::catalog
