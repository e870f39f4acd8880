#include "support/test_program.hpp"

#include "support/scratch_directory.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <unistd.h>

namespace hearth::test {

namespace {

namespace fs = std::filesystem;

// Never destroyed as others are: a forked child that exits would remove it.
ScratchDirectory* g_directory = nullptr;

// At the very end: servers that cases share are stopped when the process ends, and take their directories with them.
void leave_nothing(pid_t owner)
{
    if (::getpid() != owner)
        return;
    bool is_empty = true;
    for (const fs::directory_entry& item : fs::directory_iterator(g_directory->path())) {
        std::fprintf(stderr, "The tests left %s in their temporary directory.\n", item.path().filename().c_str());
        is_empty = false;
    }
    delete g_directory;
    if (!is_empty)
        std::_Exit(1);
}

}  // namespace

int run_tests(int& count, char** words)
{
    testing::InitGoogleTest(&count, words);
    if (!testing::GTEST_FLAG(list_tests)) {
        g_directory = new ScratchDirectory;
        fs::permissions(g_directory->path(), fs::perms(0755));  // some cases act as another user
        ::setenv("TMPDIR", g_directory->path().c_str(), 1);
        static const pid_t s_owner = ::getpid();
        std::atexit([] { leave_nothing(s_owner); });
    }
    return RUN_ALL_TESTS();
}

}  // namespace hearth::test
