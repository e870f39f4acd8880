// Looks like an NVRTC with a function that Hearth has never heard of.

int nvrtcVersion(int* major, int* minor)
{
    *major = 13;
    *minor = 99;
    return 0;
}

int nvrtcDoSomethingNew(void)
{
    return 42;
}
