/* The server that is measured against: it answers each line at once, and knows a handful of methods.
   Usage: echo TOOLS_A_PAGE PAGES */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *HANDSHAKE =
    "{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},"
    "\"serverInfo\":{\"name\":\"echo\",\"version\":\"1\"}}";
static const char *SMALL = "{\"content\":[{\"type\":\"text\",\"text\":\"Fair winds, ebb at noon.\"}],\"isError\":false}";

static void page(long first, long count, long next) {
    printf("{\"tools\":[");
    for (long i = 0; i < count; i++)
        printf("%s{\"name\":\"list_berths_%ld\",\"title\":\"List berths\",\"description\":\"List the berths that are free on a day, with "
               "their depth and length. Days are in the harbor's own time zone, and nothing is reserved by asking.\","
               "\"inputSchema\":{\"type\":\"object\",\"properties\":{"
               "\"day\":{\"type\":\"string\",\"description\":\"Day in the harbor's own time zone\"},"
               "\"min_depth\":{\"type\":\"number\",\"minimum\":0,\"description\":\"Metres at low water\"},"
               "\"side\":{\"type\":\"string\",\"enum\":[\"port\",\"starboard\"],\"default\":\"port\"},"
               "\"crew\":{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},"
               "\"class\":{\"type\":\"string\",\"enum\":[\"A\",\"B\"]}},\"required\":[\"name\"]}},"
               "\"limit\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":100,\"default\":20}},"
               "\"required\":[\"day\"]},\"annotations\":{\"readOnlyHint\":true}}",
               i ? "," : "", first + i);
    if (next > 0)
        printf("],\"nextCursor\":\"page-%ld\"}", next);
    else
        printf("]}");
}

static void big(long mib) {
    static char row[1025];
    if (!row[0])
        memset(row, 'w', 1024);
    printf("{\"content\":[{\"type\":\"text\",\"text\":\"");
    for (long i = 0; i < mib * 1024; i++)
        fwrite(row, 1, 1024, stdout);
    printf("\"}],\"isError\":false}");
}

int main(int argc, char **argv) {
    long tools = argc > 1 ? atol(argv[1]) : 20, pages = argc > 2 ? atol(argv[2]) : 1;
    char *line = NULL;
    size_t room = 0;
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    while (getline(&line, &room, stdin) > 0) {
        char *id = strstr(line, "\"id\":"), *at;
        if (id == NULL)
            continue;
        printf("{\"jsonrpc\":\"2.0\",\"id\":%ld,\"result\":", atol(id + 5));
        if (strstr(line, "\"tools/call\"")) {
            if ((at = strstr(line, "\"mib\":")))
                big(atol(at + 6));
            else
                fputs(SMALL, stdout);
        } else if (strstr(line, "\"tools/list\"")) {
            long number = (at = strstr(line, "\"page-")) ? atol(at + 6) : 0;
            page(number * tools, tools, number + 1 < pages ? number + 1 : 0);
        } else {
            fputs(strstr(line, "\"initialize\"") ? HANDSHAKE : "{}", stdout);
        }
        fputs("}\n", stdout);
        fflush(stdout);
    }
    return 0;
}
