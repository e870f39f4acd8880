#pragma once

// What is visible outside libhearth.so is marked HEARTH_API; everything else stays inside, so that a host
// program's own libraries are never disturbed by ours.
#define HEARTH_API __attribute__((visibility("default")))

#define HEARTH_VERSION_MAJOR 0
#define HEARTH_VERSION_MINOR 2
#define HEARTH_VERSION_PATCH 0
#define HEARTH_VERSION "0.2.1"
