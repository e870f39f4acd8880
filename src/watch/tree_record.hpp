#pragma once

#include "watch/event_log.hpp"

#include <cstdint>

// What the recorder in every process of a tree writes down, one record a question, in a file that all of them append
// to. Written by proxy/recorder, which has libc alone; read by watch/tree_log.
//
//   record := TreeRecord name answer        `size` bytes in all

namespace hearth::watch {

// How the recorder is told where to write: log ":" inode ":" inode ":" directory. The inodes are those of the pipes
// that stand for a terminal (0: none does), the directory that in which the tree was started.
inline constexpr const char* k_tree_log_variable = "HEARTH_TREE_LOG";
// The path of the command hearth, which answers steps of the compiler that is watched.
inline constexpr const char* k_steps_variable = "HEARTH_STEPS";
// Set where the tree is given directories by fixed names: the working directory is told by one too, and the real path
// of what is below them is the path itself.
inline constexpr const char* k_links_variable = "HEARTH_LINKS";
inline constexpr const char* k_linked_directory = "/proc/self/cwd";
inline constexpr const char* k_linked_descriptors = "/proc/self/fd/";
// What the log is called. Whoever is told of one that is called otherwise writes nothing: it may be anybody's file,
// where the process that had the log is gone.
inline constexpr const char* k_tree_log_name = "hearth tree log";
inline constexpr const char* k_tree_log_link = "/memfd:hearth tree log";

enum class Did : std::uint8_t {
    asked,    // `asked` says what
    starts,   // is about to become, or has started, another program: `name`
    failed,   // to start the program it said it would
    entered,  // a program has begun, with the recorder in it: its path, and its arguments as answer, a zero behind each
    loaded,   // an object that the dynamic loader brought in before the program began
    wrote,    // opened a file to write to it
    changes,  // opened a file to write to it, and kept what it held; or cut it short
    appends,  // opened a file to add to its end
    renamed,  // from `name` to `answer`
    removed,  // a file or a directory
    made,     // a directory, or a link
    numbered,  // asked for the number of its process
    searches,  // libraries along this list of directories (LD_LIBRARY_PATH), before those that it names itself
    answered,  // the program that was entered did not run: `answer` has the conditions of what it would have done
    overflow,  // could not tell something: the log is incomplete
};

struct TreeRecord {
    std::uint32_t size = 0;
    Did did = Did::asked;
    Asked asked = Asked::unanswered;
    std::uint16_t name_size = 0;
    std::uint32_t answer_size = 0;
    std::int32_t error = 0;
    std::uint32_t mode = 0;
    std::uint32_t process = 0;
    std::uint32_t was_there = 0;  // of a file that is written: before it was opened
    FileIdentity file{};
    std::int64_t at_ns = 0;
};

}  // namespace hearth::watch
