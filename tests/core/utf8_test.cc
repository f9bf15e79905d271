#include "core/utf8.h"

#include <gtest/gtest.h>

#include <string>

namespace grpc_resilience::internal {
namespace {

TEST(ValidUtf8Test, KeepsWhatIsValid) {
  for (const std::string& text : {
           std::string(),
           std::string("plain"),
           std::string(1, '\0'),
           std::string("\x7F"),
           std::string("\xC2\x80"),
           std::string("\xDF\xBF"),
           std::string("\xE0\xA0\x80"),
           std::string("\xED\x9F\xBF"),
           std::string("\xEE\x80\x80"),
           std::string("\xEF\xBF\xBF"),
           std::string("\xF0\x90\x80\x80"),
           std::string("\xF3\xBF\xBF\xBF"),
           std::string("\xF4\x8F\xBF\xBF"),
       }) {
    EXPECT_EQ(ValidUtf8(text), text);
  }
}

TEST(ValidUtf8Test, ReplacesEachByteOfWhatIsNot) {
  struct Case {
    const char* text;
    const char* valid;
  };
  for (const Case& c : {
           Case{"a\xFFz", "a?z"}, Case{"\x80", "?"},  // no lead byte
           Case{"\xC3", "?"},                         // cut off
           Case{"\xE2\x82", "??"},                    // cut off
           Case{"\xE2\x82z", "??z"},                  // cut off by another
           Case{"\xF0\x9F\x98\xC3\xA9", "???\xC3\xA9"},
           Case{"\xC0\x80", "??"},            // overlong
           Case{"\xC1\xBF", "??"},            // overlong
           Case{"\xE0\x9F\xBF", "???"},       // overlong
           Case{"\xF0\x8F\xBF\xBF", "????"},  // overlong
           Case{"\xED\xA0\x80", "???"},       // a surrogate
           Case{"\xF4\x90\x80\x80", "????"},  // beyond U+10FFFF
           Case{"\xF5\x80\x80\x80", "????"},  // beyond U+10FFFF
       }) {
    EXPECT_EQ(ValidUtf8(c.text), c.valid);
  }
}

}  // namespace
}  // namespace grpc_resilience::internal
