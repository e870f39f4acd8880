// The same as a C++ program.
#include "every_call.c"
