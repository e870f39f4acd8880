#pragma once

#include "watch/tree_record.hpp"

#include <cstddef>
#include <sys/types.h>

// Writing down, from inside any process: no lock, no allocation, nothing of the C++ library, errno untouched.

namespace hearth::recorder {

// A path as the parent of the tree would understand it: absolute if it is relative to anything but the directory in
// which the tree was started.
class Path {
public:
    Path(int directory, const char* given);  // AT_FDCWD: relative to the working directory
    explicit Path(const char* given);
    const char* text() const { return m_text; }

private:
    const char* m_text;
    char m_buffer[4096 + 256];
};

bool is_recording();
// The process that started the tree. 0: it is not known.
int started_by();
// Whether this descriptor is a pipe that stands for a terminal of who started the tree.
bool stands_for_terminal(int descriptor);
// The process has another working directory now.
void note_move();
void note(const watch::TreeRecord& given, const char* name, const char* answer = nullptr, ssize_t answer_size = -1);

void note_asked(watch::Asked asked, const char* name, int error, const char* answer = nullptr,
                ssize_t answer_size = -1);
// Of a file that was looked at: its kind and identity are added where it is there.
void note_status(const char* path, int error);
enum class Opens : unsigned char { to_read, to_write, to_change, to_append };  // the last two keep what the file held
// Whether anything is at the path that somebody is about to open.
bool is_there(int directory, const char* path);
// Of a file that was opened.
void note_open(const char* path, Opens opens, bool was_there, int descriptor, int error);
// A file that was there was cut to another size.
void note_cut(const char* path);
void note_did(watch::Did did, const char* name, const char* answer = nullptr);
// Something whose answer cannot be held against a later one.
void note_unanswered(const char* what);
// The candidates of a search along PATH, up to the one that is there.
void note_search(const char* program);

}  // namespace hearth::recorder
