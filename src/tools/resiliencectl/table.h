// Columns for a terminal, or for grep.

#pragma once

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

namespace grpc_resilience::tools {

enum class Color { kNone, kRed, kYellow, kGreen, kBold };

/// Whether stdout gets colours: "auto" is for terminals without NO_COLOR.
bool WantsColor(const std::string& choice);

std::string Colored(const std::string& text, Color color);

/// Not safe for use from several threads at once.
class Table {
 public:
  struct Cell {
    Cell(std::string t, Color c = Color::kNone)  // NOLINT
        : text(std::move(t)), color(c) {}
    Cell(const char* t) : text(t) {}  // NOLINT
    std::string text;
    Color color = Color::kNone;
  };
  using Row = std::vector<Cell>;

  explicit Table(Row head) { rows_.push_back(std::move(head)); }
  void Add(Row row) { rows_.push_back(std::move(row)); }
  std::size_t size() const { return rows_.size() - 1; }
  void Print(std::ostream& out, bool color) const;

 private:
  std::vector<Row> rows_;
};

}  // namespace grpc_resilience::tools
