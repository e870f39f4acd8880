// Compiles a file with a watched NVRTC, between two calls that strace shows, and prints what the recorders saw.
//
//   watch_probe FILE OPTION...       read PATH | missed PATH

#include "watched_nvrtc.hpp"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <unistd.h>

int main(int count, char** words)
{
    using namespace hearth;
    const test::WatchedNvrtc* const nvrtc = test::WatchedNvrtc::get();
    if (nvrtc == nullptr || !nvrtc->library().ok() || count < 2)
        return 2;
    std::ostringstream source;
    source << std::ifstream(words[1]).rdbuf();
    static_cast<void>(::access("/hearth-begins", F_OK));
    watch::Recording recording;
    const int status = nvrtc->compile(source.str(), {words + 2, words + count});
    const watch::EventLog& log = recording.finish();
    static_cast<void>(::access("/hearth-ends", F_OK));
    log.for_each([](const watch::Event& event) {
        const bool of_files = event.asked == watch::Asked::file || event.asked == watch::Asked::status;
        if (event.asked == watch::Asked::file && event.error == 0)
            std::printf("read %.*s\n", static_cast<int>(event.name.size()), event.name.data());
        else if (of_files && event.error == ENOENT)
            std::printf("missed %.*s\n", static_cast<int>(event.name.size()), event.name.data());
    });
    return status == 0 && log.is_complete() ? 0 : 1;
}
