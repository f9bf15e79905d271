#include "tools/resiliencectl/table.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace grpc_resilience::tools {
namespace {

// Characters, not bytes.
std::size_t WidthOf(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(),
      [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// What a name or message holds must not steer the terminal.
std::string Printable(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) c = ' ';
  }
  return text;
}

}  // namespace

bool WantsColor(const std::string& choice) {
  if (choice != "auto") return choice == "always";
  return isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
}

std::string Colored(const std::string& text, Color color) {
  switch (color) {
    case Color::kNone:
      return text;
    case Color::kRed:
      return "\x1b[31m" + text + "\x1b[0m";
    case Color::kYellow:
      return "\x1b[33m" + text + "\x1b[0m";
    case Color::kGreen:
      return "\x1b[32m" + text + "\x1b[0m";
    case Color::kBold:
      return "\x1b[1m" + text + "\x1b[0m";
  }
  return text;
}

void Table::Print(std::ostream& out, bool color) const {
  std::vector<std::size_t> widths;
  for (const Row& row : rows_) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], WidthOf(row[i].text));
    }
  }
  for (const Row& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string text = Printable(row[i].text);
      line += color ? Colored(text, row[i].color) : text;
      if (i + 1 == row.size()) break;
      line.append(widths[i] - WidthOf(text) + 2, ' ');
    }
    while (!line.empty() && line.back() == ' ') line.pop_back();
    out << line << "\n";
  }
}

}  // namespace grpc_resilience::tools
