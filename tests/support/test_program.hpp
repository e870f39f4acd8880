#pragma once

namespace hearth::test {

// What main() of a test program does: runs the cases with a temporary directory of their own. A program that leaves
// something there fails. Whoever links hearth_test_support needs no main(), unless the program has other uses too.
int run_tests(int& count, char** words);

}  // namespace hearth::test
