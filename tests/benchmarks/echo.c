/* The server that is measured against: it answers each line at once with the text of a file, which it keeps.
   Usage: echo FOLDER; what lies there is described in payloads.py. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct payload {
    char name[64];
    char *text;
    size_t size;
    struct payload *next;
};

static const struct payload *find(const char *folder, const char *name) {
    static struct payload *kept;
    for (struct payload *each = kept; each; each = each->next)
        if (!strcmp(each->name, name))
            return each;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    struct payload *made = calloc(1, sizeof *made);
    if (!file || !made || fseek(file, 0, SEEK_END)) {
        perror(path);
        exit(1);
    }
    made->size = (size_t)ftell(file);
    made->text = malloc(made->size + 1);
    rewind(file);
    if (!made->text || fread(made->text, 1, made->size, file) != made->size) {
        perror(path);
        exit(1);
    }
    fclose(file);
    snprintf(made->name, sizeof made->name, "%s", name);
    made->next = kept;
    return kept = made;
}

/* The string that is the value of a key, or what stands for it. */
static void after(const char *line, const char *key, const char *otherwise, char *name, size_t room) {
    const char *at = strstr(line, key);
    if (at)
        at += strlen(key) + strspn(at + strlen(key), " ");
    if (at && *at == '"')
        snprintf(name, room, "%.*s", (int)strcspn(at + 1, "\""), at + 1);
    else
        snprintf(name, room, "%s", otherwise);
}

int main(int argc, char **argv) {
    char *line = NULL, name[64];
    size_t room = 0;
    if (argc < 2)
        return 2;
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    while (getline(&line, &room, stdin) > 0) {
        char *id = strstr(line, "\"id\":");
        if (id == NULL)
            continue;
        printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":", atol(id + 5));
        if (strstr(line, "\"tools/call\""))
            after(line, "\"payload\":", "small", name, sizeof name);
        else if (strstr(line, "\"tools/list\""))
            after(line, "\"cursor\":", "page-0", name, sizeof name);
        else
            snprintf(name, sizeof name, "%s", strstr(line, "\"initialize\"") ? "handshake" : "");
        if (*name) {
            const struct payload *found = find(argv[1], name);
            fwrite(found->text, 1, found->size, stdout);
        } else
            fputs("{}", stdout);
        fputs("}\n", stdout);
        fflush(stdout);
    }
    return 0;
}
