// put and get: bytes come back equal, from another process, whatever key and bytes they are (10, 25).
#include "command.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace hearth::test {

using PutAndGet = Command;

TEST_F(PutAndGet, bytes_come_back_equal_in_another_process)
{
    const std::string bytes = noise(200000);
    const auto file = write("kernel.cubin", bytes);
    EXPECT_TRUE(ends_printing(hearth({"put", "saxpy", file.string()}), 0, "disk"));

    const ProcessResult found = hearth({"get", "saxpy"});
    EXPECT_EQ(found.exit_code, 0) << found.err;
    EXPECT_EQ(found.out, bytes);
    put("nothing", "");
    const ProcessResult nothing = hearth({"get", "nothing"});
    EXPECT_EQ(nothing.exit_code, 0) << "empty bytes are an entry too: " << nothing.err;
    EXPECT_EQ(nothing.out, "");
}

TEST_F(PutAndGet, keys_of_any_bytes_are_told_apart)
{
    Words keys{"",       " ", "a/b/../c", "Grüße", "漢字", "\x1b[31m", "\xff\xfe\x80", "[a,b]", "a,b",
               "--json", "-", "++",       "put",   "%%",   "'q'",      "\"q\"",        "{}",    "a\nb\tc"};
    keys.emplace_back("*");
    keys.emplace_back(100000, 'k');
    for (const std::string& key : keys)
        put(key, "value of " + key);
    for (const std::string& key : keys) {
        const ProcessResult found = hearth({"get", "-o", "-", "--", key});
        EXPECT_EQ(found.exit_code, 0) << key << ": " << found.err;
        EXPECT_EQ(found.out, "value of " + key);
    }
    EXPECT_EQ(json_lines_of({"ls", "--json"}).size(), keys.size());
}

TEST_F(PutAndGet, a_key_is_found_by_its_digits_and_by_their_beginning)
{
    const std::string key = put("saxpy", "bytes");
    ASSERT_EQ(key.size(), 64U);
    EXPECT_EQ(hearth({"get", key}).out, "bytes");
    EXPECT_EQ(hearth({"get", key.substr(0, 8)}).out, "bytes");
    EXPECT_EQ(hearth({"get", key.substr(0, 7)}).exit_code, 1) << "seven digits could be a word";
}

TEST_F(PutAndGet, digits_shared_by_two_keys_are_refused_as_ambiguous)
{
    const std::string beginning(60, 'a');
    put(beginning + "0001", "one");
    put(beginning + "0002", "two");
    EXPECT_TRUE(ends_saying(hearth({"get", beginning}), 2, beginning + "0001", beginning + "0002"));
    EXPECT_EQ(hearth({"get", beginning + "0002"}).out, "two");
}

TEST_F(PutAndGet, output_file_appears_whole_with_the_usual_permissions)
{
    put("k", "fresh");
    const auto target = write("out", "stale and longer");
    EXPECT_EQ(hearth({"get", "k", "-o", "out"}).exit_code, 0);
    EXPECT_EQ(read(target), "fresh");
    for (const auto& [path, bytes] : snapshot(scratch))
        EXPECT_EQ(path.find("out."), std::string::npos) << "left behind: " << path;

    EXPECT_EQ(hearth({"get", "k", "-o", "new"}).exit_code, 0);
    struct stat status {};
    ASSERT_EQ(::stat((scratch / "new").c_str(), &status), 0);
    const mode_t mask = ::umask(0);
    ::umask(mask);
    EXPECT_EQ(status.st_mode & 0777U, 0666U & ~mask);
}

TEST_F(PutAndGet, output_that_cannot_be_written_is_a_failure_with_a_sentence)
{
    put("k", "bytes");
    for (const std::string& target : {std::string("no/such/folder/out"), scratch.string()})
        EXPECT_TRUE(is_refused(hearth({"get", "k", "-o", target}), 3));
}

TEST_F(PutAndGet, output_goes_into_a_pipe_of_this_users_and_no_others)
{
    put("k", "bytes");
    ASSERT_EQ(::mkfifo((scratch / "pipe").c_str(), 0666), 0);
    const std::string both = "'" HEARTH_COMMAND "' --dir '" + cache.string() + "' get k -o pipe & cat pipe";
    EXPECT_EQ(run_process({"/bin/sh", "-c", "cd '" + scratch.string() + "'; " + both}).out, "bytes");
    EXPECT_EQ(hearth({"get", "k", "-o", "/dev/stdout"}).out, "bytes");
    if (::chown((scratch / "pipe").c_str(), 12345, 12345) != 0)
        GTEST_SKIP() << "only root can give a pipe away";
    EXPECT_EQ(hearth({"get", "k", "-o", "pipe"}).exit_code, 3) << "nobody reads from it, and it is not waited for";
    const int reader = ::open((scratch / "pipe").c_str(), O_RDWR | O_CLOEXEC);
    EXPECT_TRUE(is_refused(hearth({"get", "k", "-o", "pipe"}), 3, "is a pipe of another user"));
    ::close(reader);
}

// In a directory such as /tmp a neighbour can make a second name for a file of ours that everybody may write to.
TEST_F(PutAndGet, output_takes_its_mode_from_no_file_that_has_another_name)
{
    const auto mode_after = [&](const char* name) {
        EXPECT_EQ(hearth({"get", "k", "-o", name}).exit_code, 0);
        struct stat status {};
        EXPECT_EQ(::stat((scratch / name).c_str(), &status), 0);
        return status.st_mode & 0777U;
    };
    put("k", "bytes");
    ASSERT_EQ(::chmod(write("open", "shared").c_str(), 0777), 0);
    std::filesystem::create_hard_link(scratch / "open", scratch / "linked");
    EXPECT_EQ(mode_after("linked") & 0133U, 0U);
    EXPECT_EQ(read(scratch / "open"), "shared");
    ASSERT_EQ(::chmod(write("mine", "old").c_str(), 0700), 0);
    EXPECT_EQ(mode_after("mine"), 0700U) << "a file of one name keeps its mode";
}

TEST_F(PutAndGet, hit_and_miss_are_facts_in_json_beside_an_output_file)
{
    put("k", "bytes");
    EXPECT_TRUE(holds(json_of({"get", "k", "-o", "out", "--json"}), {{"hit", true}, {"tier", "disk"}, {"bytes", 5}}));
    const Words absent{"get", "other", "-o", "out", "--json"};
    EXPECT_TRUE(holds(object_of(hearth(absent)), {{"exit", 1}, {"hit", false}, {"reason", "absent"}}));
    const ProcessResult missed = hearth({"get", "other"});
    EXPECT_TRUE(ends_saying(missed, 1, "absent"));
    EXPECT_EQ(missed.out, "");
    EXPECT_EQ(hearth({"get", "k", "--json"}).exit_code, 2) << "bytes and facts on one stream";
}

TEST_F(PutAndGet, a_section_that_is_not_there_is_nothing_found)
{
    put("k", "bytes");
    EXPECT_EQ(hearth({"get", "k", "--section", ""}).out, "bytes") << "put stores one section without a name";
    EXPECT_TRUE(ends_saying(hearth({"get", "k", "--section", "ptx"}), 1, "ptx"));
}

TEST_F(PutAndGet, a_file_that_cannot_be_read_is_a_failure_with_a_sentence)
{
    for (const std::string& file : {std::string("no-such-file"), scratch.string()})
        EXPECT_TRUE(is_refused(hearth({"put", "k", file}), 3, file));
    EXPECT_TRUE(json_lines_of({"ls", "--json"}).empty()) << "nothing was stored";
}

TEST_F(PutAndGet, an_entry_larger_than_the_limit_is_refused_with_the_limit)
{
    ProcessOptions options{.environment = {{"HEARTH_MAX_BYTES", "64KiB"}, {"HEARTH_MEMORY_BYTES", "64KiB"}}};
    options.input = noise(1 << 20);
    EXPECT_TRUE(ends_saying(hearth({"put", "big", "-"}, options), 3, "65536"));
}

TEST_F(PutAndGet, input_is_read_to_the_limit_of_an_entry_and_no_further)
{
    const std::string command = "head -c 8388608 /dev/zero | HEARTH_MAX_ENTRY_BYTES=64KiB HEARTH_DIR='" +
                                cache.string() + "' '" HEARTH_COMMAND "' put k -";
    EXPECT_TRUE(
        ends_saying(run_process({"/bin/sh", "-c", command}), 3, "Standard input has more than the 65536 bytes"));

    const ProcessOptions options{.environment = {{"HEARTH_MAX_ENTRY_BYTES", "64KiB"}}};
    write("long.cu", std::string(65537, ' '));
    EXPECT_TRUE(ends_saying(hearth({"put", "k", "long.cu"}, options), 3, "has more than the 65536 bytes"));
    EXPECT_EQ(hearth({"compile", "long.cu"}, options).exit_code, 0) << "a source is no entry";
    write("full", std::string(65536, ' '));
    EXPECT_EQ(hearth({"put", "k", "full"}, options).exit_code, 0);
}

TEST_F(PutAndGet, a_device_is_no_file)
{
    std::filesystem::create_symlink("/dev/null", scratch / "k.cu");
    for (const Words& words : {Words{"put", "k", "/dev/null"}, {"compile", "k.cu"}})
        EXPECT_TRUE(ends_saying(hearth(words), 3, "is a device"));
}

}  // namespace hearth::test
