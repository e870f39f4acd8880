#pragma once

#include "hearth/result.hpp"
#include "watch/event_log.hpp"

#include <memory>
#include <string>

// NVRTC's automatic precompiled headers (--pch): the first compile of a process that reads some headers writes down
// what it made of them, in a file of this process, and later compiles read that in their place. The output is the same.
// What a later compile depends on is therefore what it asked itself, and what the compile asked that made its header.

namespace hearth::nvrtc {

// Takes what NVRTC tells about precompiled headers out of the log, and answers all that this compile depends on. An
// Error if that is not known. Must be called for every compile with --pch whose result may be kept.
// Thread safety: all of it.
Result<std::shared_ptr<const watch::EventLog>> with_precompiled(const watch::EventLog& asked, std::string& log,
                                                                const std::string& working_directory);

}  // namespace hearth::nvrtc
