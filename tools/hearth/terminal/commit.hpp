#pragma once

namespace hearth::cli {

// The commit that this command was built from, or "unknown". cmake/HearthCommit.cmake writes its source.
extern const char* const k_commit;

}  // namespace hearth::cli
