/* license: which licences are known by their SPDX identifiers (licenses.def). Pure. Called by the
 * rules of policy.json, by the items of the catalog and by the linked data. */
#ifndef FRESHET_LEDGER_LICENSE_H
#define FRESHET_LEDGER_LICENSE_H

/* The identifier as SPDX spells it; NULL when it is none that is known. */
const char *license_spdx(const char *license);

#endif
