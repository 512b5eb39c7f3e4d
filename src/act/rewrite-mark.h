/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * The rewriting's account of what is homenode's in a document: gathered while elements are taken out, kept
 * and added, then written down as the mark.
 */
#pragma once

#include "act/rewrite-xml.h"
#include "model/mark.h"

enum hn_holder { HN_HOLDER_METADATA, HN_HOLDER_CPU, HN_HOLDER_CPUTUNE, HN_HOLDER_NUMATUNE, HN_HOLDERS };

struct hn_account {
        xmlNode *domain;
        struct hn_mark *mark;       /* as the document came */
        bool made[HN_HOLDERS];      /* holders that homenode made and that are there */
        xmlNode **ours;             /* elements of ours that are there; not owned */
        size_t n_ours;
};

/* -ENOMEM, -EINVAL (no domain). */
int hn_account_open(xmlDoc *doc, struct hn_account *ret);
void hn_account_close(struct hn_account *account);
#define HN_ACCOUNT HN_CLEANUP(hn_account_close)

/* Takes all of ours out of the document, the mark with it, but for what is to be kept: that is in the account
 * then.  What the user changed stays and is not in the account. */
enum hn_keep { HN_KEEP_NOTHING, HN_KEEP_CELLS /* and the topology */, HN_KEEP_ALL };
int hn_account_strip(struct hn_account *account, enum hn_keep keep);

/* The element that holds others, made where it is missing; NULL without memory. */
xmlNode *hn_account_holder(struct hn_account *account, enum hn_holder holder);

/* Takes an element into the account. */
int hn_account_add(struct hn_account *account, xmlNode *element);

/* Writes the account down as the mark (none where it is empty). */
int hn_account_write(struct hn_account *account);
