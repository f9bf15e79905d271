// Columns, and what may get to a terminal.

#include "tools/resiliencectl/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace grpc_resilience::tools {
namespace {

std::string Printed(const Table& table, bool color) {
  std::ostringstream out;
  table.Print(out, color);
  return out.str();
}

TEST(TableTest, ColumnsAreAsWideAsTheirWidestCharacters) {
  Table table({"A", "B", "C"});
  EXPECT_EQ(table.size(), 0u);
  table.Add({"1", "long", "x"});
  table.Add({"\xc3\xa9\xc3\xa9", "b"});  // two characters, four bytes
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(Printed(table, false),
            "A   B     C\n"
            "1   long  x\n"
            "\xc3\xa9\xc3\xa9  b\n");
}

TEST(TableTest, ColoursTakeNoWidth) {
  Table table({{"A", Color::kBold}, "B"});
  table.Add({{"OPEN", Color::kRed}, "b"});
  EXPECT_EQ(Printed(table, true),
            "\x1b[1mA\x1b[0m     B\n"
            "\x1b[31mOPEN\x1b[0m  b\n");
}

// A name comes from the application, a message from a server.
TEST(TableTest, CellsDoNotSteerTheTerminal) {
  Table table({"A"});
  table.Add(
      {"a\x1b[2Jb\nc\rd\x7f"
       "e"});
  EXPECT_EQ(Printed(table, true), "A\na [2Jb c d e\n");
}

TEST(ColorTest, TheChoiceIsTheCallers) {
  EXPECT_TRUE(WantsColor("always"));
  EXPECT_FALSE(WantsColor("never"));
}

}  // namespace
}  // namespace grpc_resilience::tools
