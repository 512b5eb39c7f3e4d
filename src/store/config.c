/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "store/config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libeconf.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAIN_FILE "/etc/homenode/homenode.conf"
#define DROPIN_FOLDER MAIN_FILE ".d"
#define DROPIN_LIMIT 256u
#define SECTION_LIMIT 64u
#define FAULT_LIMIT 32u /* so that a wrong file does not fill the log */
#define QUOTE_LIMIT 60  /* bytes of foreign text in a fault */

HN_DEFINE_CLEANUP(econf_file *, econf_freeFile, cleanup_econf)
HN_DEFINE_CLEANUP(char **, econf_freeArray, cleanup_strings)

struct reading {
        struct hn_policy policy;
        const char *path; /* of the file being read */
        FILE *faults;
        unsigned n_faults;
        size_t bytes;     /* of all files so far */
};

/* Foreign text on one line. */
static void quote(FILE *out, const char *text)
{
        (void) fputc('"', out);
        for (int i = 0; text[i] && i < QUOTE_LIMIT; i++)
                (void) fputc((unsigned char) text[i] < ' ' || text[i] == 0x7f ? '?' : text[i], out);
        (void) fputs(strlen(text) > QUOTE_LIMIT ? "…\"" : "\"", out);
}

static bool begin_fault(struct reading *reading)
{
        if (reading->n_faults++ >= FAULT_LIMIT)
                return false;
        if (reading->n_faults > 1)
                (void) fputc('\n', reading->faults);
        if (reading->n_faults == FAULT_LIMIT) {
                (void) fputs("and more", reading->faults);
                return false;
        }
        (void) fprintf(reading->faults, "%s: ", reading->path);
        return true;
}

static void fault_file(struct reading *reading, const char *what)
{
        if (begin_fault(reading))
                (void) fputs(what, reading->faults);
}

/* `value` NULL: the key is the fault. */
static void fault_key(struct reading *reading, const char *section, const char *key, const char *value,
                      const char *what)
{
        if (!begin_fault(reading))
                return;
        if (section) {
                (void) fputs("section ", reading->faults);
                quote(reading->faults, section);
                (void) fputs(", ", reading->faults);
        }
        (void) fputs("key ", reading->faults);
        quote(reading->faults, key);
        (void) fputs(": ", reading->faults);
        if (value)
                quote(reading->faults, value);
        (void) fputs(what, reading->faults);
}

/* Decimal digits and nothing else, up to `limit`. */
static int parse_number(const char *text, uint64_t limit, uint64_t *ret)
{
        uint64_t value = 0;

        if (!*text)
                return -EINVAL;
        for (; *text; text++) {
                if (*text < '0' || *text > '9')
                        return -EINVAL;
                value = value * 10 + (uint64_t) (*text - '0');
                if (value > limit)
                        return -ERANGE;
        }
        *ret = value;
        return 0;
}

static void set_definition(struct hn_policy *policy, size_t word)
{
        policy->definition = (enum hn_definition) word;
}

static void set_balance(struct hn_policy *policy, size_t word)
{
        policy->balance.off = word == 1;
}

/* What is one of several words: a key of its own before any section, or "mode" in a section of that name. */
static const struct mode {
        const char *name;
        const char *const words[4];
        const char *wanted;
        void (*set)(struct hn_policy *policy, size_t word);
} modes[] = {
        { "definition", { [HN_DEFINITION_AUTO] = "auto", [HN_DEFINITION_MINIMAL] = "minimal",
                          [HN_DEFINITION_NEVER] = "never" }, "auto, minimal or never", set_definition },
        { "balance", { "on", "off" }, "on or off", set_balance },
};

#define MIB (UINT64_C(1) << 10) /* in KiB: those are kept as uint64_t, all others as unsigned */

/* The numbers: from the least up to a limit, and what one of the unit is in that of the policy. */
static const struct number {
        const char *section, *key;
        size_t at; /* in struct hn_policy */
        uint64_t least, limit, unit;
} numbers[] = {
        { "placement", "smt_percent", offsetof(struct hn_policy, smt_percent), 0, 100, 1 },
        { "placement", "headroom_percent", offsetof(struct hn_policy, headroom_percent), 0, 100, 1 },
        { "placement", "reserve_percent", offsetof(struct hn_policy, reserve_percent), 0, 100, 1 },
        { "placement", "reserve_max_mib", offsetof(struct hn_policy, reserve_max_kib), 0, UINT64_C(1) << 30, MIB },
        { "placement", "overhead_first_mib", offsetof(struct hn_policy, overhead_first_kib), 0, UINT64_C(1) << 20, MIB },
        { "placement", "overhead_per_gib_mib", offsetof(struct hn_policy, overhead_per_gib_kib), 0, UINT64_C(1) << 10,
          MIB },
        { "balance", "period_seconds", offsetof(struct hn_policy, balance.period_seconds), 1, 3600, 1 },
        { "balance", "moves", offsetof(struct hn_policy, balance.moves), 0, 16, 1 },
        { "balance", "threshold_percent", offsetof(struct hn_policy, balance.threshold_percent), 0, 1000, 1 },
        { "balance", "payback_seconds", offsetof(struct hn_policy, balance.payback_seconds), 0, 86400, 1 },
        { "balance", "cooldown_seconds", offsetof(struct hn_policy, balance.cooldown_seconds), 0, 86400, 1 },
        { "balance", "rate_mib", offsetof(struct hn_policy, balance.rate_mib), 0, 1048576, 1 },
        { "daemon", "renew_seconds", offsetof(struct hn_policy, renew_seconds), 0, 86400, 1 },
};

static const struct number *find_number(const char *section, const char *key)
{
        for (size_t i = 0; section && i < sizeof numbers / sizeof *numbers; i++)
                if (strcmp(section, numbers[i].section) == 0 && strcmp(key, numbers[i].key) == 0)
                        return &numbers[i];
        return NULL;
}

static const struct mode *find_mode(const char *section, const char *key)
{
        for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
                if (section ? strcmp(section, modes[i].name) == 0 && strcmp(key, "mode") == 0
                            : strcmp(key, modes[i].name) == 0)
                        return &modes[i];
        return NULL;
}

static void set_mode(struct reading *reading, const char *section, const struct mode *mode, const char *key,
                     const char *value)
{
        char what[64];

        for (size_t i = 0; i < sizeof mode->words / sizeof *mode->words && mode->words[i]; i++)
                if (strcmp(value, mode->words[i]) == 0) {
                        mode->set(&reading->policy, i);
                        return;
                }
        (void) snprintf(what, sizeof what, " is not %s", mode->wanted);
        fault_key(reading, section, key, value, what);
}

static void set_number(struct reading *reading, const char *section, const struct number *number,
                       const char *value)
{
        void *at = (char *) &reading->policy + number->at;
        uint64_t n = 0;
        char what[64];

        if (parse_number(value, number->limit, &n) < 0 || n < number->least) {
                (void) snprintf(what, sizeof what, " is not a number from %" PRIu64 " to %" PRIu64, number->least,
                                number->limit);
                fault_key(reading, section, number->key, value, what);
        } else if (number->unit == MIB)
                *(uint64_t *) at = n * MIB;
        else
                *(unsigned *) at = (unsigned) n;
}

/* libeconf looks for a value from the start each time: it is asked only for those that mean something. */
static int read_key(struct reading *reading, econf_file *file, const char *section, const char *key)
{
        const struct number *number = find_number(section, key);
        const struct mode *mode = find_mode(section, key);
        HN_FREE char *text = NULL;

        if (!number && !mode) {
                fault_key(reading, section, key, NULL, "unknown");
                return 0;
        }
        econf_err e = econf_getStringValue(file, section, key, &text);
        if (e == ECONF_NOMEM)
                return -ENOMEM;
        const char *value = e == ECONF_SUCCESS && text ? text : "";
        if (number)
                set_number(reading, section, number, value);
        else
                set_mode(reading, section, mode, key, value);
        return 0;
}

static int read_section(struct reading *reading, econf_file *file, const char *section)
{
        HN_CLEANUP(cleanup_strings) char **keys = NULL;
        size_t n = 0;
        econf_err e = econf_getKeys(file, section, &n, &keys);

        if (e != ECONF_SUCCESS)
                return e == ECONF_NOMEM ? -ENOMEM : 0; /* ECONF_NOKEY: an empty one */
        for (size_t i = 0; i < n; i++) {
                int r = read_key(reading, file, section, keys[i]);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* libeconf 0.5 lists a section as often as it begins, with all its keys each time. */
static bool seen_before(char **sections, size_t at)
{
        for (size_t i = 0; i < at; i++)
                if (strcmp(sections[i], sections[at]) == 0)
                        return true;
        return false;
}

static int read_sections(struct reading *reading, econf_file *file)
{
        HN_CLEANUP(cleanup_strings) char **sections = NULL;
        size_t n = 0;
        int r = read_section(reading, file, NULL);

        if (r < 0)
                return r;
        econf_err e = econf_getGroups(file, &n, &sections);
        if (e != ECONF_SUCCESS)
                return e == ECONF_NOMEM ? -ENOMEM : 0; /* ECONF_NOGROUP: none */
        if (n > SECTION_LIMIT) {
                fault_file(reading, "too many sections");
                n = SECTION_LIMIT;
        }
        for (size_t i = 0; r >= 0 && i < n; i++)
                if (!seen_before(sections, i))
                        r = read_section(reading, file, sections[i]);
        return r;
}

/* libeconf wants a name: that of the open descriptor, which is the file below our root. */
static int parse_open_file(struct reading *reading, int fd)
{
        HN_CLEANUP(cleanup_econf) econf_file *file = NULL;
        char name[32];

        (void) snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
        econf_err e = econf_readFile(&file, name, "=", "#;");
        if (e == ECONF_NOMEM)
                return -ENOMEM;
        if (e != ECONF_SUCCESS) {
                HN_FREE char *read_name = NULL;
                uint64_t line = 0;

                econf_errLocation(&read_name, &line);
                if (begin_fault(reading))
                        (void) fprintf(reading->faults, "line %" PRIu64 ": %s; nothing in this file counts", line,
                                       econf_errString(e));
                return 0;
        }
        return read_sections(reading, file);
}

/* Is there a comment that holds a further comment sign?  libeconf 0.7 takes the rest of such a line for a key, or gives
 * the file up ("####", "# ### nodes ###"). */
static bool blank_comments(char *text)
{
        bool odd = false;

        for (char *line = text; *line;) {
                size_t length = strcspn(line, "\n"), indent = strspn(line, " \t");

                if (indent < length && strchr("#;", line[indent])) {
                        odd |= indent + 1 + strcspn(line + indent + 1, "#;\n") < length;
                        memset(line, ' ', length);
                        *line = '#';
                }
                line += length + (line[length] == '\n');
        }
        return odd;
}

/* libeconf reads files: one in memory, its comments blanked so that lines keep their numbers. */
static int parse_text(struct reading *reading, const char *text, size_t length)
{
        HN_CLOSE int fd = memfd_create("homenode.conf", MFD_CLOEXEC);

        if (fd < 0 || write(fd, text, length) != (ssize_t) length) {
                fault_file(reading, strerror(errno));
                return 0;
        }
        return parse_open_file(reading, fd);
}

static int parse_file(struct reading *reading, int fd, size_t size)
{
        HN_FREE char *text = calloc(1, size + 1);
        ssize_t length;

        if (!text)
                return -ENOMEM;
        length = pread(fd, text, size, 0);
        if (length < 0) {
                fault_file(reading, strerror(errno));
                return 0;
        }
        return blank_comments(text) ? parse_text(reading, text, (size_t) length) : parse_open_file(reading, fd);
}

/* Each file by itself: econf_readDirs gives up on all for one missing bracket, and is deprecated in 0.7. */
static int read_file(struct reading *reading, const struct hn_root *root, const char *path)
{
        HN_CLOSE int fd = hn_root_open_file(root, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, "%s", path);
        struct stat st;

        if (fd == -ENOMEM)
                return fd;
        reading->path = path;
        if (fd < 0) {
                if (fd != -ENOENT)
                        fault_file(reading, strerror(-fd));
                return 0;
        }
        if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > (off_t) HN_CONFIG_LIMIT) {
                fault_file(reading, "not a file of at most 16 KiB");
                return 0;
        }
        reading->bytes += (size_t) st.st_size;
        if (reading->bytes > HN_CONFIG_LIMIT_ALL) {
                fault_file(reading, "more than 64 KiB of configuration");
                return 0;
        }
        return parse_file(reading, fd, (size_t) st.st_size);
}

static bool is_dropin(const struct dirent *entry)
{
        size_t length = strlen(entry->d_name);

        return entry->d_name[0] != '.' && length > 5 && strcmp(entry->d_name + length - 5, ".conf") == 0;
}

static int by_name(const void *a, const void *b)
{
        return strcmp(*(char *const *) a, *(char *const *) b);
}

/* The drop-ins' names in `dir`, as many as there is room for. */
static int list_dropins(DIR *dir, char *names[DROPIN_LIMIT], size_t *n)
{
        struct dirent *entry;

        while (*n < DROPIN_LIMIT && (entry = readdir(dir))) {
                if (!is_dropin(entry))
                        continue;
                names[*n] = strdup(entry->d_name);
                if (!names[*n])
                        return -ENOMEM;
                (*n)++;
        }
        return 0;
}

static int read_dropins(struct reading *reading, const struct hn_root *root)
{
        HN_CLOSEDIR DIR *dir = NULL;
        char *names[DROPIN_LIMIT];
        size_t n = 0;
        int r;

        reading->path = DROPIN_FOLDER;
        r = hn_root_open_dir(root, &dir, DROPIN_FOLDER);
        if (r < 0) {
                if (r != -ENOENT && r != -ENOMEM)
                        fault_file(reading, strerror(-r));
                return r == -ENOMEM ? r : 0;
        }
        r = list_dropins(dir, names, &n);
        if (n == DROPIN_LIMIT)
                fault_file(reading, "too many files");
        qsort(names, n, sizeof *names, by_name);
        for (size_t i = 0; i < n; i++) {
                char path[sizeof DROPIN_FOLDER + 1 + sizeof (struct dirent)];

                (void) snprintf(path, sizeof path, DROPIN_FOLDER "/%s", names[i]);
                if (r >= 0)
                        r = read_file(reading, root, path);
                free(names[i]);
        }
        return r;
}

int hn_config_load(const struct hn_root *root, struct hn_policy *ret, char **ret_faults)
{
        HN_FREE char *text = NULL;
        size_t length = 0;
        struct reading reading = { .faults = open_memstream(&text, &length) };
        int r;

        if (!reading.faults)
                return -ENOMEM;
        hn_policy_defaults(&reading.policy);
        r = read_file(&reading, root, MAIN_FILE);
        if (r >= 0)
                r = read_dropins(&reading, root);
        if (fclose(reading.faults) != 0 || r < 0)
                return -ENOMEM;
        *ret = reading.policy;
        *ret_faults = length > 0 ? HN_TAKE(text) : NULL;
        return 0;
}
