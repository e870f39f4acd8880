// Starts a program in the way that is named first: starts execv /usr/bin/g++ -c a.cpp
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

static int become(const char* how, char** words)
{
    char** w = words;
    if (strcmp(how, "execv") == 0)
        return execv(w[0], w);
    if (strcmp(how, "execve") == 0)
        return execve(w[0], w, environ);
    if (strcmp(how, "execvp") == 0)
        return execvp(w[0], w);
    if (strcmp(how, "execvpe") == 0)
        return execvpe(w[0], w, environ);
    // These want five words.
    if (strcmp(how, "execl") == 0)
        return execl(w[0], w[0], w[1], w[2], w[3], w[4], (char*)NULL);
    if (strcmp(how, "execlp") == 0)
        return execlp(w[0], w[0], w[1], w[2], w[3], w[4], (char*)NULL);
    if (strcmp(how, "execle") == 0)
        return execle(w[0], w[0], w[1], w[2], w[3], w[4], (char*)NULL, environ);
    fprintf(stderr, "starts: no way is called %s\n", how);
    return -1;
}

int main(int count, char** given)
{
    if (count < 3)
        return 2;
    const char* how = given[1];
    char** words = given + 2;
    int status = 0;
    pid_t child = 0;
    if (strcmp(how, "posix_spawn") == 0 || strcmp(how, "posix_spawnp") == 0) {
        const int error = (how[11] == 'p' ? posix_spawnp : posix_spawn)(&child, words[0], NULL, NULL, words, environ);
        if (error != 0) {
            fprintf(stderr, "%s\n", strerror(error));
            return 127;
        }
    } else if (strcmp(how, "system") == 0) {
        status = system(words[0]);
        return WEXITSTATUS(status);
    } else if ((child = vfork()) == 0) {
        become(how, words);
        _exit(127);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
