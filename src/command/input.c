/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "command/input.h"

#include <errno.h>
#include <string.h>

#include "command/complain.h"
#include "model/domain-xml.h"

#define FIRST_ROOM (64u << 10)

static int read_stream(FILE *in, size_t limit, char **ret_text, size_t *ret_length)
{
        HN_FREE char *text = NULL;
        size_t length = 0, room = FIRST_ROOM;

        do {
                char *more = realloc(text, room);

                if (!more)
                        return -ENOMEM;
                text = more;
                errno = 0;
                length += fread(text + length, 1, room - length, in);
                if (ferror(in))
                        return errno ? -errno : -EIO;
                if (length > limit)
                        return -EFBIG;
                room *= length == room ? 2 : 1;
        } while (!feof(in));
        *ret_text = HN_TAKE(text);
        *ret_length = length;
        return 0;
}

int hn_input_text(const char *path, size_t limit, char **ret_text, size_t *ret_length)
{
        HN_FCLOSE FILE *file = NULL;

        if (strcmp(path, "-") == 0)
                return read_stream(stdin, limit, ret_text, ret_length);
        file = fopen(path, "re");
        return file ? read_stream(file, limit, ret_text, ret_length) : -errno;
}

static void complain(const char *name, int error)
{
        if (error == -EBADMSG)
                (void) hn_complain("%s: not well-formed XML", name);
        else if (error == -EOPNOTSUPP)
                (void) hn_complain("%s: has a document type, as no domain's XML has", name);
        else if (error == -EFBIG)
                (void) hn_complain("%s: larger than %u MiB", name, HN_DOMAIN_XML_LIMIT >> 20);
        else
                (void) hn_complain("%s: %s", name, strerror(-error));
}

/* What is no file is often meant as a guest. */
static void complain_unread(const char *name, int error)
{
        size_t length = strlen(name);
        bool like_guest = !strchr(name, '/') && !(length > 4 && strcmp(name + length - 4, ".xml") == 0);

        if (error == -ENOENT && like_guest)
                (void) hn_complain("%s: no such file; if a guest is meant: virsh dumpxml --inactive %s | homenode plan -",
                                   name, name);
        else
                complain(name, error);
}

static bool is_blank(const char *text, size_t length)
{
        for (size_t i = 0; i < length; i++)
                if (!strchr(" \t\r\n", text[i]) || !text[i])
                        return false;
        return true;
}

/* Is it what lstopo exports?  That has a document type, and so no document of ours. */
static bool is_topology(const struct hn_input *input, int error)
{
        static const char doctype[] = "<!DOCTYPE topology ";

        if (error == -EOPNOTSUPP)
                return memmem(input->text, input->length, doctype, sizeof doctype - 1);
        return input->doc && hn_xml_is(xmlDocGetRootElement(input->doc), "topology");
}

static void complain_content(const struct hn_input *input, int error)
{
        if (is_blank(input->text, input->length))
                (void) hn_complain("%s: is empty", input->name);
        else if (is_topology(input, error))
                (void) hn_complain("%s: a host's topology, not a domain's XML: it goes to --host", input->name);
        else if (error == -EINVAL)
                (void) hn_complain("%s: not a domain's XML", input->name);
        else
                complain(input->name, error);
}

static int read_request(struct hn_input *input)
{
        HN_FREE char *fault = NULL;
        int r = hn_request_parse(input->doc, &input->request, &fault);

        if (r == -EINVAL)
                (void) hn_complain("%s: %s", input->name, fault ? fault : "not a domain's XML");
        else if (r < 0)
                complain(input->name, r);
        else if (input->request->wishes.fault)
                (void) hn_complain("%s: its homenode metadata is passed over: %s", input->name,
                                   input->request->wishes.fault);
        return r;
}

bool hn_input_is_domain(const char *path)
{
        HN_INPUT struct hn_input input = { 0 };

        return hn_input_text(path, HN_DOMAIN_XML_LIMIT, &input.text, &input.length) >= 0 &&
               hn_xml_parse(input.text, input.length, &input.doc) >= 0 &&
               hn_xml_is(xmlDocGetRootElement(input.doc), "domain");
}

int hn_input_read(const char *path, bool with_request, struct hn_input *ret)
{
        HN_INPUT struct hn_input input = { .name = strcmp(path, "-") == 0 ? "standard input" : path };
        int r = hn_input_text(path, HN_DOMAIN_XML_LIMIT, &input.text, &input.length);

        if (r < 0) {
                complain_unread(input.name, r);
                return r;
        }
        r = hn_xml_parse(input.text, input.length, &input.doc);
        if (r >= 0 && !hn_domain_element(input.doc))
                r = -EINVAL;
        if (r < 0) {
                complain_content(&input, r);
                return r;
        }
        if (with_request)
                r = read_request(&input);
        if (r < 0)
                return r;
        *ret = input;
        input = (struct hn_input) { 0 };
        return 0;
}

void hn_input_clear(struct hn_input *input)
{
        hn_request_free(input->request);
        xmlFreeDoc(input->doc);
        free(input->text);
        *input = (struct hn_input) { 0 };
}
