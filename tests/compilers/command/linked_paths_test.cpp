#include "compilers/command/linked_paths.hpp"

#include "support/scratch_directory.hpp"

#include <filesystem>
#include <gtest/gtest.h>

namespace hearth::test {

namespace {

using Words = std::vector<std::string>;

class LinkedPaths : public testing::Test {
protected:
    LinkedPaths() { std::filesystem::create_directories(m_source + "/inc"); }

    // The words that nvcc is given. Empty: it is left alone.
    Words linked(Words words)
    {
        m_call = command::read_call(*command::profile_of("nvcc"), words);
        m_places = {m_scratch.path(), m_call.sources.front().substr(0, m_call.sources.front().rfind('/')),
                    m_call.directories};
        if (m_call.sources.front().find('/') == std::string::npos)
            m_places.program_directory.clear();
        m_links = command::linked_paths(m_call, m_places);
        words.insert(words.begin(), "nvcc");
        return m_links.empty() ? Words{} : command::through_links(words, m_call, m_links);
    }

    const ScratchDirectory m_scratch;
    const std::string m_source = m_scratch / "new";
    const std::string m_file = m_source + "/k.cu";
    command::Call m_call;
    watch::Places m_places;
    std::vector<command::FixedPath> m_links;
};

TEST_F(LinkedPaths, name_whole_directories_by_their_numbers_and_leave_the_others)
{
    EXPECT_EQ(linked({"-ptx", "-lineinfo", "-Iinc", "-I", m_source + "/inc/", m_file, "-o", m_source + "/k.ptx"}),
              (Words{"nvcc", "-ptx", "-lineinfo", "-Iinc", "-I", "/proc/self/fd/642/", "/proc/self/fd/640/k.cu", "-o",
                     m_source + "/k.ptx"}));
    EXPECT_EQ(command::names_of_links(m_places, m_links), (Words{"/proc/self/fd/640", "inc", "/proc/self/fd/642/"}));
    EXPECT_EQ(linked({"-ptx", "k.cu"}), (Words{"nvcc", "-ptx", "k.cu"}));
}

TEST_F(LinkedPaths, are_put_back_into_messages)
{
    linked({"-cubin", "-I" + m_source + "/inc", m_file});
    EXPECT_EQ(
        command::without_links("/proc/self/fd/640/k.cu(3): see /proc/self/fd/641/a.h, /proc/self/cwd/b.h\n", m_links),
        m_file + "(3): see " + m_source + "/inc/a.h, " + m_scratch.path() + "/b.h\n");
}

TEST_F(LinkedPaths, are_for_device_code_alone_whose_words_can_all_be_changed)
{
    EXPECT_FALSE(linked({"-fatbin", m_file}).empty());
    // Objects are linked with others, and call what has no name by the path of the source.
    EXPECT_TRUE(linked({"-c", m_file}).empty());
    EXPECT_TRUE(linked({"-ptx", "-MD", m_file}).empty());
    EXPECT_TRUE(linked({"-ptx", m_file, m_file}).empty());
    // Compilers say of a file that it is no directory, and of nothing nothing.
    write_file(m_file, "");
    EXPECT_TRUE(linked({"-ptx", "-I" + m_file, m_file}).empty());
    EXPECT_FALSE(linked({"-ptx", "-I" + m_source + "/absent", m_file}).empty());
    write_file(m_scratch / "more", "-I" + m_source);
    EXPECT_TRUE(linked({"-ptx", "-optf", m_scratch / "more", m_file}).empty());
}

}  // namespace

}  // namespace hearth::test
