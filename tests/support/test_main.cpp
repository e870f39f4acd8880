#include "support/test_program.hpp"

int main(int count, char** words)
{
    return hearth::test::run_tests(count, words);
}
